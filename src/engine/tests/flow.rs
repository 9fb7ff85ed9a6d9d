//! What follows what: fan-out, fan-in, inputs of their own, commands of nodes and callers.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::domain::ids::Namespace;
use crate::domain::run::Goto;
use crate::engine::memory::World;
use crate::engine::tests::{failure, run, start};
use crate::engine::{
    Begin, Builder, Channel, Command, END, Ended, Graph, Outcome, START, Update, send,
};

/// A graph of nodes that note their names in `ran`.
fn noting(nodes: &[&'static str]) -> Builder {
    let builder = Graph::builder("noting").channel("ran", Channel::append());
    nodes.iter().fold(builder, |builder, node| {
        builder.node(node, |_state, cx| async move { Ok(Update::new().push("ran", &**cx.node())) })
    })
}

fn ran(outcome: &Outcome) -> Value {
    outcome.state.get("ran").unwrap_or_default()
}

#[tokio::test]
async fn a_join_waits_for_all_of_its_sources_in_whichever_steps() {
    let graph = noting(&["a", "b1", "b2", "c"])
        .edge(START, "a")
        .edge(START, "b1")
        .edge("b1", "b2")
        .join(["a", "b2"], "c")
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(ran(&outcome), json!(["a", "b1", "b2", "c"]));
}

#[tokio::test]
async fn a_join_in_a_loop_waits_anew_each_time() {
    let graph = noting(&["a", "b", "c"])
        .edge(START, "a")
        .edge(START, "b")
        .join(["a", "b"], "c")
        .branch("c", ["a", "b", END], |state| {
            if state.entries("ran").len() < 6 { vec!["a", "b"] } else { vec![END] }
        })
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(ran(&outcome), json!(["a", "b", "c", "a", "b", "c"]));
}

#[tokio::test]
async fn two_joins_into_one_node_are_told_apart() {
    let graph = noting(&["a", "b", "c", "d"])
        .edge(START, "a")
        .edge(START, "b")
        .edge("b", "c")
        .join(["a", "b"], "d")
        .join(["b", "c"], "d")
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(ran(&outcome), json!(["a", "b", "c", "d", "d"]));
}

#[tokio::test]
async fn two_edges_to_one_node_run_it_once_a_step() {
    let graph = noting(&["a", "b", "c"])
        .edge(START, "a")
        .edge(START, "b")
        .edge("a", "c")
        .edge("b", "c")
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(ran(&outcome), json!(["a", "b", "c"]));
}

#[tokio::test]
async fn a_condition_fans_out_with_an_input_for_each_task() {
    let graph = Graph::builder("map")
        .channel("squares", Channel::append())
        .node("split", |_state, _cx| async move { Ok(()) })
        .node("square", |_state, cx| async move {
            let number: u64 = cx.input_as()?;
            assert_eq!(cx.came_from().map(|from| &**from), Some("split"));
            Ok(Update::new().push("squares", number * number))
        })
        .node("sum", |state, _cx| async move {
            let squares: Vec<u64> = state.get_as("squares").unwrap_or_default();
            Ok(Update::new().set("sum", squares.iter().sum::<u64>()))
        })
        .edge(START, "split")
        .branch("split", ["square"], |state| {
            let numbers: Vec<u64> = state.get_as("numbers").unwrap_or_default();
            numbers.into_iter().map(|number| send("square", number)).collect::<Vec<_>>()
        })
        .edge("square", "sum")
        .build()
        .unwrap();
    let outcome =
        start(&World::new(), &graph, Update::new().set("numbers", json!([3, 1, 2]))).await;
    assert_eq!(outcome.state.get("squares"), Some(json!([9, 1, 4])));
    assert_eq!(outcome.state.get("sum"), Some(json!(14)));
}

#[tokio::test]
async fn an_input_of_the_wrong_shape_fails_the_task() {
    let graph = Graph::builder("shape")
        .node("a", |_state, cx| async move {
            cx.input_as::<u64>()?;
            Ok(())
        })
        .edge(START, "a")
        .build()
        .unwrap();
    assert_eq!(failure(start(&World::new(), &graph, Update::new()).await).code, "node_error");
}

#[tokio::test]
async fn a_command_goes_where_it_says_beside_the_edges() {
    let graph = noting(&["edge", "told", "sent"])
        .node("first", |_state, _cx| async move {
            Ok(Command::from(Update::new().push("ran", "first")).goto("told").send("sent", 1))
        })
        .goes_to("first", ["told", "sent"])
        .edge(START, "first")
        .edge("first", "edge")
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(ran(&outcome), json!(["first", "told", "sent", "edge"]));
}

#[tokio::test]
async fn a_target_that_is_no_node_fails_the_run() {
    let graph = noting(&["a"])
        .node("lost", |_state, _cx| async move { Ok(Command::new().goto("nowhere")) })
        .edge(START, "lost")
        .edge(START, "a")
        .build()
        .unwrap();
    let error = failure(start(&World::new(), &graph, Update::new()).await);
    assert_eq!(error.code, "unknown_node");
    assert!(error.message.contains("`nowhere`"), "{}", error.message);
}

#[tokio::test]
async fn a_caller_sends_a_run_to_nodes_with_inputs() {
    let graph = noting(&["a", "b"]).edge(START, "a").edge("a", "b").build().unwrap();
    let world = World::new();
    start(&world, &graph, Update::new()).await;
    let goto = vec![Goto { node: "b".into(), input: Some(json!(1)) }];
    let update = Some(Update::new().set("k", "v"));
    let outcome = run(&world, &graph, Begin { update, goto, ..Begin::default() }).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(ran(&outcome), json!(["a", "b", "b"]));
    assert_eq!(outcome.state.get("k"), Some(json!("v")));
}

#[tokio::test]
async fn a_caller_commands_an_empty_thread() {
    let graph = noting(&["a", "b"]).edge(START, "a").edge("a", "b").build().unwrap();
    let goto = vec![Goto { node: "b".into(), input: None }];
    let outcome = run(&World::new(), &graph, Begin { goto, ..Begin::default() }).await;
    assert_eq!(ran(&outcome), json!(["b"]));
}

#[tokio::test]
async fn input_and_a_command_are_both_taken() {
    let graph = noting(&["a", "b", "c"]).edge(START, "a").edge("a", "b").edge("b", "c").build();
    let goto = vec![Goto { node: "c".into(), input: None }];
    let input = Some(Update::new().set("in", 1));
    let update = Some(Update::new().set("up", 2));
    let begin = Begin { input, update, goto, ..Begin::default() };
    let outcome = run(&World::new(), &graph.unwrap(), begin).await;
    assert_eq!(ran(&outcome), json!(["a", "b", "c", "c"]));
    assert_eq!(outcome.state.get("in"), Some(json!(1)));
    assert_eq!(outcome.state.get("up"), Some(json!(2)));
}

#[tokio::test]
async fn nodes_told_apart_by_a_number_know_theirs() {
    let graph = Graph::builder("numbered")
        .channel("ran", Channel::append())
        .nodes_numbered("n_", |_state, cx| async move {
            let next = match &**cx.node() {
                "n_1" => Command::new().goto("n_12"),
                _ => Command::new(),
            };
            Ok(Command { update: Update::new().push("ran", &**cx.node()), ..next })
        })
        .goes_to("n_", ["n_12"])
        .edge(START, "n_1")
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(ran(&outcome), json!(["n_1", "n_12"]));
    assert_eq!(graph.node_names().map(|name| &**name).collect::<Vec<_>>(), ["n_*"]);
}

#[tokio::test]
async fn an_entry_that_leads_to_the_end_takes_the_input_once() {
    let graph = noting(&["a"])
        .branch(START, ["a", END], |state| if state.get("go").is_some() { "a" } else { END })
        .build()
        .unwrap();
    let world = World::new();
    let outcome = start(&world, &graph, Update::new().set("k", 1)).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(world.saver.history(&Namespace::root()).len(), 1);
}

#[tokio::test]
async fn a_run_without_input_starts_over_on_what_is_there() {
    let graph: Arc<Graph> = noting(&["a"]).edge(START, "a").build().unwrap();
    let world = World::new();
    start(&world, &graph, Update::new().set("k", 1)).await;
    let outcome = run(&world, &graph, Begin::default()).await;
    assert_eq!(ran(&outcome), json!(["a", "a"]));
    assert_eq!(outcome.state.get("k"), Some(json!(1)));
}
