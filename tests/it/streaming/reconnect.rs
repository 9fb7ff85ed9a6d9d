//! Connections that break, and what is missed meanwhile.

use serde_json::{Value, json};

use super::{ALL, data, done, is_over, new_thread, seqs, stream};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};
use crate::harness::live::Socket;
use crate::harness::server::TestServer;

on_both_databases!(
    cut_at_any_event_a_stream_goes_on_with_the_next,
    cut_while_it_runs_a_stream_goes_on_with_the_next,
    another_server_goes_on_where_the_first_one_stopped,
    what_is_no_longer_kept_is_told,
    a_number_of_the_future_is_taken_for_now,
    a_socket_restores_its_subscriptions,
);

async fn run_to_its_end(client: &Client, agent: &str, config: Value) -> (String, Vec<Value>) {
    let thread = new_thread(client).await;
    let mut events = stream(client, &thread, &json!({"channels": ALL})).await;
    let run = json!({"assistantId": agent, "input": "go", "config": {"configurable": config}});
    done(client, &thread, "run.start", run).await;
    (thread, events.until(is_over).await)
}

async fn cut_at_any_event_a_stream_goes_on_with_the_next(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let (thread, whole) = run_to_its_end(&client, "steps", json!({"n": 3})).await;
    for cut in 1..whole.len() {
        let request = json!({"channels": ALL, "since": seqs(&whole)[cut - 1]});
        let mut rest = stream(&client, &thread, &request).await;
        assert_eq!(rest.until(is_over).await, whole[cut..], "cut after {cut}");
    }
}

async fn cut_while_it_runs_a_stream_goes_on_with_the_next(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut whole = stream(&client, &thread, &json!({"channels": ALL})).await;
    let mut pieces = stream(&client, &thread, &json!({"channels": ALL})).await;
    let config = json!({"configurable": {"n": 60, "delay_ms": 2}});
    let run = json!({"assistantId": "tokens", "input": "go", "config": config});
    done(&client, &thread, "run.start", run).await;
    let mut seen = vec![pieces.next().await.unwrap()];
    while !is_over(seen.last().unwrap()) {
        // The connection breaks after one event, then after two, then after three…
        let since = *seqs(&seen).last().unwrap();
        pieces = stream(&client, &thread, &json!({"channels": ALL, "since": since})).await;
        for _ in 0..=seen.len() % 5 {
            seen.push(pieces.next().await.unwrap());
            if is_over(seen.last().unwrap()) {
                break;
            }
        }
    }
    assert_eq!(seen, whole.until(is_over).await);
}

async fn another_server_goes_on_where_the_first_one_stopped(database: Database) {
    let server = TestServer::start(&database.url).await;
    let (thread, whole) = run_to_its_end(&server.client(), "tokens", json!({"n": 5})).await;
    server.drain().await;
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let cut = whole.len() / 2;
    let request = json!({"channels": ALL, "since": seqs(&whole)[cut - 1]});
    let mut rest = stream(&client, &thread, &request).await;
    assert_eq!(rest.until(is_over).await, whole[cut..]);
}

async fn what_is_no_longer_kept_is_told(database: Database) {
    let builder = runloom::Server::builder().database_url(&database.url);
    let server =
        TestServer::build(builder.setup(|setup| setup.executor.log_events_per_run = 50)).await;
    let client = server.client();
    let config = json!({"n": 400, "delay_ms": 1});
    let (thread, whole) = run_to_its_end(&client, "tokens", config).await;
    let since = seqs(&whole)[1];
    let request = json!({"channels": ["lifecycle"], "since": since});
    let mut rest = stream(&client, &thread, &request).await;
    let told = rest.next().await.unwrap();
    let gap = &told["params"]["data"];
    assert_eq!((&told["method"], &gap["name"]), (&json!("custom"), &json!("resume_gap")));
    assert!(gap["payload"]["firstAvailable"].as_u64() > Some(since), "{told}");
    let seen = rest.until(is_over).await;
    assert_eq!(data(&seen, "lifecycle").last().unwrap()["event"], "completed");
}

async fn a_number_of_the_future_is_taken_for_now(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let request = json!({"channels": ["lifecycle"], "since": 9_000_000_000_000_000_u64});
    let mut events = stream(&client, &thread, &request).await;
    done(&client, &thread, "run.start", json!({"assistantId": "echo", "input": "hi"})).await;
    assert_eq!(data(&events.until(is_over).await, "lifecycle").len(), 3);
}

async fn a_socket_restores_its_subscriptions(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let path = format!("/threads/{thread}/stream");
    let mut socket = Socket::open(server.address, &path).await;
    let params = json!({"channels": ["messages", "lifecycle"]});
    let subscription = socket.done("subscription.subscribe", params).await;
    let run = socket.done("run.start", json!({"assistantId": "tokens", "input": "go"})).await;
    let whole = socket.until(is_over).await;
    drop(socket);

    let mut socket = Socket::open(server.address, &path).await;
    let cut = whole.len() / 2;
    let params = json!({
        "runId": run["runId"],
        "lastEventId": whole[cut - 1]["eventId"],
        "subscriptions": [subscription["subscriptionId"]],
    });
    let restored = socket.done("subscription.reconnect", params.clone()).await;
    assert_eq!(restored["restored"], true);
    assert_eq!(restored["missedEvents"], whole.len() - cut);
    assert_eq!(restored["currentNamespaces"], json!([{"namespace": [], "status": "completed"}]));
    assert_eq!(socket.until(is_over).await, whole[cut..]);
    let mut unknown = params.clone();
    unknown["subscriptions"] = json!(["made up"]);
    let result = socket.done("subscription.reconnect", unknown).await;
    assert_eq!(result["restored"], false);
    let mut wrong = params;
    wrong["runId"] = json!("00000000-0000-0000-0000-000000000000");
    assert_eq!(socket.refused("subscription.reconnect", wrong).await, "no_such_run");
}
