//! Failures, retries, time limits, and runs that are to stop.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::domain::ids::Namespace;
use crate::domain::ports::{BoxFuture, Timer};
use crate::domain::{Error, Fault, Message, RunEvent};
use crate::engine::memory::World;
use crate::engine::port::RunContext;
use crate::engine::tests::{failure, start};
use crate::engine::{Begin, Channel, Ended, Graph, Halt, Outcome, Retry, START, Update, drive};

/// Time passes as soon as somebody waits for it, and what was waited for is noted.
#[derive(Default)]
struct Waits(Mutex<Vec<u128>>);

impl Timer for Waits {
    fn sleep(&self, span: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(span.as_millis());
        Box::pin(std::future::ready(()))
    }
}

async fn start_with(graph: &Arc<Graph>, context: RunContext, world: &World) -> Outcome {
    let begin = Begin { at: world.newest(), input: Some(Update::new()), ..Begin::default() };
    drive(graph, begin, &context).await.unwrap()
}

/// Fails as often as `failures` says, with these codes, and then does not.
fn flaky(failures: &[&'static str], retry: Retry) -> Arc<Graph> {
    let failures = Arc::new(Mutex::new(failures.iter().copied().collect::<VecDeque<_>>()));
    Graph::builder("flaky")
        .node("flaky", move |_state, cx| {
            let code = failures.lock().unwrap().pop_front();
            async move {
                match code {
                    Some(code) => Err(Halt::coded(code, "not yet")),
                    None => Ok(Update::new().set("attempt", cx.attempt())),
                }
            }
        })
        .retry("flaky", retry)
        .edge(START, "flaky")
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_node_is_tried_again_after_growing_waits() {
    let (world, waits) = (World::new(), Arc::new(Waits::default()));
    let backoff =
        Retry::attempts(5).backoff(Duration::from_millis(10), 3, Duration::from_millis(50));
    let context = RunContext { timer: waits.clone(), ..world.run() };
    let outcome = start_with(&flaky(&["x", "x", "x"], backoff), context, &world).await;
    assert_eq!(outcome.state.get("attempt"), Some(json!(4)));
    assert_eq!(*waits.0.lock().unwrap(), [10, 30, 50]);
    let retries: Vec<_> = world
        .events
        .take()
        .into_iter()
        .filter_map(|(_, event)| match event {
            RunEvent::TaskFailed { retry_in_ms, error, .. } => Some((error.code, retry_in_ms)),
            _ => None,
        })
        .collect();
    assert_eq!(retries, [10, 30, 50].map(|wait| ("x".to_owned(), Some(wait))));
}

#[tokio::test]
async fn the_last_attempt_fails_the_run() {
    let graph = flaky(&["x", "x", "y"], Retry::attempts(2));
    let error = failure(start(&World::new(), &graph, Update::new()).await);
    assert_eq!((&*error.code, &*error.message), ("x", "not yet"));
}

#[tokio::test]
async fn a_retry_policy_chooses_its_errors() {
    let retry = Retry::attempts(9).when(|error| error.code == "busy");
    let graph = flaky(&["busy", "busy", "fatal", "busy"], retry);
    assert_eq!(failure(start(&World::new(), &graph, Update::new()).await).code, "fatal");
}

#[tokio::test]
async fn a_retry_policy_can_look_behind_an_error() {
    let graph = Graph::builder("io")
        .node("io", |_state, cx| async move {
            if cx.attempt() == 1 {
                return Err(std::io::Error::other("reset").into());
            }
            Ok(Update::new().set("attempt", cx.attempt()))
        })
        .retry(
            "io",
            Retry::attempts(2).when(
                |error| matches!(error.source(), Some(source) if source.is::<std::io::Error>()),
            ),
        )
        .edge(START, "io")
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(outcome.state.get("attempt"), Some(json!(2)));
}

#[tokio::test]
async fn work_done_once_is_not_done_again_by_the_next_attempt() {
    let done = Arc::new(AtomicU32::new(0));
    let counted = done.clone();
    let graph = Graph::builder("once")
        .node("once", move |_state, cx| {
            let counted = counted.clone();
            async move {
                let work = async { Ok::<_, Halt>(counted.fetch_add(1, Ordering::Relaxed) + 1) };
                let number = cx.once("work", work).await?;
                if cx.attempt() < 3 {
                    return Err(Halt::fail("again"));
                }
                Ok(Update::new().set("number", number))
            }
        })
        .retry("once", Retry::attempts(3))
        .edge(START, "once")
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(outcome.state.get("number"), Some(json!(1)));
    assert_eq!(done.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_cut_off() {
    let graph = Graph::builder("slow")
        .node("slow", |_state, cx| async move {
            let mut writer = cx.stream_message("m").await;
            writer.text("begun").await;
            if cx.attempt() == 1 {
                std::future::pending::<()>().await;
            }
            Ok(Update::new().message(writer.finish().await))
        })
        .time_limit("slow", Duration::from_millis(70))
        .retry("slow", Retry::attempts(2))
        .edge(START, "slow")
        .build()
        .unwrap();
    let world = World::new();
    let outcome = start(&world, &graph, Update::new()).await;
    assert_eq!(outcome.state.messages().iter().map(Message::text).collect::<Vec<_>>(), ["begun"]);
    let events = world.events.take();
    let timed_out = events.iter().find_map(|(_, event)| match event {
        RunEvent::TaskFailed { error, .. } => Some(error.clone()),
        _ => None,
    });
    let timed_out = timed_out.unwrap();
    assert_eq!(timed_out.code, "node_timeout");
    assert!(timed_out.message.contains("`slow` took longer than 70 ms"), "{}", timed_out.message);
    let void = events.iter().filter(|(_, event)| matches!(event, RunEvent::MessageFailed { .. }));
    assert_eq!(void.count(), 1, "the message that was open is void");
}

#[tokio::test]
async fn a_failed_task_keeps_what_its_siblings_had_finished() {
    let failing = Arc::new(AtomicU32::new(1));
    let fails = failing.clone();
    let graph = Graph::builder("siblings")
        .node("fails", move |_state, _cx| {
            let fails = fails.swap(0, Ordering::Relaxed) == 1;
            async move {
                tokio::task::yield_now().await;
                if fails { Err(Halt::fail("no")) } else { Ok(Update::new().set("f", 1)) }
            }
        })
        .node("works", |_state, cx| async move {
            cx.custom(None, "worked").await;
            Ok(Update::new().set("w", 1))
        })
        .edge(START, "fails")
        .edge(START, "works")
        .build()
        .unwrap();
    let world = World::new();
    failure(start(&world, &graph, Update::new()).await);
    let outcome = crate::engine::tests::run(&world, &graph, Begin::default()).await;
    assert_eq!(outcome.state.values(), *json!({"f": 1, "w": 1}).as_object().unwrap());
    assert_eq!(crate::engine::tests::customs(&world), ["worked"]);
}

#[tokio::test]
async fn a_message_without_a_role_fails_the_task_that_wrote_it() {
    let graph = Graph::builder("bad")
        .node("bad", |_state, _cx| async move {
            Ok(Update::new().set("messages", json!([{"content": "who?"}])))
        })
        .edge(START, "bad")
        .build()
        .unwrap();
    let error = failure(start(&World::new(), &graph, Update::new()).await);
    assert_eq!(error.code, "invalid_update");
    assert!(error.message.contains("node `bad`"), "{}", error.message);
    assert!(error.message.contains("messages[0].role"), "{}", error.message);
}

#[tokio::test]
async fn a_lost_claim_is_no_failure_of_the_node() {
    let graph = Graph::builder("fenced")
        .node("fenced", |_state, _cx| async move { Err::<(), _>(Error::fenced().into()) })
        .retry("fenced", Retry::attempts(9))
        .edge(START, "fenced")
        .build()
        .unwrap();
    let begin = Begin { input: Some(Update::new()), ..Begin::default() };
    let error = drive(&graph, begin, &World::new().run()).await.unwrap_err();
    assert_eq!(error.fault, Fault::Fenced);
}

/// Steps `1` to `3`; the second fires `token` and, if it is to hang, never comes back by itself.
fn stopping(token: &CancellationToken, hangs: bool) -> Arc<Graph> {
    let token = token.clone();
    Graph::builder("stopping")
        .channel("ran", Channel::append())
        .nodes_numbered("", move |_state, cx| {
            let token = token.clone();
            async move {
                if &**cx.node() == "2" && cx.run_attempt() == 1 {
                    token.cancel();
                    if hangs {
                        std::future::pending::<()>().await;
                    }
                }
                Ok(Update::new().push("ran", &**cx.node()))
            }
        })
        .edge(START, "1")
        .edge("1", "2")
        .edge("2", "3")
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_run_that_is_to_stop_is_cut_off_in_the_middle_of_a_node() {
    let world = World::new();
    let context = world.run();
    let outcome = start_with(&stopping(&context.stop, true), context, &world).await;
    assert_eq!(outcome.how, Ended::Stopped);
    assert_eq!(outcome.state.get("ran"), Some(json!(["1"])));
}

#[tokio::test]
async fn a_draining_node_finishes_the_step_and_the_next_attempt_goes_on() {
    let world = World::new();
    let context = world.run();
    let graph = stopping(&context.drain, false);
    let outcome = start_with(&graph, context.clone(), &world).await;
    assert_eq!(outcome.how, Ended::Stopped);
    assert_eq!(outcome.state.get("ran"), Some(json!(["1", "2"])));
    let again = RunContext { attempt: 2, drain: CancellationToken::new(), ..context };
    let outcome = start_with(&graph, again, &world).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(outcome.state.get("ran"), Some(json!(["1", "2", "3"])));
}

#[tokio::test]
async fn a_draining_node_stops_a_graph_below_and_lets_its_siblings_finish() {
    let world = World::new();
    let context = world.run();
    let graph = Graph::builder("above")
        .subgraph(
            "below",
            stopping(&context.drain, false),
            |_, _| Update::new(),
            |state| Update::new().set("below", state.get("ran").unwrap_or_default()),
        )
        .node("beside", |_state, cx| async move {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            cx.custom(None, "beside").await;
            Ok(Update::new().set("beside", true))
        })
        .edge(START, "below")
        .edge(START, "beside")
        .build()
        .unwrap();
    assert_eq!(start_with(&graph, context.clone(), &world).await.how, Ended::Stopped);
    let again = RunContext { attempt: 2, drain: CancellationToken::new(), ..context };
    let outcome = start_with(&graph, again, &world).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(outcome.state.get("below"), Some(json!(["1", "2", "3"])));
    assert_eq!(crate::engine::tests::customs(&world), ["beside"]);
    assert_eq!(world.saver.history(&Namespace::root()).len(), 2);
}
