//! Golden frames from the logs in `tests/frames`, and streams that are cut and resumed.

use std::sync::Arc;

use futures::stream;
use serde_json::Value;
use uuid::Uuid;

use super::*;
use crate::domain::clock::Ts;
use crate::domain::ids::{AgentId, Owner, RunKey};
use crate::domain::run::{RunSpec, RunStatus as Stands};

const LOGS: [&str; 6] = ["text_turn", "tool_turn", "pause", "nested", "two_attempts", "failure"];

fn log(name: &str) -> Vec<Arc<Logged>> {
    let path = format!("{}/tests/frames/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| Arc::new(serde_json::from_str(line).unwrap())).collect()
}

/// The run as the log leaves it.
fn run(log: &[Arc<Logged>], modes: &[&str], subgraphs: bool) -> Run {
    let last = log.last().unwrap();
    let (status, error) = match &last.event {
        RunEvent::RunEnded { status, error } => (*status, error.clone()),
        _ => (Stands::Running, None),
    };
    let spec = RunSpec {
        stream_modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
        stream_subgraphs: subgraphs,
        config: crate::domain::run::RunConfig {
            tags: vec!["demo".to_owned()],
            ..Default::default()
        },
        ..RunSpec::default()
    };
    Run {
        id: last.run_id,
        key: RunKey(1),
        owner: Owner::default_owner(),
        thread_id: ThreadId(Uuid::from_u128(7)),
        thread_key: None,
        agent_id: AgentId::new("react"),
        status,
        attempt: last.attempt,
        metadata: serde_json::Map::new(),
        spec,
        error,
        interrupts: Vec::new(),
        base: None,
        head: None,
        result: None,
        cancel: None,
        created_at: Ts(0),
        updated_at: Ts(0),
        due_at: Ts(0),
    }
}

/// What a client gets that comes in after frame `after` (or, with `None`, after `known` events).
fn watch(log: &[Arc<Logged>], run: &Run, after: Option<Cursor>, known: usize) -> Vec<String> {
    let follow = Follow { run: run.clone(), events: Box::pin(stream::empty()) };
    let mut frames = RunFrames::new(&follow, None, after);
    let mut out = Out::default();
    for (index, logged) in log.iter().enumerate() {
        let known = match after.map(Cursor::follow) {
            Some(crate::app::From::After(seq)) => logged.seq <= seq,
            Some(crate::app::From::Now) | None => index < known,
        };
        let logged = logged.clone();
        frames
            .feed(&if known { Followed::Known(logged) } else { Followed::Event(logged) }, &mut out);
    }
    frames.feed(&Followed::End(Box::new(run.clone())), &mut out);
    let text = String::from_utf8(out.take().to_vec()).unwrap();
    text.split_inclusive("\n\n").map(str::to_owned).collect()
}

fn id(frame: &str) -> u64 {
    let line = frame.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    line.parse().unwrap()
}

fn event(frame: &str) -> &str {
    frame.lines().find_map(|line| line.strip_prefix("event: ")).unwrap()
}

fn data(frame: &str) -> Value {
    let line = frame.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str(line).unwrap()
}

#[test]
fn the_frames_of_each_log_in_each_mode() {
    for name in LOGS {
        let log = log(name);
        for mode in StreamMode::ALL.map(StreamMode::as_str) {
            let run = run(&log, &[mode], false);
            insta::assert_snapshot!(format!("{name}_{mode}"), watch(&log, &run, None, 0).concat());
        }
    }
}

#[test]
fn several_modes_and_subgraphs_at_once() {
    let log = log("nested");
    let run = run(&log, &["values", "updates", "messages", "custom"], true);
    insta::assert_snapshot!(watch(&log, &run, None, 0).concat());
}

#[test]
fn a_stream_begins_with_metadata_ends_with_end_and_its_ids_increase() {
    for name in LOGS {
        let log = log(name);
        let run = run(&log, &["values", "updates", "messages", "custom"], true);
        let frames = watch(&log, &run, None, 0);
        assert_eq!(event(&frames[0]), "metadata");
        assert_eq!(event(frames.last().unwrap()), "end");
        assert!(frames.windows(2).all(|pair| id(&pair[0]) < id(&pair[1])), "{name}");
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_and_resumed_shows_each_frame_once() {
    for name in LOGS {
        let log = log(name);
        for modes in [&["values"][..], &["messages"], &["updates", "values", "messages", "custom"]]
        {
            let run = run(&log, modes, true);
            let whole = watch(&log, &run, None, 0);
            for cut in 0..whole.len() - 1 {
                let after = Cursor::read("after", &id(&whole[cut]).to_string()).unwrap();
                assert_eq!(watch(&log, &run, Some(after), 0), whole[cut + 1..], "{name} {cut}");
            }
            assert_eq!(watch(&log, &run, Some(Cursor::START), 0), whole, "{name}");
        }
    }
}

#[test]
fn past_the_end_there_is_just_the_end() {
    let log = log("failure");
    let run = run(&log, &["values"], false);
    let frames = watch(&log, &run, Some(Cursor::of(1 << 40, Slot::Metadata)), 0);
    assert_eq!(frames.iter().map(|frame| event(frame)).collect::<Vec<_>>(), ["end"]);
    assert_eq!(id(&frames[0]), 8 << 40);
}

#[test]
fn whoever_joins_in_between_is_told_which_run_it_is_and_sees_the_whole_state() {
    let log = log("tool_turn");
    let run = run(&log, &["values"], false);
    let whole = watch(&log, &run, None, 0);
    let frames = watch(&log, &run, None, log.len() - 4);
    let events: Vec<&str> = frames.iter().map(|frame| event(frame)).collect();
    assert_eq!(events, ["metadata", "values", "end"]);
    assert_eq!(frames[1..], whole[whole.len() - 2..]);
    assert!(id(&frames[0]) < id(&frames[1]));
}

#[test]
fn a_run_that_never_began_still_ends() {
    let log = log("text_turn");
    let run = Run { status: Stands::Cancelled, ..run(&log, &["values"], false) };
    let frames = watch(&[], &run, None, 0);
    assert_eq!(frames.iter().map(|frame| event(frame)).collect::<Vec<_>>(), ["metadata", "end"]);
    assert_eq!(data(&frames[1])["status"], "interrupted");
}

#[test]
fn a_gap_is_told_and_the_state_goes_on_from_its_base() {
    let log = log("text_turn");
    let run = run(&log, &["values"], false);
    let follow = Follow { run, events: Box::pin(stream::empty()) };
    let after = Cursor::of(1, Slot::End);
    let mut frames = RunFrames::new(&follow, None, Some(after));
    let mut out = Out::default();
    let mut base = State::default();
    for logged in &log[..2] {
        if let RunEvent::CheckpointSaved { changes, .. } = &logged.event {
            for change in changes {
                base.apply(change);
            }
        }
    }
    let first_available = Some(log[2].seq);
    frames.feed(&Followed::Gap { after: 1, first_available }, &mut out);
    frames.feed(&Followed::Base(base), &mut out);
    for logged in &log[2..] {
        frames.feed(&Followed::Event(logged.clone()), &mut out);
    }
    let text = String::from_utf8(out.take().to_vec()).unwrap();
    let shown: Vec<&str> = text.split_inclusive("\n\n").collect();
    assert_eq!(shown.iter().map(|frame| event(frame)).collect::<Vec<_>>(), ["gap", "values"]);
    assert_eq!(data(shown[0])["after"], id(&format!("id: {after}")));
    assert_eq!(data(shown[0])["first_available"], 8 * log[2].seq);
    assert_eq!(data(shown[1])["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn the_pieces_of_a_message_add_up_to_it() {
    let log = log("two_attempts");
    let run = run(&log, &["messages"], false);
    let frames = watch(&log, &run, None, 0);
    let second = frames.iter().rposition(|frame| event(frame) == "metadata").unwrap();
    let pieces = frames[second..].iter().filter(|frame| event(frame) == "messages");
    let text: String =
        pieces.map(|frame| data(frame)[0]["content"].as_str().unwrap().to_owned()).collect();
    assert_eq!(text, "done after 2 steps");
}
