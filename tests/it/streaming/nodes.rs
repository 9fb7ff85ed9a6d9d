//! Two servers on one database: the observer on one, the run on the other.

use serde_json::json;

use super::{ALL, data, done, is_over, new_thread, seqs, stream, text};
use crate::harness::db::Database;
use crate::harness::live::Socket;
use crate::harness::server::TestServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observer_on_another_server_sees_the_same() {
    let database = Database::postgres().await;
    let (here, there) =
        (TestServer::start(&database.url).await, TestServer::start(&database.url).await);
    let (runs, observes) = (here.client(), there.client());
    let thread = new_thread(&runs).await;
    let mut near = stream(&runs, &thread, &json!({"channels": ALL})).await;
    let mut far = stream(&observes, &thread, &json!({"channels": ALL})).await;
    let config = json!({"configurable": {"n": 100, "delay_ms": 2}});
    let run = json!({"assistantId": "tokens", "input": "go", "config": config});
    done(&runs, &thread, "run.start", run).await;
    let mut seen = far.until(|event| event["params"]["data"]["delta"]["text"] == "tok9 ").await;

    // Whoever comes in over there in the middle of it sees the message from its start.
    let mut late = Socket::open(there.address, &format!("/threads/{thread}/stream")).await;
    late.done("subscription.subscribe", json!({"channels": ["messages", "lifecycle"]})).await;
    let late = late.until(is_over).await;
    let all: Vec<_> = (0..100).map(|n| format!("tok{n} ")).collect();
    assert_eq!(text(&late), all.concat());

    let request = json!({"channels": ALL, "since": seqs(&seen).last()});
    let mut rest = stream(&observes, &thread, &request).await;
    seen.extend(rest.until(is_over).await);
    assert_eq!(seen, near.until(is_over).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_one_server_is_answered_on_another() {
    let database = Database::postgres().await;
    let (here, there) =
        (TestServer::start(&database.url).await, TestServer::start(&database.url).await);
    let thread = new_thread(&here.client()).await;
    let mut socket = Socket::open(there.address, &format!("/threads/{thread}/stream")).await;
    let params = json!({"channels": ["input", "tools", "lifecycle"]});
    socket.done("subscription.subscribe", params).await;
    let run = json!({"assistantId": "human-in-the-loop", "input": "delete the file a.txt"});
    done(&here.client(), &thread, "run.start", run).await;
    let asked = socket.until(is_over).await;
    let question = asked.iter().find(|event| event["method"] == "input.requested").unwrap();
    let answer = json!({
        "namespace": question["params"]["namespace"],
        "interruptId": question["params"]["data"]["interruptId"],
        "response": {"decisions": [{"type": "approve"}]},
    });
    socket.done("input.respond", answer).await;
    let finished = socket.until(is_over).await;
    let tools = data(&finished, "tools");
    let ran: Vec<_> = tools.iter().filter(|tool| tool["event"] == "tool-finished").collect();
    assert_eq!(ran.len(), 1, "the tool ran once: {tools:?}");
}
