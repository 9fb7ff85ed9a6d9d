//! Pauses: several questions open at once, breakpoints, and what else may happen to a paused
//! thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::domain::checkpoint::{Answers, Source};
use crate::domain::ids::Namespace;
use crate::domain::interrupt::Interrupt;
use crate::domain::run::{Breakpoints, Goto};
use crate::engine::memory::World;
use crate::engine::port::RunContext;
use crate::engine::tests::{asked, failure, resume, run, start};
use crate::engine::{Begin, Channel, Ended, Graph, Outcome, START, Update, drive, read};

/// Nodes `a`, `b` and `c` side by side, each with a question of its own.
fn three() -> Arc<Graph> {
    let builder = Graph::builder("three").channel("said", Channel::append());
    let builder = ["a", "b", "c"].into_iter().fold(builder, |builder, node| {
        let builder = builder.node(node, |_state, cx| async move {
            let answer = cx.interrupt(format!("{}?", cx.node()))?;
            Ok(Update::new().push("said", answer))
        });
        builder.edge(START, node)
    });
    builder.build().unwrap()
}

fn answer(to: &[&Interrupt]) -> Answers {
    to.iter().map(|interrupt| (interrupt.id, json!(format!("!{}", interrupt.node)))).collect()
}

fn questions(open: &[Interrupt]) -> Vec<&Value> {
    open.iter().map(|interrupt| &interrupt.value).collect()
}

#[tokio::test]
async fn several_open_questions_are_answered_one_by_one_in_any_order() {
    let (world, graph) = (World::new(), three());
    let open = asked(start(&world, &graph, Update::new()).await);
    assert_eq!(questions(&open), ["a?", "b?", "c?"]);
    let mut answers = answer(&[&open[2]]);
    let rest = asked(resume(&world, &graph, answers.clone()).await);
    assert_eq!(rest, open[..2], "the others keep their ids");
    answers.extend(answer(&[&open[0]]));
    let rest = asked(resume(&world, &graph, answers.clone()).await);
    assert_eq!(rest, open[1..2]);
    answers.extend(answer(&[&open[1]]));
    let outcome = resume(&world, &graph, answers).await;
    assert_eq!(outcome.state.get("said"), Some(json!(["!a", "!b", "!c"])));
}

#[tokio::test]
async fn several_open_questions_are_answered_together() {
    let (world, graph) = (World::new(), three());
    let open = asked(start(&world, &graph, Update::new()).await);
    let outcome = resume(&world, &graph, answer(&open.iter().collect::<Vec<_>>())).await;
    assert_eq!(outcome.state.get("said"), Some(json!(["!a", "!b", "!c"])));
}

#[tokio::test]
async fn one_node_may_have_several_questions_open() {
    let graph = Graph::builder("both")
        .node("both", |_state, cx| async move {
            let (first, second) = (cx.interrupt("first?"), cx.interrupt("second?"));
            Ok(Update::new().set("all", json!([first?, second?])))
        })
        .edge(START, "both")
        .build()
        .unwrap();
    let world = World::new();
    let open = asked(start(&world, &graph, Update::new()).await);
    assert_eq!(questions(&open), ["first?", "second?"]);
    let mut answers = Answers::from([(open[1].id, json!(2))]);
    assert_eq!(asked(resume(&world, &graph, answers.clone()).await), open[..1]);
    answers.insert(open[0].id, json!(1));
    assert_eq!(resume(&world, &graph, answers).await.state.get("all"), Some(json!([1, 2])));
}

#[tokio::test]
async fn a_node_that_asks_and_goes_on_waits_all_the_same() {
    let graph = Graph::builder("stubborn")
        .node("stubborn", |_state, cx| async move {
            let answer = cx.interrupt("?").unwrap_or_default();
            Ok(Update::new().set("answer", answer))
        })
        .edge(START, "stubborn")
        .build()
        .unwrap();
    assert_eq!(asked(start(&World::new(), &graph, Update::new()).await).len(), 1);
}

#[tokio::test]
async fn a_resume_that_answers_nothing_asks_the_same_again() {
    let (world, graph) = (World::new(), three());
    let open = asked(start(&world, &graph, Update::new()).await);
    assert_eq!(asked(resume(&world, &graph, Answers::new()).await), open);
    assert_eq!(world.saver.history(&Namespace::root()).len(), 1);
}

#[tokio::test]
async fn an_update_beside_the_answers_is_written_with_their_step() {
    let (world, graph) = (World::new(), three());
    let open = asked(start(&world, &graph, Update::new()).await);
    let update = Some(Update::new().push("said", "by the caller"));
    let answers = answer(&[&open[0], &open[1]]);
    let begin = Begin { answers: answers.clone(), update, ..Begin::default() };
    assert_eq!(asked(run(&world, &graph, begin).await), open[2..]);
    assert_eq!(world.newest().unwrap().state.get("said"), None, "its step is not over");
    let answers = answers.into_iter().chain(answer(&[&open[2]])).collect();
    let outcome = resume(&world, &graph, answers).await;
    assert_eq!(outcome.state.get("said"), Some(json!(["!a", "!b", "!c", "by the caller"])));
}

#[tokio::test]
async fn an_update_without_answers_leaves_the_questions_open() {
    let (world, graph) = (World::new(), three());
    let open = asked(start(&world, &graph, Update::new()).await);
    let update = Some(Update::new().set("k", 1));
    let begin = Begin { update, ..Begin::default() };
    assert_eq!(asked(run(&world, &graph, begin).await), open);
    let newest = world.newest().unwrap();
    assert_eq!(newest.checkpoint.source, Source::Update);
    assert_eq!(newest.state.get("k"), Some(json!(1)));
    let outcome = resume(&world, &graph, answer(&open.iter().collect::<Vec<_>>())).await;
    assert_eq!(outcome.state.get("said"), Some(json!(["!a", "!b", "!c"])));
}

#[tokio::test]
async fn a_goto_without_answers_goes_past_the_questions() {
    let (world, graph) = (World::new(), three());
    asked(start(&world, &graph, Update::new()).await);
    let goto = vec![Goto { node: "b".into(), input: None }];
    let open = asked(run(&world, &graph, Begin { goto, ..Begin::default() }).await);
    assert_eq!(questions(&open), ["b?"]);
}

#[tokio::test]
async fn input_on_a_paused_thread_abandons_the_pause() {
    let (world, graph) = (World::new(), three());
    let old = asked(start(&world, &graph, Update::new()).await);
    let new = asked(start(&world, &graph, Update::new().set("k", 1)).await);
    let ids = |open: &[Interrupt]| open.iter().map(|asked| asked.id).collect::<BTreeSet<_>>();
    assert!(ids(&old).is_disjoint(&ids(&new)));
    let outcome = resume(&world, &graph, answer(&new.iter().collect::<Vec<_>>())).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(outcome.state.get("k"), Some(json!(1)));
}

#[tokio::test]
async fn what_is_pending_can_be_read() {
    let (world, graph) = (World::new(), three());
    let open = asked(start(&world, &graph, Update::new()).await);
    asked(resume(&world, &graph, answer(&[&open[1]])).await);
    let tasks = read::tasks(&world.newest().unwrap());
    let seen: Vec<_> =
        tasks.iter().map(|task| (&*task.node, task.done, questions(&task.interrupts))).collect();
    assert_eq!(
        seen,
        [("a", false, vec![&json!("a?")]), ("b", true, vec![]), ("c", false, vec![&json!("c?")])]
    );
    let next = read::next(&world.newest().unwrap());
    assert_eq!(next.iter().map(|node| &**node).collect::<Vec<_>>(), ["a", "c"]);
}

fn line() -> Arc<Graph> {
    let builder = Graph::builder("line").channel("ran", Channel::append());
    let builder = ["a", "b", "c"].into_iter().fold(builder, |builder, node| {
        builder.node(node, |_state, cx| async move { Ok(Update::new().push("ran", &**cx.node())) })
    });
    builder.edge(START, "a").edge("a", "b").edge("b", "c").build().unwrap()
}

/// A run that pauses before and after these nodes.
async fn stopping(
    world: &World,
    graph: &Arc<Graph>,
    before: Breakpoints,
    after: Breakpoints,
    begin: Begin,
) -> Outcome {
    let context = RunContext { interrupt_before: before, interrupt_after: after, ..world.run() };
    drive(graph, Begin { at: world.newest(), ..begin }, &context).await.unwrap()
}

fn nodes(names: &[&str]) -> Breakpoints {
    Breakpoints::Nodes(names.iter().map(|name| (*name).to_owned()).collect())
}

fn ran(world: &World) -> Value {
    world.newest().unwrap().state.get("ran").unwrap_or_else(|| json!([]))
}

#[tokio::test]
async fn a_run_pauses_before_and_after_the_nodes_its_caller_names() {
    let (world, graph) = (World::new(), line());
    let breaks = || (nodes(&["b"]), nodes(&["b"]));
    let begin = Begin { input: Some(Update::new()), ..Begin::default() };
    let open = asked(stopping(&world, &graph, breaks().0, breaks().1, begin).await);
    assert_eq!(open[0].value, json!({"breakpoint": "before", "nodes": ["b"]}));
    assert_eq!((&*open[0].node, open[0].task_id), ("b", None));
    assert_eq!(ran(&world), json!(["a"]));
    let open = asked(stopping(&world, &graph, breaks().0, breaks().1, Begin::default()).await);
    assert_eq!(open[0].value, json!({"breakpoint": "after", "nodes": ["b"]}));
    assert_eq!(ran(&world), json!(["a", "b"]));
    let outcome = stopping(&world, &graph, breaks().0, breaks().1, Begin::default()).await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(ran(&world), json!(["a", "b", "c"]));
}

#[tokio::test]
async fn an_answered_breakpoint_is_passed_and_the_next_one_is_not() {
    let (world, graph) = (World::new(), line());
    let begin = Begin { input: Some(Update::new()), ..Begin::default() };
    let mut open =
        asked(stopping(&world, &graph, Breakpoints::All, Breakpoints::None, begin).await);
    let mut answers = Answers::new();
    for expected in [json!(["a"]), json!(["a", "b"])] {
        answers.insert(open[0].id, json!(null));
        let begin = Begin { answers: answers.clone(), ..Begin::default() };
        open = asked(stopping(&world, &graph, Breakpoints::All, Breakpoints::None, begin).await);
        assert_eq!(ran(&world), expected);
    }
}

#[tokio::test]
async fn nothing_pauses_after_the_last_node() {
    let (world, graph) = (World::new(), line());
    let begin = Begin { input: Some(Update::new()), ..Begin::default() };
    let outcome = stopping(&world, &graph, Breakpoints::None, nodes(&["c"]), begin).await;
    assert_eq!(outcome.how, Ended::Done);
}

#[tokio::test]
async fn a_halt_that_asks_for_nothing_is_a_failure() {
    let graph = Graph::builder("leak")
        .node("leak", |_state, _cx| async move { Err::<(), _>(crate::engine::Halt::asks()) })
        .edge(START, "leak")
        .build()
        .unwrap();
    let error = failure(start(&World::new(), &graph, Update::new()).await);
    assert!(error.message.contains("did not ask for"), "{}", error.message);
}
