//! Golden frames from the logs in `tests/frames`, and messages that are written side by side.

use serde_json::json;

use super::*;
use crate::domain::event::{Block, Delta};
use crate::domain::ids::RunId;
use crate::domain::message::Role;

const LOGS: [&str; 6] = ["text_turn", "tool_turn", "pause", "nested", "two_attempts", "failure"];

fn log(name: &str) -> Vec<Arc<Logged>> {
    let path = format!("{}/tests/frames/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| Arc::new(serde_json::from_str(line).unwrap())).collect()
}

/// How an empty thread stands.
fn nothing_yet() -> Watched {
    Watched::Opening(Box::new(Opening {
        seq: 0,
        at: Ts(1_764_576_000_000_000),
        after: None,
        gap: None,
        state: Some(State::default()),
        head: None,
        running: None,
        interrupts: Vec::new(),
    }))
}

/// What a watcher of the whole log sees.
fn watched(log: &[Arc<Logged>]) -> Vec<Watched> {
    let mut seen = vec![nothing_yet()];
    for logged in log {
        if let (RunEvent::CheckpointSaved { parent: None, .. }, false) =
            (&logged.event, logged.namespace.is_root())
        {
            let (namespace, state) = (logged.namespace.clone(), Some(State::default()));
            seen.push(Watched::Base { namespace, state });
        }
        seen.push(Watched::Event(logged.clone()));
    }
    seen
}

fn frames(seen: &[Watched]) -> Vec<Event> {
    let (mut frames, mut out) = (Frames::default(), Vec::new());
    for watched in seen {
        frames.feed(watched, &mut out);
    }
    out
}

/// One line an event: number, method, namespace and node, data.
fn lines(events: &[Event]) -> String {
    let line = |event: &Event| {
        let place = event.namespace.joined();
        let node = event.node.as_deref().map(|node| format!(" @{node}")).unwrap_or_default();
        let data = serde_json::to_string(&event.data).unwrap();
        format!("{} {} {place}{node} {data}\n", event.number, event.data.method())
    };
    events.iter().map(line).collect()
}

#[test]
fn recorded_logs_have_golden_frames() {
    for name in LOGS {
        insta::assert_snapshot!(name, lines(&frames(&watched(&log(name)))));
    }
}

#[test]
fn an_event_is_written_with_its_envelope() {
    let events = frames(&watched(&log("tool_turn")));
    let started = events.iter().find(|event| event.data.method() == "tools").unwrap();
    assert_eq!(
        serde_json::to_value(started).unwrap(),
        json!({
            "type": "event",
            "eventId": "16384",
            "seq": 16384,
            "method": "tools",
            "params": {
                "namespace": [],
                "timestamp": 1_764_576_000_016_i64,
                "node": "tool_node",
                "data": {
                    "event": "tool-started",
                    "toolCallId": "c1",
                    "toolName": "get_weather",
                    "input": {"location": "Paris"},
                },
            },
        })
    );
}

#[test]
fn numbers_increase_strictly() {
    for name in LOGS {
        let events = frames(&watched(&log(name)));
        assert!(events.is_sorted_by(|one, next| one.number < next.number), "{name}");
    }
}

#[test]
fn numbers_do_not_depend_on_whether_states_are_known() {
    for name in LOGS {
        let log = log(name);
        let all = frames(&watched(&log));
        let only: Vec<_> = log.into_iter().map(Watched::Event).collect();
        let without = frames(&only);
        let known = all
            .iter()
            .filter(|event| !matches!(event.data, Data::Values(_)) && !event.number.is_standing());
        assert!(known.eq(without.iter()), "{name}");
    }
}

/// A log of one attempt, numbered from 1.
fn written(events: Vec<RunEvent>) -> Vec<Arc<Logged>> {
    let logged = |(seq, event)| {
        let (run_id, namespace) = (RunId(uuid::Uuid::from_u128(7)), Namespace::root());
        Arc::new(Logged { seq, at: Ts(0), run_id, attempt: 1, namespace, event })
    };
    (1..).zip(events).map(logged).collect()
}

fn started(id: &str, node: &str) -> RunEvent {
    RunEvent::MessageStarted {
        message_id: id.into(),
        role: Role::Assistant,
        node: node.into(),
        step: 0,
        metadata: serde_json::Map::new(),
    }
}

fn block_started(id: &str) -> RunEvent {
    let block = Block::Text { text: String::new() };
    RunEvent::BlockStarted { message_id: id.into(), index: 0, block }
}

fn delta(id: &str, text: &str) -> RunEvent {
    let delta = Delta::Text { text: text.to_owned() };
    RunEvent::BlockDelta { message_id: id.into(), index: 0, delta }
}

fn block_finished(id: &str, text: &str) -> RunEvent {
    let block = Block::Text { text: text.to_owned() };
    RunEvent::BlockFinished { message_id: id.into(), index: 0, block }
}

fn finished(id: &str) -> RunEvent {
    RunEvent::MessageFinished { message_id: id.into(), usage: None, stop_reason: None }
}

/// The `messages` events of a log, in short.
fn said(events: Vec<RunEvent>) -> Vec<String> {
    let watched: Vec<_> = written(events).into_iter().map(Watched::Event).collect();
    let events = frames(&watched).into_iter().filter_map(|event| {
        let Data::Messages(data) = event.data else { return None };
        let data = serde_json::to_value(data).unwrap();
        let what = data["event"].as_str().unwrap().to_owned();
        let detail = [&data["id"], &data["delta"]["text"], &data["content"]["text"], &data["code"]];
        let detail = detail.into_iter().find_map(Value::as_str).unwrap_or_default();
        Some(format!("{what} {detail}").trim().to_owned())
    });
    events.collect()
}

#[test]
fn of_two_messages_in_one_place_the_second_waits() {
    let side_by_side = vec![
        started("a", "writer"),
        block_started("a"),
        started("b", "writer"),
        delta("a", "one "),
        block_started("b"),
        delta("b", "three "),
        delta("a", "two"),
        delta("b", "four"),
        block_finished("a", "one two"),
        finished("a"),
        delta("b", " five"),
        block_finished("b", "three four five"),
        finished("b"),
    ];
    assert_eq!(
        said(side_by_side),
        [
            "message-start a",
            "content-block-start",
            "content-block-delta one",
            "content-block-delta two",
            "content-block-finish one two",
            "message-finish",
            "message-start b",
            "content-block-start",
            "content-block-delta three four",
            "content-block-delta  five",
            "content-block-finish three four five",
            "message-finish",
        ]
    );
}

#[test]
fn messages_in_different_places_do_not_wait() {
    let side_by_side = vec![started("a", "writer"), started("b", "critic"), finished("b")];
    assert_eq!(said(side_by_side), ["message-start a", "message-start b", "message-finish"]);
}

#[test]
fn what_waits_when_the_run_ends_is_told_and_broken_off() {
    let cut = vec![
        started("a", "writer"),
        started("b", "writer"),
        block_started("b"),
        delta("b", "half"),
        RunEvent::RunEnded { status: RunStatus::Cancelled, error: None },
    ];
    assert_eq!(
        said(cut),
        [
            "message-start a",
            "error cancelled",
            "message-start b",
            "content-block-start",
            "content-block-delta half",
            "error cancelled",
        ]
    );
}

#[test]
fn a_message_that_began_before_the_watcher_came_is_left_out() {
    assert_eq!(said(vec![delta("a", "lost"), finished("a")]), Vec::<String>::new());
}

#[test]
fn a_gap_is_told_on_every_channel() {
    let gap = Watched::Gap(Gap { after: 3, first_available: Some(9) });
    let [event] = &frames(&[gap])[..] else { panic!("one event") };
    assert_eq!(event.number, super::super::wire::Number::standing(8, 0));
    assert_eq!(
        serde_json::to_value(&event.data).unwrap(),
        json!({"name": "resume_gap", "payload": {"after": 4095, "firstAvailable": 9216}})
    );
}
