//! Servers that are killed, or told to stop, in the middle of things.

use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};
use crate::harness::process::Process;
use crate::harness::server::until;

on_both_databases!(
    a_killed_server_goes_on_from_the_last_step,
    a_paused_run_is_answered_after_a_kill,
    a_server_that_is_told_to_stop_hands_its_runs_back,
);

/// A lost node is noticed within a second.
const QUICK: &[(&str, &str)] = &[("RUNLOOM_LIMITS_LEASE_SECONDS", "1")];
const THREAD: &str = "/threads/5f0c1c9e-7a52-4b5f-9d2e-3f6f0a1b2c3d";

async fn start_steps(client: &Client, count: u32, delay_ms: u32) -> String {
    let run = json!({
        "agent_id": "steps",
        "if_not_exists": "create",
        "config": {"configurable": {"n": count, "delay_ms": delay_ms}},
    });
    let run = client.post(&format!("{THREAD}/runs"), &run).await.json(200);
    run["run_id"].as_str().unwrap().to_owned()
}

async fn until_some_steps(client: &Client) {
    let ask = || async { client.get(THREAD).await.json(200) };
    until(ask, |thread| thread["values"]["steps"].as_array().is_some_and(|steps| steps.len() >= 3))
        .await;
}

fn numbers(upto: u32) -> Value {
    (1..=upto).collect::<Vec<_>>().into()
}

async fn a_killed_server_goes_on_from_the_last_step(database: Database) {
    let server = Process::start(&database.url, QUICK);
    let run = start_steps(&server.client(), 20, 50).await;
    until_some_steps(&server.client()).await;
    drop(server);

    let server = Process::start(&database.url, QUICK);
    let finished = server.client().get(&format!("/runs/{run}/wait")).await.json(200);
    assert_eq!(
        (&finished["status"], &finished["values"]["steps"]),
        (&json!("success"), &numbers(20))
    );
    let history = server.client().get(&format!("{THREAD}/history?limit=100")).await.json(200);
    assert_eq!(history.as_array().unwrap().len(), 21, "one for the input, and one a step");
}

async fn a_paused_run_is_answered_after_a_kill(database: Database) {
    let server = Process::start(&database.url, QUICK);
    let asked = json!({
        "agent_id": "human-in-the-loop",
        "if_not_exists": "create",
        "input": "delete the file a.txt",
    });
    let paused = server.client().post(&format!("{THREAD}/runs/wait"), &asked).await.json(200);
    assert_eq!(paused["status"], "interrupted");
    drop(server);

    let server = Process::start(&database.url, QUICK);
    let thread = server.client().get(THREAD).await.json(200);
    assert_eq!(
        (&thread["status"], &thread["interrupts"]),
        (&json!("interrupted"), &paused["interrupts"])
    );
    let resume = json!({"command": {"resume": {"decisions": [{"type": "approve"}]}}});
    let finished = server.client().post(&format!("{THREAD}/runs/wait"), &resume).await.json(200);
    assert_eq!(finished["status"], "success");
    let results: Vec<_> = finished["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(results, ["Deleted a.txt."]);
    server.client().post(&format!("{THREAD}/runs/wait"), &resume).await.json(409);
}

async fn a_server_that_is_told_to_stop_hands_its_runs_back(database: Database) {
    let server = Process::start(&database.url, QUICK);
    let run = start_steps(&server.client(), 20, 50).await;
    until_some_steps(&server.client()).await;
    assert_eq!(server.terminate(), Some(0));

    let server = Process::start(&database.url, QUICK);
    let finished = server.client().get(&format!("/runs/{run}/wait")).await.json(200);
    assert_eq!(
        (&finished["status"], &finished["values"]["steps"]),
        (&json!("success"), &numbers(20))
    );
}
