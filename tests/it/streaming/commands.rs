//! Commands over HTTP.

use serde_json::{Value, json};

use super::{command, data, done, is_over, new_thread, refused, stream};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::TestServer;

on_both_databases!(
    starting_a_run_makes_the_thread,
    input_for_a_running_thread_is_taken_in_after_it,
    a_message_is_injected_into_what_runs,
    a_paused_thread_is_resumed_by_input,
    a_question_is_answered_by_its_id,
    the_state_is_read_whole_and_in_part,
    the_history_is_listed_in_pages,
    a_branch_starts_at_an_older_checkpoint,
    the_tree_tells_what_ran,
    wrong_commands_are_told_from_wrong_requests,
);

const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// Runs on the thread until its end.
async fn run(client: &Client, thread: &str, body: Value) -> Value {
    client.post(&format!("/threads/{thread}/runs/wait"), &body).await.json(200)
}

async fn wait(client: &Client, result: &Value) -> Value {
    let run = result["runId"].as_str().expect("a run was started");
    client.get(&format!("/runs/{run}/wait")).await.json(200)
}

/// A thread that stands before the second of three steps.
async fn paused(client: &Client) -> (String, Value) {
    let thread = new_thread(client).await;
    let body = json!({
        "agent_id": "steps",
        "input": "go",
        "config": {"configurable": {"n": 3}},
        "interrupt_before": ["step_2"],
    });
    let waited = run(client, &thread, body).await;
    assert_eq!(waited["status"], "interrupted");
    (thread, waited["interrupts"][0].clone())
}

async fn starting_a_run_makes_the_thread(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = "229c1834-bc04-4d90-8fd6-77f6b9ef1462";
    client.get(&format!("/threads/{thread}")).await.json(404);
    let params = json!({"assistantId": "echo", "input": "hi", "metadata": {"k": "v"}});
    let reply = command(&client, thread, "run.start", params).await;
    assert_eq!(reply["meta"]["appliedThroughSeq"], 1023);
    let finished = wait(&client, &reply["result"]).await;
    assert_eq!(finished["messages"][1]["content"], "echo: hi");
    assert_eq!(finished["run"]["metadata"], json!({"k": "v"}));
    // The answer's number is where the run's events begin.
    let request = json!({"channels": ["lifecycle"], "since": reply["meta"]["appliedThroughSeq"]});
    let mut events = stream(&client, thread, &request).await;
    assert_eq!(data(&events.until(is_over).await, "lifecycle").len(), 3);
}

async fn input_for_a_running_thread_is_taken_in_after_it(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let config = json!({"configurable": {"n": 20, "delay_ms": 10}});
    let first = json!({"assistantId": "tokens", "input": "go", "config": config});
    let first = done(&client, &thread, "run.start", first).await;
    let second = json!({"assistantId": "echo", "input": "and this"});
    let second = done(&client, &thread, "run.start", second).await;
    assert_ne!(first, second);
    let finished = wait(&client, &second).await;
    let texts: Vec<_> =
        finished["messages"].as_array().unwrap().iter().map(|m| &m["content"]).collect();
    assert_eq!(
        (texts[0], texts[2], texts[3]),
        (&json!("go"), &json!("and this"), &json!("echo: and this"))
    );
}

async fn a_message_is_injected_into_what_runs(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let message = json!({"namespace": [], "message": {"role": "user", "content": "wait"}});
    assert_eq!(refused(&client, &thread, "input.inject", message.clone()).await, "no_such_run");
    let config = json!({"configurable": {"n": 20, "delay_ms": 10}});
    let params = json!({"assistantId": "tokens", "input": "go", "config": config});
    done(&client, &thread, "run.start", params).await;
    let injected = done(&client, &thread, "input.inject", message).await;
    let finished = wait(&client, &injected).await;
    assert_eq!(finished["messages"][2]["content"], "wait");
    let nested = json!({"namespace": ["a"], "message": {"role": "user", "content": "x"}});
    assert_eq!(refused(&client, &thread, "input.inject", nested).await, "not_supported");
    let wrong = json!({"namespace": [], "message": {"role": "assistant", "content": "x"}});
    assert_eq!(refused(&client, &thread, "input.inject", wrong).await, "invalid_argument");
}

async fn a_paused_thread_is_resumed_by_input(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let (thread, _) = paused(&client).await;
    let config = json!({"configurable": {"n": 3}});
    let params = json!({"assistantId": "steps", "input": null, "config": config});
    let resumed = done(&client, &thread, "run.start", params).await;
    let finished = wait(&client, &resumed).await;
    assert_eq!(
        (&finished["status"], &finished["values"]["steps"]),
        (&json!("success"), &json!([1, 2, 3]))
    );
}

async fn a_question_is_answered_by_its_id(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let (thread, asked) = paused(&client).await;
    let mut events =
        stream(&client, &thread, &json!({"channels": ["values", "input", "lifecycle"]})).await;
    assert_eq!(events.next().await.unwrap()["method"], "values");
    let question = events.next().await.unwrap();
    assert_eq!(question["method"], "input.requested");
    let id = &question["params"]["data"]["interruptId"];
    assert_eq!(id, &asked["id"]);

    let answer = |id: &Value, namespace: Value| json!({"namespace": namespace, "interruptId": id, "response": "go on"});
    let unknown = answer(&json!(NOBODY), json!([]));
    assert_eq!(refused(&client, &thread, "input.respond", unknown).await, "no_such_interrupt");
    let elsewhere = answer(id, json!(["a:1"]));
    assert_eq!(refused(&client, &thread, "input.respond", elsewhere).await, "no_such_namespace");
    let empty = json!({"responses": []});
    assert_eq!(refused(&client, &thread, "input.respond", empty).await, "invalid_argument");
    let incomplete = json!({"namespace": [], "interruptId": id});
    assert_eq!(refused(&client, &thread, "input.respond", incomplete).await, "invalid_argument");
    let twice = json!({"responses": [answer(id, json!([])), answer(id, json!([]))]});
    assert_eq!(refused(&client, &thread, "input.respond", twice).await, "invalid_argument");

    let mut params = json!({"responses": [answer(id, json!([]))]});
    params["update"] = json!({"note": "seen"});
    let resumed = done(&client, &thread, "input.respond", params).await;
    let finished = wait(&client, &resumed).await;
    assert_eq!(finished["values"]["note"], "seen");
    assert_eq!(
        data(&events.until(is_over).await, "lifecycle").last().unwrap()["event"],
        "completed"
    );
    let late = answer(id, json!([]));
    assert_eq!(refused(&client, &thread, "input.respond", late).await, "no_such_interrupt");
}

async fn the_state_is_read_whole_and_in_part(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let empty = done(&client, &thread, "state.get", json!({"namespace": []})).await;
    assert_eq!(empty, json!({"values": {}}));
    run(&client, &thread, json!({"agent_id": "steps", "input": "go"})).await;
    let whole = done(&client, &thread, "state.get", json!({"namespace": []})).await;
    assert_eq!(whole["values"]["messages"].as_array().unwrap().len(), 2);
    assert!(whole["checkpoint"]["id"].is_string());
    let some = json!({"namespace": [], "keys": ["steps", "missing"]});
    let some = done(&client, &thread, "state.get", some).await;
    assert_eq!(some["values"], json!({"steps": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}));
    let nowhere = json!({"namespace": ["step_1:x"]});
    assert_eq!(refused(&client, &thread, "state.get", nowhere).await, "no_such_namespace");
    let wrong = json!({"namespace": [], "keys": "steps"});
    assert_eq!(refused(&client, &thread, "state.get", wrong).await, "invalid_argument");
    assert_eq!(refused(&client, &thread, "state.get", json!({})).await, "invalid_argument");
}

async fn the_history_is_listed_in_pages(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let config = json!({"configurable": {"n": 5}});
    run(&client, &thread, json!({"agent_id": "steps", "input": "go", "config": config})).await;
    let all = done(&client, &thread, "state.listCheckpoints", json!({})).await;
    let all = all["checkpoints"].as_array().unwrap();
    assert_eq!(all.len(), 6);
    assert_eq!((&all[0]["nodeName"], &all[0]["step"]), (&json!("step_5"), &json!(4)));
    assert_eq!(
        (&all[5]["metadata"]["source"], &all[5]["metadata"]["step"]),
        (&json!("input"), &json!(-1))
    );
    let mut paged = Vec::new();
    let mut params = json!({"limit": 2});
    loop {
        let page = done(&client, &thread, "state.listCheckpoints", params.clone()).await;
        let page = page["checkpoints"].as_array().unwrap().clone();
        let Some(last) = page.last() else { break };
        params["before"] = last["id"].clone();
        paged.extend(page);
    }
    assert_eq!(paged, *all);
    let unknown = json!({"before": NOBODY});
    assert_eq!(
        refused(&client, &thread, "state.listCheckpoints", unknown).await,
        "no_such_checkpoint"
    );
    let wrong = json!({"limit": -1});
    assert_eq!(refused(&client, &thread, "state.listCheckpoints", wrong).await, "invalid_argument");
}

async fn a_branch_starts_at_an_older_checkpoint(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    for word in ["one", "two"] {
        run(&client, &thread, json!({"agent_id": "echo", "input": word})).await;
    }
    let history = done(&client, &thread, "state.listCheckpoints", json!({"limit": 100})).await;
    let first_turn = &history["checkpoints"][2];
    let mut events =
        stream(&client, &thread, &json!({"channels": ["values", "checkpoints", "lifecycle"]}))
            .await;
    let params = json!({"checkpointId": first_turn["id"], "input": "another"});
    let fork = done(&client, &thread, "state.fork", params).await;
    assert_eq!(fork["threadId"], json!(thread));
    let finished = wait(&client, &fork).await;
    let texts: Vec<_> =
        finished["messages"].as_array().unwrap().iter().map(|m| m["content"].clone()).collect();
    assert_eq!(json!(texts), json!(["one", "echo: one", "another", "echo: another"]));
    let seen = events.until(is_over).await;
    assert_eq!(data(&seen, "checkpoints")[0]["parentId"], first_turn["id"]);
    assert_eq!(data(&seen, "values").last().unwrap()["messages"][3]["content"], "echo: another");
    for at in [NOBODY, "nothing"] {
        let params = json!({"checkpointId": at});
        assert_eq!(refused(&client, &thread, "state.fork", params).await, "no_such_checkpoint");
    }
    let by_config = json!({"configurable": {"checkpoint_id": first_turn["id"]}});
    let params = json!({"assistantId": "echo", "input": "third", "config": by_config});
    let finished = wait(&client, &done(&client, &thread, "run.start", params).await).await;
    assert_eq!(finished["messages"][2]["content"], "third");
}

async fn the_tree_tells_what_ran(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    assert_eq!(refused(&client, &thread, "agent.getTree", json!({})).await, "no_such_run");
    let waited = run(&client, &thread, json!({"agent_id": "echo", "input": "hi"})).await;
    let tree = done(&client, &thread, "agent.getTree", json!({"runId": waited["run_id"]})).await;
    let root = json!({"namespace": [], "status": "completed", "graphName": "echo"});
    assert_eq!(tree, json!({"tree": root}));
    assert_eq!(done(&client, &thread, "agent.getTree", json!({})).await, tree);
    let unknown = json!({"runId": NOBODY});
    assert_eq!(refused(&client, &thread, "agent.getTree", unknown).await, "no_such_run");
}

async fn wrong_commands_are_told_from_wrong_requests(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let path = format!("/threads/{thread}/commands");
    for body in [
        json!({}),
        json!({"id": 1}),
        json!({"method": "state.get"}),
        json!({"id": "1", "method": "x"}),
    ] {
        client.post(&path, &body).await.json(422);
    }
    let nowhere = format!("/threads/{NOBODY}/commands");
    let state = json!({"id": 1, "method": "state.get", "params": {"namespace": []}});
    assert_eq!(client.post(&nowhere, &state).await.json(404)["code"], "thread_not_found");
    assert_eq!(refused(&client, &thread, "run.stop", json!({})).await, "unknown_command");
    let subscribe = json!({"channels": ["values"]});
    assert_eq!(
        refused(&client, &thread, "subscription.subscribe", subscribe).await,
        "not_supported"
    );
    let nobody = json!({"assistantId": "nobody", "input": null});
    assert_eq!(refused(&client, &thread, "run.start", nobody).await, "invalid_argument");
    assert_eq!(
        refused(&client, &thread, "run.start", json!({"input": "hi"})).await,
        "invalid_argument"
    );
    assert_eq!(
        refused(&client, &thread, "run.start", json!({"assistantId": "echo"})).await,
        "invalid_argument"
    );
    let wrong = json!({"assistantId": "echo", "input": "hi", "metadata": []});
    assert_eq!(refused(&client, &thread, "run.start", wrong).await, "invalid_argument");
}
