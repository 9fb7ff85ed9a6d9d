//! The thread streaming protocol, from outside.

mod agents;
mod commands;
mod reconnect;
mod schema;
mod sockets;
mod streams;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::live::Events;

/// All channels.
const ALL: [&str; 9] = [
    "values",
    "updates",
    "messages",
    "tools",
    "lifecycle",
    "input",
    "checkpoints",
    "tasks",
    "custom",
];

async fn new_thread(client: &Client) -> String {
    let thread = client.post("/threads", &json!({})).await.json(200);
    thread["thread_id"].as_str().expect("a thread has an id").to_owned()
}

/// Opens a stream of server-sent events.
async fn stream(client: &Client, thread: &str, request: &Value) -> Events {
    let request = client.request(Method::POST, &format!("/threads/{thread}/stream")).json(request);
    Events::read(client.open(request).await)
}

/// Sends a command over HTTP and answers its reply.
async fn command(client: &Client, thread: &str, method: &str, params: Value) -> Value {
    let command = json!({"id": 7, "method": method, "params": params});
    client.post(&format!("/threads/{thread}/commands"), &command).await.json(200)
}

/// The result of a command that is carried out.
async fn done(client: &Client, thread: &str, method: &str, params: Value) -> Value {
    let reply = command(client, thread, method, params).await;
    assert_eq!((&reply["type"], &reply["id"]), (&json!("success"), &json!(7)), "{reply}");
    reply["result"].clone()
}

/// The error code of a command that is refused.
async fn refused(client: &Client, thread: &str, method: &str, params: Value) -> String {
    let reply = command(client, thread, method, params).await;
    assert_eq!((&reply["type"], &reply["id"]), (&json!("error"), &json!(7)), "{reply}");
    reply["error"].as_str().expect("an error has a code").to_owned()
}

/// Whether a run came to its end, or paused.
fn is_over(event: &Value) -> bool {
    let (method, params) = (&event["method"], &event["params"]);
    let words = [json!("completed"), json!("failed"), json!("interrupted")];
    method == "lifecycle"
        && params["namespace"] == json!([])
        && words.contains(&params["data"]["event"])
}

/// What the events of one channel carry.
fn data<'a>(events: &'a [Value], method: &str) -> Vec<&'a Value> {
    let of_channel = events.iter().filter(|event| event["method"] == method);
    of_channel.map(|event| &event["params"]["data"]).collect()
}

fn seqs(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["seq"].as_u64().expect("an event has a number")).collect()
}

/// The text that a run streamed.
fn text(events: &[Value]) -> String {
    let deltas =
        data(events, "messages").into_iter().filter_map(|data| data["delta"]["text"].as_str());
    deltas.collect()
}
