//! Graphs inside tasks, and what tasks keep over a pause.

use std::sync::Arc;

use futures::future::join;
use serde_json::json;

use crate::domain::checkpoint::Answers;
use crate::domain::event::{Cause, GraphOutcome};
use crate::domain::ids::{CheckpointId, Namespace};
use crate::domain::{IdGen, RunEvent, Ts};
use crate::engine::memory::World;
use crate::engine::tests::{asked, customs, failure, resume, start};
use crate::engine::{Channel, Command, END, Ended, Graph, Halt, START, Update, update};

/// Works, then asks, then answers; shows each time it works.
fn asking() -> Arc<Graph> {
    Graph::builder("asking")
        .node("work", |state, cx| async move {
            cx.custom(None, "worked").await;
            let topic = state.get("topic").unwrap_or_default();
            Ok(Update::new().set("draft", format!("about {topic}")))
        })
        .node("ask", |state, cx| async move {
            let answer = cx.interrupt(state.get("draft").unwrap_or_default())?;
            Ok(Update::new().set("answer", answer))
        })
        .edge(START, "work")
        .edge("work", "ask")
        .build()
        .unwrap()
}

fn above(inner: &Arc<Graph>) -> Arc<Graph> {
    Graph::builder("above")
        .subgraph(
            "inner",
            inner.clone(),
            |state, _cx| Update::new().set("topic", state.get("about").unwrap_or_default()),
            |state| Update::new().set("report", state.get("answer").unwrap_or_default()),
        )
        .edge(START, "inner")
        .build()
        .unwrap()
}

/// The events about nested graphs, in words.
fn graph_events(world: &World) -> Vec<String> {
    let events = world.events.take().into_iter();
    let words = events.filter_map(|(namespace, event)| match event {
        RunEvent::GraphStarted { graph, cause } => {
            Some(format!("{} {graph} started {cause:?}", namespace.depth()))
        }
        RunEvent::GraphEnded { outcome } => Some(format!("{} {outcome:?}", namespace.depth())),
        _ => None,
    });
    words.collect()
}

#[tokio::test]
async fn a_graph_inside_a_node_asks_at_the_root_and_goes_on_where_it_stood() {
    let (world, graph) = (World::new(), above(&asking()));
    let open = asked(start(&world, &graph, Update::new().set("about", "cats")).await);
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].value, json!("about \"cats\""));
    assert_eq!((open[0].namespace.depth(), &*open[0].node), (1, "ask"));
    let started = format!("1 asking started {:?}", Some(Cause::Edge { from_node: START.into() }));
    assert_eq!(
        graph_events(&world),
        [started.clone(), format!("1 {:?}", GraphOutcome::Interrupted)]
    );

    let outcome = resume(&world, &graph, Answers::from([(open[0].id, json!("fine"))])).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(outcome.state.values()["report"], json!("fine"));
    assert!(!outcome.state.values().contains_key("draft"));
    assert_eq!(graph_events(&world), [started, format!("1 {:?}", GraphOutcome::Completed)]);
    let below = world.saver.history(&open[0].namespace);
    assert_eq!(below.len(), 3, "its input, and a checkpoint a step");
}

#[tokio::test]
async fn all_graphs_below_ask_together_and_finished_ones_do_not_run_again() {
    let inner = asking();
    let quick = Graph::builder("quick")
        .node("quick", |_state, cx| async move {
            cx.custom(None, "quick").await;
            Ok(Update::new().set("n", 1))
        })
        .edge(START, "quick")
        .build()
        .unwrap();
    let graph = Graph::builder("above")
        .node("both", move |_state, cx| {
            let (inner, quick) = (inner.clone(), quick.clone());
            async move {
                let done = cx.run_subgraph(&quick, "q|1", Update::new(), None).await?;
                let topic = |topic: &str| Update::new().set("topic", topic);
                let (a, b) = join(
                    cx.run_subgraph(&inner, "a", topic("a"), None),
                    cx.run_subgraph(&inner, "b", topic("b"), None),
                )
                .await;
                let (a, b) = (a?.get("answer"), b?.get("answer"));
                Ok(Update::new().set("all", json!([done.get("n"), a, b])))
            }
        })
        .edge(START, "both")
        .build()
        .unwrap();
    let world = World::new();
    let open = asked(start(&world, &graph, Update::new()).await);
    assert_eq!(open.len(), 2);
    assert_eq!(customs(&world), ["quick", "worked", "worked"]);

    let still = asked(resume(&world, &graph, Answers::from([(open[1].id, json!("B"))])).await);
    assert_eq!(still, open[..1]);
    let answers = Answers::from([(open[0].id, json!("A")), (open[1].id, json!("B"))]);
    let outcome = resume(&world, &graph, answers).await;
    assert_eq!(outcome.state.values()["all"], json!([1, "A", "B"]));
    assert_eq!(customs(&world), [json!(null); 0]);
}

#[tokio::test]
async fn two_graphs_of_one_task_need_two_keys() {
    let inner = asking();
    let graph = Graph::builder("above")
        .node("twice", move |_state, cx| {
            let inner = inner.clone();
            async move {
                let _ = cx.run_subgraph(&inner, None, Update::new(), None).await;
                cx.run_subgraph(&inner, None, Update::new(), None).await?;
                Ok(())
            }
        })
        .edge(START, "twice")
        .build()
        .unwrap();
    let error = failure(start(&World::new(), &graph, Update::new()).await);
    assert!(error.message.contains("a key of its own"), "{}", error.message);
}

#[tokio::test]
async fn a_command_to_the_parent_ends_the_graph_and_moves_the_parent() {
    let inner = Graph::builder("inner")
        .node("hand_over", |_state, _cx| async move {
            Ok(Command::from(Update::new().set("note", "from below")).goto("other").to_parent())
        })
        .node("beside", |_state, _cx| async move { Ok(Update::new().set("own", true)) })
        .node("never", |_state, _cx| async move { Ok(Update::new().set("never", true)) })
        .edge(START, "hand_over")
        .edge(START, "beside")
        .edge("hand_over", "never")
        .build()
        .unwrap();
    let graph = Graph::builder("above")
        .subgraph("inner", inner, |_, _| Update::new(), |_| Update::new().set("mapped", true))
        .node("other", |_state, _cx| async move { Ok(Update::new().set("went", true)) })
        .goes_to("inner", ["other"])
        .edge(START, "inner")
        .build()
        .unwrap();
    let world = World::new();
    let outcome = start(&world, &graph, Update::new()).await;
    assert_eq!(json!(outcome.state.values()), json!({"note": "from below", "went": true}));
    let below = world.saver.namespaces().into_iter().find(|at| !at.is_root()).unwrap();
    let below = world.saver.snapshot(&below, None).unwrap();
    assert_eq!(json!(below.state.values()), json!({"own": true}));
}

#[tokio::test]
async fn the_root_has_no_parent_to_command() {
    let graph = Graph::builder("root")
        .node("up", |_state, _cx| async move { Ok(Command::new().goto(END).to_parent()) })
        .edge(START, "up")
        .build()
        .unwrap();
    assert_eq!(failure(start(&World::new(), &graph, Update::new()).await).code, "no_parent");
}

#[tokio::test]
async fn a_failure_below_keeps_its_code_and_every_graph_counts_its_own_steps() {
    let looping = Graph::builder("looping")
        .node("again", |_state, _cx| async move { Ok(()) })
        .edge(START, "again")
        .edge("again", "again")
        .build()
        .unwrap();
    let world = World::new();
    let graph = above(&looping);
    let begin =
        crate::engine::Begin { input: Some(Update::new()), ..crate::engine::Begin::default() };
    let run = crate::engine::port::RunContext { recursion_limit: 4, ..world.run() };
    let outcome = crate::engine::drive(&graph, begin, &run).await.unwrap();
    assert_eq!(failure(outcome).code, "recursion_limit");
    let below = world.saver.namespaces().into_iter().find(|at| !at.is_root()).unwrap();
    assert_eq!(world.saver.history(&below).len(), 5);
    let ended = graph_events(&world).pop().unwrap();
    assert_eq!(ended, format!("1 {:?}", GraphOutcome::Failed));
}

/// Calls a tool without a gate, then asks for another.
fn gated() -> Arc<Graph> {
    Graph::builder("gated")
        .channel("results", Channel::append())
        .node("tools", |_state, cx| async move {
            let free = cx
                .once("free", async {
                    cx.custom(None, "called").await;
                    Ok::<_, Halt>(7)
                })
                .await?;
            let first = cx.interrupt("first?")?;
            let second = cx.interrupt("second?")?;
            Ok(Update::new().set("results", json!([free, first, second])))
        })
        .edge(START, "tools")
        .build()
        .unwrap()
}

#[tokio::test]
async fn work_done_once_is_not_done_again_after_any_number_of_pauses() {
    let (world, graph) = (World::new(), gated());
    let mut answers = Answers::new();
    let mut outcome = start(&world, &graph, Update::new()).await;
    while let Ended::Paused(open) = &outcome.how {
        answers.insert(open[0].id, open[0].value.clone());
        outcome = resume(&world, &graph, answers.clone()).await;
    }
    assert_eq!(outcome.state.values()["results"], json!([7, "first?", "second?"]));
    assert_eq!(customs(&world), ["called"]);
}

#[tokio::test]
async fn what_a_task_keeps_outlives_a_change_of_the_state() {
    let (world, graph) = (World::new(), gated());
    let open = asked(start(&world, &graph, Update::new()).await);
    let id = CheckpointId(world.clock.uuid());
    let change = Update::new().set("k", 1);
    world.saver.keep(update::revise(&graph, world.newest(), change, None, id, Ts(0)).unwrap());
    let open = asked(resume(&world, &graph, Answers::from([(open[0].id, json!(1))])).await);
    assert_eq!(open[0].value, json!("second?"));
    assert_eq!(customs(&world), ["called"]);
    assert_eq!(world.newest().unwrap().state.values()["k"], json!(1));
}

#[tokio::test]
async fn nothing_is_kept_of_a_task_that_does_not_ask() {
    let graph = Graph::builder("once")
        .node("a", |_state, cx| async move {
            let value = cx.once("x", async { Ok(json!(1)) }).await?;
            Ok(Update::new().set("x", value))
        })
        .node("b", |_state, cx| async move { Ok(Update::new().set("y", cx.interrupt("?")?)) })
        .edge(START, "a")
        .edge(START, "b")
        .build()
        .unwrap();
    let world = World::new();
    asked(start(&world, &graph, Update::new()).await);
    let records = world.saver.snapshot(&Namespace::root(), None).unwrap().tasks;
    let mut nodes: Vec<_> = records.iter().map(|record| record.node.as_str()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["a", "b"]);
}
