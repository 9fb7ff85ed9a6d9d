//! The agents that ship with the program, watched and steered.

use serde_json::{Value, json};

use super::schema::assert_valid;
use super::{ALL, data, done, is_over, new_thread, refused, stream, text};
use crate::harness::db::{Database, on_both_databases};
use crate::harness::live::Socket;
use crate::harness::server::TestServer;

on_both_databases!(
    one_connection_runs_answers_and_branches,
    a_question_is_told_to_whoever_comes_later,
    a_nested_graph_is_seen_where_it_runs,
    blocks_never_interleave,
    a_failure_is_told,
);

async fn one_connection_runs_answers_and_branches(database: Database) {
    let server = TestServer::start(&database.url).await;
    let thread = new_thread(&server.client()).await;
    let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
    socket.done("subscription.subscribe", json!({"channels": ALL})).await;
    let run = json!({"assistantId": "human-in-the-loop", "input": "delete the file a.txt"});
    socket.done("run.start", run).await;
    let asked = socket.until(is_over).await;
    assert_eq!(data(&asked, "lifecycle").last().unwrap()["event"], "interrupted");
    let question = asked.iter().find(|event| event["method"] == "input.requested").unwrap();
    let action = &question["params"]["data"]["payload"]["action_requests"][0];
    assert_eq!(
        (&action["name"], &action["args"]),
        (&json!("delete_file"), &json!({"path": "a.txt"}))
    );

    let answer = json!({
        "namespace": question["params"]["namespace"],
        "interruptId": question["params"]["data"]["interruptId"],
        "response": {"decisions": [{"type": "maybe"}]},
    });
    assert_eq!(socket.refused("input.respond", answer.clone()).await, "invalid_argument");
    let mut answer = answer;
    answer["response"] = json!({"decisions": [{"type": "approve"}]});
    socket.done("input.respond", answer).await;
    let finished = socket.until(is_over).await;
    assert_eq!(text(&finished), "Deleted a.txt.");
    let tools = data(&finished, "tools");
    assert_eq!(tools.last().unwrap()["output"], "Deleted a.txt.");
    assert_eq!(data(&finished, "lifecycle").last().unwrap()["event"], "completed");

    // Back to where the question was about to be asked, and another answer.
    let before = data(&asked, "checkpoints").last().unwrap()["id"].clone();
    let fork = socket.done("state.fork", json!({"checkpointId": before})).await;
    assert_eq!(fork["threadId"], json!(thread));
    let again = socket.until(is_over).await;
    let question = again.iter().find(|event| event["method"] == "input.requested").unwrap();
    let answer = json!({"responses": [{
        "namespace": question["params"]["namespace"],
        "interruptId": question["params"]["data"]["interruptId"],
        "response": {"decisions": [{"type": "reject", "message": "keep it"}]},
    }]});
    socket.done("input.respond", answer).await;
    let branch = socket.until(is_over).await;
    assert_eq!(data(&branch, "lifecycle").last().unwrap()["event"], "completed");
    assert_ne!(text(&branch), "Deleted a.txt.");
    let values = data(&branch, "values").last().unwrap()["messages"].to_string();
    assert!(!values.contains("Deleted"), "the branch knows nothing of the other one: {values}");
    assert_valid("Message", &[asked, finished, again, branch].concat());
}

async fn a_question_is_told_to_whoever_comes_later(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let run = json!({"agent_id": "human-in-the-loop", "input": "email bo@example.org"});
    let waited = client.post(&format!("/threads/{thread}/runs/wait"), &run).await.json(200);
    let mut events = stream(&client, &thread, &json!({"channels": ["values", "input"]})).await;
    let values = events.next().await.unwrap();
    assert_eq!(values["params"]["data"]["messages"], waited["messages"]);
    let question = events.next().await.unwrap();
    assert_eq!(question["params"]["data"]["interruptId"], waited["interrupts"][0]["id"]);
    let answer = json!({
        "assistantId": "human-in-the-loop",
        "input": {"decisions": [{"type": "approve"}]},
    });
    done(&client, &thread, "run.start", answer).await;
    let seen =
        events.until(|event| event["params"]["data"].to_string().contains("Sent an email")).await;
    assert_eq!(seen.last().unwrap()["method"], "values");
}

async fn a_nested_graph_is_seen_where_it_runs(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut all = stream(&client, &thread, &json!({"channels": ALL})).await;
    let flat = json!({"channels": ALL, "depth": 0});
    let mut flat = stream(&client, &thread, &flat).await;
    let below = json!({"channels": ALL, "namespaces": [["tool_node"]]});
    let mut below = stream(&client, &thread, &below).await;
    let run = json!({"assistantId": "subagents", "input": "ask the subagent weather in Paris"});
    let run = done(&client, &thread, "run.start", run).await;
    let all = all.until(is_over).await;
    assert_valid("Message", &all);
    let is_nested = |event: &&Value| event["params"]["namespace"] != json!([]);
    let nested: Vec<_> = all.iter().filter(is_nested).collect();
    let namespace = &nested[0]["params"]["namespace"];
    let started = nested[0];
    assert_eq!(started["params"]["data"]["cause"]["type"], "toolCall");
    let calls = data(&all, "tools");
    assert_eq!(started["params"]["data"]["cause"]["toolCallId"], calls[0]["toolCallId"]);
    let states = nested.iter().filter(|event| event["method"] == "values").count();
    assert!(states > 2, "the states of the nested graph are told");

    let flat = flat.until(is_over).await;
    assert!(flat.iter().eq(all.iter().filter(|event| !is_nested(event))));
    let ended = |event: &Value| {
        event["method"] == "lifecycle" && event["params"]["data"]["event"] == "completed"
    };
    let below = below.until(ended).await;
    assert!(below.iter().eq(nested.iter().copied()));

    let state = done(&client, &thread, "state.get", json!({"namespace": namespace})).await;
    let messages = state["values"]["messages"].as_array().unwrap();
    assert_eq!(messages[0]["content"], "weather in Paris");
    assert_eq!(state["checkpoint"]["ns"], namespace[0]);
    let params = json!({"runId": run["runId"]});
    let tree = done(&client, &thread, "agent.getTree", params).await;
    let child = &tree["tree"]["children"][0];
    assert_eq!((&child["namespace"], &child["status"]), (namespace, &json!("completed")));
    let nowhere = json!({"namespace": ["tool_node:1"], "limit": 1});
    assert_eq!(
        refused(&client, &thread, "state.listCheckpoints", nowhere).await,
        "no_such_namespace"
    );
}

async fn blocks_never_interleave(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let mut all = Vec::new();
    for (agent, input) in [
        ("react", "think about tea"),
        ("react", "weather in Paris and San Francisco"),
        ("subagents", "research weather in Rome"),
        ("media_management", "search cats and trim to 5"),
        ("echo", "hello"),
        ("tokens", "go"),
        ("steps", "go"),
    ] {
        let thread = new_thread(&client).await;
        let mut events = stream(&client, &thread, &json!({"channels": ALL})).await;
        done(&client, &thread, "run.start", json!({"assistantId": agent, "input": input})).await;
        let seen = events.until(is_over).await;
        assert_eq!(data(&seen, "lifecycle").last().unwrap()["event"], "completed", "{agent}");
        assert_orderly(&seen);
        all.extend(seen);
    }
    assert_valid("Message", &all);
}

/// In each place: a start, whole blocks one after the other, a finish.
fn assert_orderly(events: &[Value]) {
    let mut open: std::collections::HashMap<String, Option<u64>> = std::collections::HashMap::new();
    let mut finished = 0;
    for event in events.iter().filter(|event| event["method"] == "messages") {
        let params = &event["params"];
        let place = format!("{} {}", params["namespace"], params["node"]);
        let index = params["data"]["index"].as_u64();
        let (before, after) = match params["data"]["event"].as_str().unwrap() {
            "message-start" => (None, Some(None)),
            "content-block-start" => (Some(None), Some(index)),
            "content-block-delta" => (Some(index), Some(index)),
            "content-block-finish" => (Some(index), Some(None)),
            _ => (Some(None), None),
        };
        assert_eq!(open.remove(&place), before, "{event}");
        match after {
            Some(state) => drop(open.insert(place, state)),
            None => finished += 1,
        }
    }
    assert!(open.is_empty() && finished > 1);
}

async fn a_failure_is_told(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut events = stream(&client, &thread, &json!({"channels": ["lifecycle", "tasks"]})).await;
    done(&client, &thread, "run.start", json!({"assistantId": "react", "input": "fail"})).await;
    let seen = events.until(is_over).await;
    let end = data(&seen, "lifecycle").pop().unwrap();
    assert_eq!((&end["event"], &end["error"]), (&json!("failed"), &json!("scripted failure")));
    assert_eq!(data(&seen, "tasks").last().unwrap()["error"]["code"], "ModelError");
}
