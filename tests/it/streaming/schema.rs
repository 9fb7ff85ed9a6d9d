//! What is sent, against the protocol's own definition, where that is at hand.

use std::path::Path;

use cddl::validator::Validator;
use cddl::validator::json::JSONValidator;
use runloom::app::{Opening, Watched};
use runloom::domain::clock::Ts;
use runloom::domain::ids::Namespace;
use runloom::domain::state::State;
use runloom::faces::agent_protocol::streaming::frames::Frames;
use serde_json::{Value, json};

use super::{ALL, is_over, new_thread};
use crate::harness::db::Database;
use crate::harness::live::Socket;
use crate::harness::server::TestServer;

/// Beside the repository, or beside the folder of its work trees.
const DEFINITION: [&str; 2] =
    ["../shared/spec/agent-streaming.cddl", "../../shared/spec/agent-streaming.cddl"];

fn definition() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    DEFINITION.iter().find_map(|path| std::fs::read_to_string(root.join(path)).ok())
}

/// Whether the messages are what the rule `root` says; all right where there is no definition.
fn check(root: &str, messages: &[Value]) -> Result<(), String> {
    let Some(definition) = definition() else { return Ok(()) };
    let rules = format!("root = [* {root}]\n{definition}");
    let rules = cddl::cddl_from_str(&rules, true).expect("the definition can be read");
    let all = Value::Array(messages.to_vec());
    let validated = JSONValidator::new(&rules, all, None).validate();
    validated.map_err(|wrong| wrong.to_string())
}

/// The same, naming the messages at fault.
#[track_caller]
pub(super) fn assert_valid(root: &str, messages: &[Value]) {
    if check(root, messages).is_err() {
        for message in messages {
            if let Err(wrong) = check(root, std::slice::from_ref(message)) {
                panic!("{message}\n{wrong}");
            }
        }
        panic!("together the messages are wrong");
    }
}

/// What a log is shown as.
fn events(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/frames/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let log = std::fs::read_to_string(path).expect("the log is there");
    let (mut frames, mut made) = (Frames::default(), Vec::new());
    let state = Some(State::default());
    let opening = Opening {
        seq: 0,
        at: Ts(0),
        after: None,
        gap: None,
        state: state.clone(),
        head: None,
        running: None,
        interrupts: Vec::new(),
    };
    frames.feed(&Watched::Opening(Box::new(opening)), &mut made);
    for line in log.lines() {
        let logged: runloom::domain::Logged = serde_json::from_str(line).expect("a log entry");
        let namespace: Namespace = logged.namespace.clone();
        if !namespace.is_root() && line.contains("\"parent\":null") {
            frames.feed(&Watched::Base { namespace, state: state.clone() }, &mut made);
        }
        frames.feed(&Watched::Event(std::sync::Arc::new(logged)), &mut made);
    }
    made.iter().map(|event| serde_json::to_value(event).expect("an event is JSON")).collect()
}

#[test]
fn recorded_logs_are_shown_as_the_protocol_defines_it() {
    for name in ["text_turn", "tool_turn", "pause", "nested", "two_attempts", "failure"] {
        assert_valid("Message", &events(name));
    }
}

#[test]
fn the_validator_tells_right_from_wrong() {
    let mut event = events("text_turn").swap_remove(3);
    assert_eq!(check("Message", std::slice::from_ref(&event)), Ok(()));
    event["params"]["data"]["role"] = json!("tool");
    assert_eq!(check("Message", &[event]).is_err(), definition().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_what_the_protocol_defines() {
    let database = Database::sqlite().await;
    let server = TestServer::start(&database.url).await;
    let thread = new_thread(&server.client()).await;
    let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
    let mut commands = Vec::new();
    let mut replies = Vec::new();
    let mut events = Vec::new();
    let asked = [
        ("subscription.subscribe", json!({"channels": ALL, "namespaces": [[]], "depth": 3})),
        ("subscription.unsubscribe", json!({"subscriptionId": "unknown"})),
        ("run.start", json!({"assistantId": "tokens", "input": "go", "config": {}})),
        ("run.start", json!({"assistantId": "steps", "input": {"message": "go"}, "metadata": {}})),
        ("state.get", json!({"namespace": [], "keys": ["steps"]})),
        ("state.listCheckpoints", json!({"namespace": [], "limit": 3})),
        ("agent.getTree", json!({})),
        ("input.respond", json!({"namespace": [], "interruptId": "x", "response": null})),
        ("input.inject", json!({"namespace": ["a"], "message": {"role": "user", "content": "hi"}})),
    ];
    for (ordinal, (method, params)) in (1..).zip(asked) {
        commands.push(json!({"id": ordinal, "method": method, "params": params}));
        replies.push(socket.command(method, params).await);
        if method == "run.start" {
            events.extend(socket.until(is_over).await);
        }
    }
    let checkpoint = replies[5]["result"]["checkpoints"][2]["id"].clone();
    replies.push(socket.command("state.fork", json!({"checkpointId": checkpoint})).await);
    events.extend(socket.until(is_over).await);
    let run = replies[2]["result"]["runId"].clone();
    replies.push(socket.command("subscription.reconnect", json!({"runId": run})).await);
    let results = [
        (0, "SubscribeResult"),
        (2, "RunResult"),
        (4, "StateGetResult"),
        (5, "ListCheckpointsResult"),
        (6, "AgentResult"),
        (9, "StateForkResult"),
        (10, "ReconnectResult"),
    ];
    for (position, rule) in results {
        assert_valid(rule, &[replies[position]["result"].clone()]);
    }
    assert_valid("Command", &commands);
    assert_valid("Message", &replies);
    assert_valid("Message", &events);
}
