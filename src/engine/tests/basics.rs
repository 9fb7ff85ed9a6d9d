//! Linear and conditional graphs, checkpoints, interrupts and events.

use std::sync::Arc;

use serde_json::json;

use crate::domain::checkpoint::{Answers, Source};
use crate::domain::ids::Namespace;
use crate::domain::{Message, RunEvent};
use crate::engine::memory::World;
use crate::engine::tests::{resume, start};
use crate::engine::{Begin, Channel, END, Ended, Graph, START, Update, drive};

fn counter() -> Arc<Graph> {
    Graph::builder("counter")
        .channel("seen", Channel::append())
        .node("count", |state, _cx| async move {
            let n = state.get_as::<u64>("n").unwrap_or(0) + 1;
            Ok(Update::new().set("n", n).push("seen", n))
        })
        .edge(START, "count")
        .branch("count", ["count", END], |state| {
            if state.get_as::<u64>("n") < Some(3) { "count" } else { END }
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_condition_loops_until_it_leads_to_the_end() {
    let world = World::new();
    let outcome = start(&world, &counter(), Update::new()).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(outcome.state.to_object()["seen"], json!([1, 2, 3]));
    let history = world.saver.history(&Namespace::root());
    let sources: Vec<_> = history.iter().map(|put| put.checkpoint.source).collect();
    assert_eq!(sources, [Source::Input, Source::Loop, Source::Loop, Source::Loop]);
    let steps: Vec<_> = history.iter().map(|put| put.checkpoint.place.step).collect();
    assert_eq!(steps, [-1, 0, 1, 2]);
    assert_eq!(world.newest().unwrap().state, outcome.state);
}

#[tokio::test]
async fn the_limit_allows_exactly_that_many_steps() {
    for (limit, done) in [(2, false), (3, true)] {
        let world = World::new();
        let run = crate::engine::port::RunContext { recursion_limit: limit, ..world.run() };
        let begin = Begin { input: Some(Update::new()), ..Begin::default() };
        let outcome = drive(&counter(), begin, &run).await.unwrap();
        match outcome.how {
            Ended::Failed(error) => assert!(!done && error.code == "recursion_limit"),
            how => assert!(done && how == Ended::Done),
        }
    }
}

#[tokio::test]
async fn an_interrupt_pauses_and_its_answer_goes_on() {
    let graph = Graph::builder("ask")
        .node("ask", |_state, cx| async move {
            let first = cx.interrupt("first?")?;
            let second = cx.interrupt("second?")?;
            Ok(Update::new().set("answers", json!([first, second])))
        })
        .edge(START, "ask")
        .build()
        .unwrap();
    let world = World::new();
    let Ended::Paused(open) = start(&world, &graph, Update::new()).await.how else { panic!() };
    assert_eq!(open.len(), 1);
    let mut answers = Answers::from([(open[0].id, json!("a"))]);
    let Ended::Paused(open) = resume(&world, &graph, answers.clone()).await.how else { panic!() };
    assert_eq!(open[0].value, json!("second?"));
    answers.insert(open[0].id, json!("b"));
    let outcome = resume(&world, &graph, answers).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(outcome.state.values()["answers"], json!(["a", "b"]));
}

#[tokio::test]
async fn siblings_of_an_interrupt_finish_and_do_not_run_again() {
    let graph = Graph::builder("siblings")
        .channel("ran", Channel::append())
        .node("asks", |_state, cx| async move {
            let answer = cx.interrupt("go on?")?;
            Ok(Update::new().push("ran", answer))
        })
        .node("works", |_state, cx| async move {
            cx.custom(None, "worked").await;
            Ok(Update::new().push("ran", "works"))
        })
        .edge(START, "asks")
        .edge(START, "works")
        .build()
        .unwrap();
    let world = World::new();
    let Ended::Paused(open) = start(&world, &graph, Update::new()).await.how else { panic!() };
    let outcome = resume(&world, &graph, Answers::from([(open[0].id, json!("yes"))])).await;
    assert_eq!(outcome.state.to_object()["ran"], json!(["yes", "works"]));
    let worked = |event: &RunEvent| matches!(event, RunEvent::Custom { .. });
    assert_eq!(world.events.take().iter().filter(|(_, event)| worked(event)).count(), 1);
}

#[tokio::test]
async fn two_writers_of_a_last_value_are_named() {
    let graph = Graph::builder("conflict")
        .node("a", |_state, _cx| async move { Ok(Update::new().set("k", 1)) })
        .node("b", |_state, _cx| async move { Ok(Update::new().set("k", 2)) })
        .edge(START, "a")
        .edge(START, "b")
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    let Ended::Failed(error) = outcome.how else { panic!() };
    assert_eq!(error.code, "conflicting_writes");
    assert!(error.message.contains("`a` and `b`"), "{}", error.message);
}

#[tokio::test]
async fn a_streamed_message_is_shown_once_and_a_whole_one_as_a_whole() {
    let graph = Graph::builder("speak")
        .node("speak", |_state, cx| async move {
            let mut writer = cx.stream_message(cx.message_id(0)).await;
            writer.reasoning("hm").await;
            writer.text("one ").await;
            writer.text("two").await;
            let streamed = writer.finish().await;
            let whole = Message::assistant(cx.message_id(1), "three");
            Ok(Update::new().message(streamed).message(whole))
        })
        .edge(START, "speak")
        .build()
        .unwrap();
    let world = World::new();
    let outcome = start(&world, &graph, Update::new()).await;
    let texts: Vec<_> = outcome.state.messages().iter().map(Message::text).collect();
    assert_eq!(texts, ["one two", "three"]);
    let names: Vec<String> = world
        .events
        .take()
        .iter()
        .map(|(_, event)| {
            serde_json::to_value(event).unwrap()["event"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(
        names,
        [
            "checkpoint_saved",
            "task_started",
            "message_started",
            "block_started",
            "block_delta",
            "block_finished",
            "block_started",
            "block_delta",
            "block_delta",
            "block_finished",
            "message_finished",
            "message",
            "task_finished",
            "checkpoint_saved",
        ]
    );
}
