//! What a stream shows, mode by mode.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::probe::Probe;
use super::{list, new_thread, start};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};
use crate::harness::sse::Frame;

on_both_databases!(
    metadata_comes_first_and_the_end_last,
    values_are_the_whole_state_after_each_step,
    updates_are_what_each_task_changed,
    the_pieces_of_a_message_add_up_to_it,
    a_message_that_was_not_streamed_is_one_piece,
    several_modes_come_as_they_happen,
    graphs_inside_of_tasks_are_shown_on_request,
    a_pause_is_shown_with_the_state,
    a_failure_is_told_before_the_end,
    an_unknown_mode_is_named,
);

/// All frames of a run that is started for the occasion.
pub(super) async fn streamed(client: &Client, path: &str, body: &Value) -> Vec<Frame> {
    let frames = client.frames(client.request(Method::POST, path).json(body)).await;
    check(&frames);
    frames
}

/// What holds of every stream of a whole run.
pub(super) fn check(frames: &[Frame]) {
    let ids: Vec<u64> = frames
        .iter()
        .map(|frame| frame.id.as_ref().expect("a frame has an id").parse().expect("a number"))
        .collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "ids increase: {ids:?}");
    let (first, last) = (frames.first().expect("frames"), frames.last().expect("frames"));
    assert_eq!((first.event.as_str(), last.event.as_str()), ("metadata", "end"));
    assert_eq!(first.data["run_id"], last.data["run_id"]);
}

fn events(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.event.as_str()).collect()
}

pub(super) fn data<'a>(frames: &'a [Frame], event: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame.event == event).map(|frame| &frame.data).collect()
}

async fn metadata_comes_first_and_the_end_last(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    for mode in ["values", "updates", "messages", "custom"] {
        let body = json!({"input": "hi", "stream_mode": mode});
        let frames = streamed(&client, &format!("{thread}/runs/stream"), &body).await;
        let known = ["metadata", mode, "end"];
        assert!(events(&frames).iter().all(|event| known.contains(event)), "{frames:?}");
        assert_eq!(frames[0].data["attempt"], 1);
        assert_eq!(frames.last().unwrap().data["status"], "success");
    }
    let request = client.request(Method::POST, "/runs/stream").json(&json!({"input": "hi"}));
    let response = client.open(request).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let location = response.headers()["content-location"].to_str().unwrap().to_owned();
    let frames = crate::harness::sse::frames(&response.text().await.unwrap());
    check(&frames);
    assert_eq!(location, format!("/runs/{}", frames[0].data["run_id"].as_str().unwrap()));
    assert_eq!(events(&frames)[1], "values", "which is what is streamed unless one says otherwise");
}

async fn values_are_the_whole_state_after_each_step(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let path = format!("{thread}/runs/stream");
    streamed(&client, &path, &json!({"input": {"message": "hi", "k": 1}})).await;
    let body = json!({
        "agent_id": "steps", "input": "go", "config": {"configurable": {"n": 3}},
    });
    let frames = streamed(&client, &path, &body).await;
    let values = data(&frames, "values");
    let steps: Vec<_> = values.iter().map(|values| &values["steps"]).collect();
    assert_eq!(steps, [&Value::Null, &json!([1]), &json!([1, 2]), &json!([1, 2, 3])]);
    assert!(values.iter().all(|values| values["k"] == 1), "the state before is part of it");
    let said = |values: &Value| list(&values["messages"]).len();
    assert_eq!(values.iter().map(|values| said(values)).collect::<Vec<_>>(), [3, 3, 3, 4]);
    let left = client.get(&thread).await.json(200);
    assert_eq!(values[3]["messages"], left["messages"]);
}

async fn updates_are_what_each_task_changed(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let body = json!({
        "agent_id": "steps", "input": "go", "stream_mode": "updates",
        "config": {"configurable": {"n": 2}},
    });
    let frames = streamed(&client, "/runs/stream", &body).await;
    let updates = data(&frames, "updates");
    assert_eq!(updates.len(), 2);
    assert_eq!(updates[0], &json!({"step_1": {"steps": [1]}}));
    assert_eq!(updates[1]["step_2"]["messages"][0]["content"], "done after 2 steps");
}

/// The texts of a stream's messages by id, put together from their pieces.
pub(super) fn texts(frames: &[Frame]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::<String, String>::new();
    for pair in data(frames, "messages") {
        let id = pair[0]["id"].as_str().expect("a piece names its message").to_owned();
        *texts.entry(id).or_default() += pair[0]["content"].as_str().unwrap_or_default();
    }
    texts
}

async fn the_pieces_of_a_message_add_up_to_it(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let body = json!({
        "agent_id": "tokens", "input": "go", "stream_mode": ["messages"],
        "config": {"configurable": {"n": 30}, "tags": ["t1"]},
    });
    let frames = streamed(&client, &format!("{thread}/runs/stream"), &body).await;
    let pieces = data(&frames, "messages");
    assert_eq!(pieces.len(), 30);
    let left = client.get(&thread).await.json(200);
    let message = &left["messages"][1];
    assert_eq!(
        texts(&frames)[message["id"].as_str().unwrap()],
        message["content"].as_str().unwrap()
    );
    for pair in pieces {
        assert_eq!((&pair[0]["role"], &pair[0]["type"]), (&json!("assistant"), &json!("ai")));
        assert_eq!(pair[1]["run_id"], frames[0].data["run_id"]);
        assert_eq!(pair[1]["thread_id"], frames[0].data["thread_id"]);
        assert_eq!((&pair[1]["node"], &pair[1]["step"]), (&json!("tokens"), &json!(0)));
        assert_eq!((&pair[1]["namespace"], &pair[1]["tags"]), (&json!([]), &json!(["t1"])));
    }
}

async fn a_message_that_was_not_streamed_is_one_piece(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let body = json!({"agent_id": "echo", "input": "hi", "stream_mode": "messages"});
    let frames = streamed(&client, "/runs/stream", &body).await;
    let pieces = data(&frames, "messages");
    assert_eq!(pieces.len(), 1, "what the user said is not repeated");
    assert_eq!(pieces[0][0]["content"], "echo: hi");

    let body = json!({"agent_id": "react", "input": "weather in sf", "stream_mode": "messages"});
    let frames = streamed(&client, "/runs/stream", &body).await;
    let pieces = data(&frames, "messages");
    let tools: Vec<_> = pieces.iter().filter(|pair| pair[0]["role"] == "tool").collect();
    assert_eq!((tools.len(), &tools[0][1]["node"]), (1, &json!("tool_node")));
    assert!(tools[0][0]["tool_call_id"].is_string());
    let calls = pieces.iter().filter_map(|pair| pair[0]["tool_call_chunks"][0]["args"].as_str());
    let args: Value = serde_json::from_str(&calls.collect::<String>()).unwrap();
    assert_eq!(args, json!({"location": "sf"}));
}

async fn several_modes_come_as_they_happen(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let body = json!({
        "agent_id": "outer", "stream_mode": ["custom", "messages", "updates", "values"],
    });
    let frames = streamed(&client, "/runs/stream", &body).await;
    assert_eq!(
        events(&frames),
        [
            "metadata", "values", "custom", "messages", "updates", "values", "updates", "values",
            "end"
        ],
    );
    assert_eq!(data(&frames, "custom"), [&json!({"depth": 0})]);
}

async fn graphs_inside_of_tasks_are_shown_on_request(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let mut body = json!({"agent_id": "outer", "stream_mode": ["custom", "values", "updates"]});
    let plain = streamed(&client, "/runs/stream", &body).await;
    assert!(plain.iter().all(|frame| !frame.event.contains('|')));
    body["stream_subgraphs"] = json!(true);
    let whole = streamed(&client, "/runs/stream", &body).await;
    let (inner, outer): (Vec<_>, Vec<_>) =
        whole.into_iter().partition(|frame| frame.event.contains('|'));
    assert_eq!(events(&outer), events(&plain));
    let modes: Vec<_> = inner.iter().map(|frame| frame.event.split_once('|').unwrap()).collect();
    assert!(modes.iter().all(|(_, namespace)| namespace.starts_with("nested:")), "{modes:?}");
    assert!(
        ["custom", "values", "updates"].iter().all(|mode| modes.iter().any(|(m, _)| m == mode))
    );
    assert!(inner.iter().any(|frame| frame.data == json!({"depth": 1})));
}

async fn a_pause_is_shown_with_the_state(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let body = json!({
        "agent_id": "asks", "input": "really?", "config": probe.config(),
        "stream_mode": ["values", "updates"],
    });
    let frames = streamed(&client, &format!("{thread}/runs/stream"), &body).await;
    let asked = client.get(&thread).await.json(200)["interrupts"].clone();
    assert_eq!(asked[0]["value"], json!({"question": "really?"}));
    let last = data(&frames, "values").pop().unwrap().clone();
    assert_eq!(
        (&last["__interrupt__"], last["messages"][0]["content"].as_str()),
        (&asked, Some("really?"))
    );
    assert_eq!(data(&frames, "updates"), [&json!({"__interrupt__": asked})]);
    assert_eq!(frames.last().unwrap().data["status"], "interrupted");
}

async fn a_failure_is_told_before_the_end(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for (agent, code) in [("breaks", "broken"), ("panics", "panic"), ("endless", "recursion_limit")]
    {
        let body = json!({"agent_id": agent, "config": {"recursion_limit": 3}});
        let frames = streamed(&client, "/runs/stream", &body).await;
        let [.., error, end] = frames.as_slice() else { panic!("{frames:?}") };
        assert_eq!((error.event.as_str(), &error.data["code"]), ("error", &json!(code)));
        assert_eq!(end.data["status"], "error");
    }
}

async fn an_unknown_mode_is_named(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for (mode, field) in [
        (json!("tools"), "stream_mode"),
        (json!(["values", "tools"]), "stream_mode[1]"),
        (json!(7), "stream_mode"),
    ] {
        let body = json!({"input": "x", "stream_mode": mode});
        let refused = client.post("/runs/stream", &body).await.json(422);
        assert_eq!(refused["metadata"]["field"], field);
        let told = refused["message"].as_str().unwrap();
        assert!(mode == json!(7) || told.contains("tools"), "{told}");
    }
    let frames = streamed(&client, "/runs/stream", &json!({"input": "x", "stream_mode": []})).await;
    assert_eq!(data(&frames, "values").len(), 2, "no mode is the same as none named");
}
