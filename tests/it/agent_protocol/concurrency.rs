//! Many runs at once on one thread, and what becomes of them.

use futures::future::join_all;
use serde_json::{Value, json};

use super::probe::Probe;
use super::{begin, eventually, list, new_thread, start, text, wait};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};

on_both_databases!(
    runs_that_wait_their_turn_come_in_order,
    of_runs_that_want_a_free_thread_one_gets_it,
    runs_that_interrupt_leave_what_was_finished,
    runs_that_roll_back_leave_nothing_of_the_others,
    runs_on_many_threads_go_side_by_side,
);

/// So many runs are posted at once.
const MANY: usize = 200;

/// Starts many runs at once; answers statuses and bodies, in the order of their numbers.
async fn post_many(
    client: &Client,
    thread: &str,
    probe: &Probe,
    strategy: &str,
) -> Vec<(u16, Value)> {
    let posts = (0..MANY).map(|number| {
        let body = json!({
            "agent_id": "door", "input": number.to_string(), "config": probe.config(),
            "multitask_strategy": strategy,
        });
        async move {
            let answer = client.post(&format!("{thread}/runs"), &body).await;
            (answer.status, serde_json::from_str(&answer.text).expect("it is JSON"))
        }
    });
    join_all(posts).await
}

/// Waits until nothing runs on the thread; answers it, and its runs in the order of acceptance.
async fn settled(client: &Client, thread: &str) -> (Value, Vec<Value>) {
    let left = eventually(client, thread, |thread| thread["status"] != "busy").await;
    let runs = client.get(&format!("{thread}/runs?limit=1000")).await.json(200);
    (left, list(&runs).iter().rev().cloned().collect())
}

fn logged(view: &Value) -> Vec<String> {
    let log = view["values"]["log"].as_array().cloned().unwrap_or_default();
    log.iter().map(|entry| entry.as_str().expect("a text").to_owned()).collect()
}

async fn runs_that_wait_their_turn_come_in_order(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let posted = post_many(&client, &thread, &probe, "enqueue").await;
    assert!(posted.iter().all(|(status, _)| *status == 200));
    probe.let_pass(MANY);
    let (left, runs) = settled(&client, &thread).await;
    assert_eq!(probe.most_at_once(), 1, "never two at once");
    assert_eq!(runs.len(), MANY, "none is lost");
    assert!(runs.iter().all(|run| run["status"] == "success"));
    assert!(probe.counts().into_values().all(|times| times == 1));
    // The order is that of acceptance, which the creation time tells as far as it differs.
    let mut log = logged(&left);
    assert_eq!(log.len(), MANY);
    let created = |number: &String| {
        let run = runs.iter().find(|run| run["input"] == number.as_str()).unwrap();
        text(run, "run_id")
    };
    let order: Vec<_> = log.iter().map(created).collect();
    let history = client.get(&format!("{thread}/history?limit=1000")).await.json(200);
    let mut written: Vec<_> =
        list(&history).iter().rev().map(|at| text(&at["metadata"], "run_id")).collect();
    written.dedup();
    assert_eq!(written, order, "the history is strictly sequential");
    log.sort();
    log.dedup();
    assert_eq!(log.len(), MANY);
    // One after the other, the order is that of the answers.
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let mut last = String::new();
    for number in 0..10 {
        let body =
            json!({"agent_id": "door", "input": number.to_string(), "config": probe.config()});
        last = begin(&client, &thread, &body).await;
    }
    probe.let_pass(10);
    let numbers: Vec<_> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(logged(&wait(&client, &last).await), numbers);
}

async fn of_runs_that_want_a_free_thread_one_gets_it(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let posted = post_many(&client, &thread, &probe, "reject").await;
    let (taken, refused): (Vec<_>, Vec<_>) = posted.iter().partition(|(status, _)| *status == 200);
    assert_eq!((taken.len(), refused.len()), (1, MANY - 1));
    assert!(refused.iter().all(|(status, body)| *status == 409 && body["code"] == "thread_busy"));
    probe.let_pass(1);
    let (left, runs) = settled(&client, &thread).await;
    assert_eq!((runs.len(), logged(&left).len()), (1, 1), "nothing is left of those refused");
}

async fn runs_that_interrupt_leave_what_was_finished(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let posted = post_many(&client, &thread, &probe, "interrupt").await;
    assert!(posted.iter().all(|(status, _)| *status == 200));
    probe.let_pass(MANY);
    let (left, runs) = settled(&client, &thread).await;
    assert!(probe.most_at_once() <= 1);
    assert_eq!(runs.len(), MANY);
    let done: Vec<_> = runs.iter().filter(|run| run["status"] == "success").collect();
    assert!(!done.is_empty(), "the last one is not interrupted");
    let others = runs.iter().filter(|run| run["status"] != "success");
    assert!(others.into_iter().all(|run| run["status"] == "interrupted"));
    let mut log = logged(&left);
    let mut inputs: Vec<_> = done.iter().map(|run| text(run, "input")).collect();
    log.sort();
    inputs.sort();
    assert_eq!(log, inputs);
}

async fn runs_that_roll_back_leave_nothing_of_the_others(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let posted = post_many(&client, &thread, &probe, "rollback").await;
    assert!(posted.iter().all(|(status, _)| *status == 200));
    probe.let_pass(MANY);
    let (left, runs) = settled(&client, &thread).await;
    assert!(probe.most_at_once() <= 1);
    assert!(runs.iter().all(|run| run["status"] == "success"), "the others are gone");
    let inputs: Vec<_> = runs.iter().map(|run| text(run, "input")).collect();
    let (mut log, mut expected) = (logged(&left), inputs);
    log.sort();
    expected.sort();
    assert_eq!(log, expected);
    assert_eq!(list(&left["messages"]).len(), runs.len(), "nor do they leave messages");
}

async fn runs_on_many_threads_go_side_by_side(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let probe = Probe::new();
    let runs = join_all((0..20).map(|number| {
        let (client, probe) = (client.clone(), probe.clone());
        async move {
            let thread = new_thread(&client).await;
            let body =
                json!({"agent_id": "door", "input": number.to_string(), "config": probe.config()});
            begin(&client, &thread, &body).await
        }
    }))
    .await;
    probe.arrived(20).await;
    assert_eq!(probe.most_at_once(), 20);
    probe.let_pass(20);
    for run in runs {
        assert_eq!(wait(&client, &run).await["status"], "success");
    }
}
