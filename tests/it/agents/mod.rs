//! Agents that are configured, their tools, and what people decide about calls.

mod configured;
mod http_tools;
mod mcp;
mod review;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::client::Client;
use crate::harness::process::Process;

/// The program with this configuration, and the folder that holds it.
fn configured(text: &str) -> (Process, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), text);
    let process = Process::start("sqlite::memory:", &[("RUNLOOM_CONFIG", &file)]);
    (process, folder)
}

fn write(folder: &Path, text: &str) -> String {
    let file = folder.join("agents.toml");
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// What a turn of `agent` leaves as messages.
async fn turn(client: &Client, agent: &str, text: &str) -> Vec<Value> {
    let body = json!({"agent_id": agent, "input": text});
    let answer = client.post("/runs/wait", &body).await.json(200);
    assert_eq!(answer["status"], "success", "{answer}");
    answer["messages"].as_array().unwrap().clone()
}

/// The content and status of the tool messages.
fn results(messages: &[Value]) -> Vec<(String, bool)> {
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools
        .map(|message| {
            (message["content"].as_str().unwrap().to_owned(), message["status"] == "error")
        })
        .collect()
}
