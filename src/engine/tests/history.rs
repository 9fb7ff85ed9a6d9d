//! Histories: branches, changes by callers, and states rebuilt from what is kept.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::domain::checkpoint::{Place, Put, Snapshot, Source};
use crate::domain::ids::{CheckpointId, Namespace};
use crate::domain::{Error, IdGen, Ts};
use crate::engine::memory::World;
use crate::engine::tests::{resume, run, start};
use crate::engine::{Begin, Channel, Ended, Graph, START, Update, drive, read, update};

fn line() -> Arc<Graph> {
    let builder = Graph::builder("line").channel("ran", Channel::append());
    let builder = ["a", "b", "c"].into_iter().fold(builder, |builder, node| {
        builder.node(node, |_state, cx| async move { Ok(Update::new().push("ran", &**cx.node())) })
    });
    builder.edge(START, "a").edge("a", "b").edge("b", "c").build().unwrap()
}

fn history(world: &World) -> Vec<Put> {
    world.saver.history(&Namespace::root())
}

fn place(branch: i32, step: i64) -> Place {
    Place { branch, step }
}

fn revise(
    world: &World,
    graph: &Graph,
    update: Update,
    as_node: Option<&str>,
) -> Result<Snapshot, Error> {
    let id = CheckpointId(world.clock.uuid());
    world.saver.keep(update::revise(graph, world.newest(), update, as_node, id, Ts(1))?);
    Ok(world.newest().unwrap())
}

fn next(at: &Snapshot) -> Vec<String> {
    read::next(at).iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn every_checkpoint_shows_its_state_and_what_is_next() {
    let world = World::new();
    start(&world, &line(), Update::new()).await;
    let seen: Vec<_> = history(&world)
        .iter()
        .map(|put| {
            let at = world.saver.snapshot(&Namespace::root(), Some(put.checkpoint.id)).unwrap();
            (at.state.get("ran").unwrap_or_else(|| json!([])), next(&at).join(""))
        })
        .collect();
    let expected = [
        (json!([]), "a"),
        (json!(["a"]), "b"),
        (json!(["a", "b"]), "c"),
        (json!(["a", "b", "c"]), ""),
    ];
    assert_eq!(seen, expected.map(|(ran, next)| (ran, next.to_owned())));
}

#[tokio::test]
async fn a_run_from_an_old_checkpoint_is_a_branch_of_its_own() {
    let (world, graph) = (World::new(), line());
    start(&world, &graph, Update::new()).await;
    let old = history(&world)[1].checkpoint.id;
    let at = world.saver.snapshot(&Namespace::root(), Some(old));
    let outcome = drive(&graph, Begin { at, ..Begin::default() }, &world.run()).await.unwrap();
    assert_eq!(outcome.state.get("ran"), Some(json!(["a", "b", "c"])));
    let puts = history(&world);
    let branch: Vec<_> =
        puts[4..].iter().map(|put| (put.checkpoint.place, put.checkpoint.source)).collect();
    assert_eq!(
        branch,
        [(place(1, 1), Source::Fork), (place(1, 2), Source::Loop), (place(1, 3), Source::Loop)]
    );
    assert_eq!(puts[4].checkpoint.parent, Some(old));
    assert_eq!(puts[4].fork.map(|fork| (fork.branch, fork.from)), Some((1, place(0, 0))));
}

#[tokio::test]
async fn input_on_an_old_checkpoint_branches_too() {
    let (world, graph) = (World::new(), line());
    start(&world, &graph, Update::new()).await;
    let old = history(&world)[2].checkpoint.id;
    let at = world.saver.snapshot(&Namespace::root(), Some(old));
    let input = Some(Update::new().set("k", 1));
    let outcome = drive(&graph, Begin { at, input, ..Begin::default() }, &world.run()).await;
    let state = outcome.unwrap().state;
    assert_eq!(state.get("ran"), Some(json!(["a", "b", "a", "b", "c"])));
    assert_eq!(history(&world)[4].checkpoint.source, Source::Input);
    assert_eq!(history(&world)[4].checkpoint.place, place(1, 2));
    assert_eq!(world.newest().unwrap().state, state);
}

#[tokio::test]
async fn a_change_by_a_caller_leaves_what_is_due() {
    let (world, graph) = (World::new(), line());
    let at = revise(&world, &graph, Update::new().set("k", 1), None).unwrap();
    assert_eq!((at.checkpoint.source, next(&at)), (Source::Update, vec![]));
    assert_eq!(at.checkpoint.place, Place::FIRST);
    let outcome = run(&world, &graph, Begin::default()).await;
    assert_eq!(outcome.state.get("ran"), Some(json!(["a", "b", "c"])));
    assert_eq!(outcome.state.get("k"), Some(json!(1)));
}

#[tokio::test]
async fn a_change_as_a_node_makes_due_what_follows_the_node() {
    let (world, graph) = (World::new(), line());
    let at = revise(&world, &graph, Update::new().push("ran", "as a"), Some("a")).unwrap();
    assert_eq!(next(&at), ["b"]);
    let outcome = run(&world, &graph, Begin::default()).await;
    assert_eq!(outcome.state.get("ran"), Some(json!(["as a", "b", "c"])));
    let at = revise(&world, &graph, Update::new(), Some("a")).unwrap();
    assert_eq!(next(&at), ["b"]);
    let at = revise(&world, &graph, Update::new(), Some("__end__")).unwrap();
    assert_eq!(next(&at), [""; 0]);
    let at = revise(&world, &graph, Update::new(), Some("__start__")).unwrap();
    assert_eq!(next(&at), ["a"]);
}

#[test]
fn a_change_that_cannot_be_made_names_what_is_wrong() {
    let (world, graph) = (World::new(), line());
    let field = |update: Update, as_node| {
        revise(&world, &graph, update, as_node).unwrap_err().field.unwrap()
    };
    assert_eq!(field(Update::new(), Some("nowhere")), "as_node");
    assert_eq!(field(Update::new().push("k", 1), None), "values");
    let nameless = Update::new().set("messages", json!([{"role": "user"}, {"role": 7}]));
    assert_eq!(field(nameless, None), "messages[1].role");
    assert!(world.newest().is_none());
}

#[tokio::test]
async fn a_change_takes_in_what_finished_tasks_of_a_paused_step_left() {
    let graph = Graph::builder("pair")
        .node("asks", |_state, cx| async move { Ok(Update::new().set("said", cx.interrupt("?")?)) })
        .node("works", |_state, _cx| async move { Ok(Update::new().set("worked", true)) })
        .node("after", |_state, _cx| async move { Ok(Update::new().set("after", true)) })
        .edge(START, "asks")
        .edge(START, "works")
        .edge("works", "after")
        .build()
        .unwrap();
    let world = World::new();
    let open = crate::engine::tests::asked(start(&world, &graph, Update::new()).await);
    let at = revise(&world, &graph, Update::new().set("k", 1), None).unwrap();
    assert_eq!(json!(at.state.values()), json!({"k": 1, "worked": true}));
    assert_eq!(next(&at), ["asks", "after"]);
    let outcome = resume(&world, &graph, [(open[0].id, json!("yes"))].into()).await;
    assert_eq!(outcome.how, Ended::Done);
    let expected = json!({"k": 1, "worked": true, "after": true, "said": "yes"});
    assert_eq!(Value::Object(outcome.state.values()), expected);
}
