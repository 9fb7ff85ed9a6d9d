//! The Agent Protocol face, from outside.

mod agents;
mod bad_input;
mod cancel;
mod concurrency;
mod history_and_branches;
mod interrupts;
mod joins;
mod owners;
mod probe;
mod runs;
mod search;
mod store;
mod streams;
mod threads;
mod two_nodes;
mod webhooks;

use runloom::Server;
use runloom::server::Builder;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::db::Database;
use crate::harness::server::{TestServer, until};

/// A server with the agents of these tests.
async fn start(database: &Database) -> TestServer {
    TestServer::build(builder(database)).await
}

fn builder(database: &Database) -> Builder {
    Server::builder().database_url(&database.url).agents(agents::agents())
}

/// Creates a thread; answers its path.
async fn new_thread(client: &Client) -> String {
    let thread = client.post("/threads", &json!({})).await.json(200);
    format!("/threads/{}", text(&thread, "thread_id"))
}

/// Starts a run on a thread; answers the run's path under it.
async fn begin(client: &Client, thread: &str, run: &Value) -> String {
    let run = client.post(&format!("{thread}/runs"), run).await.json(200);
    assert_eq!(run["status"], "pending");
    format!("{thread}/runs/{}", text(&run, "run_id"))
}

/// Runs to the end on a thread; answers what waiting does.
async fn turn(client: &Client, thread: &str, run: &Value) -> Value {
    client.post(&format!("{thread}/runs/wait"), run).await.json(200)
}

/// Waits for the run of this path.
async fn wait(client: &Client, run: &str) -> Value {
    client.get(&format!("{run}/wait")).await.json(200)
}

/// Asks for `path` until the answer is as it should be.
async fn eventually(client: &Client, path: &str, done: impl Fn(&Value) -> bool) -> Value {
    until(|| async { client.get(path).await.json(200) }, done).await
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_else(|| panic!("{member} is a text: {value}")).to_owned()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("this is a list: {value}"))
}

/// The id at the end of a path.
fn id(path: &str) -> &str {
    path.rsplit('/').next().expect("a path has an end")
}

/// The text of the last message.
fn last_text(view: &Value) -> &str {
    let last = list(&view["messages"]).last().expect("there are messages");
    last["content"].as_str().expect("it is a text")
}
