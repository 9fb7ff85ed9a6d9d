//! Crashes at every write: the run dies at its k-th write or event, before or after that took
//! effect, and is taken over as the executor would. State and log come out as if nothing had
//! happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{Either, select};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::domain::checkpoint::{Answers, Put, Snapshot, TaskRecord};
use crate::domain::error::Result;
use crate::domain::event::RunEvent;
use crate::domain::ids::Namespace;
use crate::domain::interrupt::Interrupt;
use crate::domain::ports::{BoxFuture, Emitter};
use crate::engine::memory::World;
use crate::engine::port::{Checkpointer, RunContext};
use crate::engine::tests::log::{self, Attempt};
use crate::engine::{
    Begin, Channel, Command, END, Ended, Graph, Outcome, START, Update, drive, send,
};

/// The world as a process sees it that dies at its `at`-th write or event.
struct Dying {
    world: World,
    at: usize,
    /// Whether the fatal write still takes effect.
    lands: bool,
    writes: AtomicUsize,
    dead: Notify,
}

impl Dying {
    fn new(world: &World, at: usize, lands: bool) -> Arc<Self> {
        let (writes, dead) = (AtomicUsize::new(0), Notify::new());
        Arc::new(Self { world: world.clone(), at, lands, writes, dead })
    }

    /// Does `write` unless this process is dead; returns only if it lives on.
    async fn live<T>(&self, write: impl Future<Output = T>) -> T {
        let ordinal = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        if ordinal < self.at {
            return write.await;
        }
        if ordinal == self.at && self.lands {
            write.await;
        }
        self.dead.notify_one();
        std::future::pending().await
    }
}

impl Checkpointer for Dying {
    fn load<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Option<Snapshot>>> {
        self.world.saver.load(namespace)
    }

    fn put(&self, put: Put) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.live(self.world.saver.put(put)))
    }

    fn put_task<'a>(
        &'a self,
        namespace: &'a Namespace,
        record: TaskRecord,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.live(self.world.saver.put_task(namespace, record)))
    }
}

impl Emitter for Dying {
    fn emit<'a>(&'a self, namespace: &'a Namespace, event: RunEvent) -> BoxFuture<'a, ()> {
        Box::pin(self.live(self.world.events.emit(namespace, event)))
    }
}

/// What a run brings, again at every attempt.
#[derive(Clone, Default)]
pub(super) struct Brings {
    pub(super) input: Option<Update>,
    pub(super) update: Option<Update>,
    pub(super) answers: Answers,
}

/// Drives one run to its end over crashes at the writes `deaths`, one an attempt. Answers how it
/// ended, and its log; `None` if an attempt was to die at a write that it did not come to.
pub(super) async fn survive(
    world: &World,
    graph: &Arc<Graph>,
    brings: &Brings,
    deaths: &[(usize, bool)],
) -> Option<(Outcome, Vec<Attempt>)> {
    let (context, mut attempts) = (world.run(), Vec::new());
    world.events.take();
    for (place, death) in deaths.iter().map(Some).chain([None]).enumerate() {
        let (at, lands) = death.copied().unwrap_or((usize::MAX, false));
        let dying = Dying::new(world, at, lands);
        let attempt = u32::try_from(place).unwrap() + 1;
        let context =
            RunContext { attempt, saver: dying.clone(), emitter: dying.clone(), ..context.clone() };
        let Brings { input, update, answers } = brings.clone();
        let begin = Begin { at: world.newest(), input, update, answers, ..Begin::default() };
        let driven = Box::pin(drive(graph, begin, &context));
        let came = select(driven, Box::pin(dying.dead.notified())).await;
        attempts.push(Attempt { events: world.events.take() });
        match came {
            Either::Left((outcome, _)) if death.is_none() => {
                return Some((outcome.unwrap(), attempts));
            }
            Either::Left(_) => return None,
            Either::Right(_) => {}
        }
    }
    None
}

/// What a whole conversation leaves: how each run ended, its state, and its log.
type Left = Vec<(String, Value, Vec<Value>)>;

/// Runs `graph` with its input, then with an answer to each pause, until it is done. The run of
/// number `dying` dies at its `at`-th write.
async fn conversation(graph: &Arc<Graph>, dying: usize, at: usize, lands: bool) -> Option<Left> {
    let world = World::new();
    let mut brings = Brings { input: Some(Update::new().set("in", 1)), ..Brings::default() };
    let mut left = Vec::new();
    loop {
        let deaths: &[_] = if left.len() == dying { &[(at, lands)] } else { &[] };
        let (outcome, attempts) = survive(&world, graph, &brings, deaths).await?;
        let kept = world.newest().map(|newest| newest.state).unwrap_or_default();
        assert_eq!(kept, outcome.state, "what is kept is what the run ended with");
        let log = log::valid(&world, &attempts);
        let state = Value::Object(outcome.state.to_object());
        match outcome.how {
            Ended::Paused(open) => {
                left.push((format!("asks {:?}", values(&open)), state, log));
                let answers = open.iter().map(|asked| (asked.id, json!(["yes", asked.value])));
                brings.answers.extend(answers);
                brings.input = None;
                brings.update = Some(Update::new().push("notes", "resumed"));
            }
            how => {
                left.push((format!("{how:?}"), state, log));
                return Some(left);
            }
        }
    }
}

fn values(open: &[Interrupt]) -> Vec<&Value> {
    open.iter().map(|asked| &asked.value).collect()
}

/// Lets every run of the conversation die at every of its writes.
async fn dies_everywhere(graph: &Arc<Graph>) {
    let whole = conversation(graph, usize::MAX, 0, false).await.unwrap();
    let mut crashes = 0;
    for dying in 0..whole.len() {
        for lands in [false, true] {
            let mut at = 1;
            while let Some(left) = conversation(graph, dying, at, lands).await {
                assert_same(&whole, &left, dying, at, lands);
                crashes += 1;
                at += 1;
            }
        }
    }
    assert!(crashes > whole.len() * 4, "only {crashes} crashes");
}

fn assert_same(whole: &Left, left: &Left, dying: usize, at: usize, lands: bool) {
    assert_eq!(whole.len(), left.len(), "run {dying}, write {at}, lands: {lands}");
    for (whole, left) in whole.iter().zip(left) {
        assert_eq!(whole, left, "run {dying}, write {at}, lands: {lands}");
    }
}

/// Nodes that note their names.
fn noting(nodes: &[&'static str]) -> crate::engine::Builder {
    let builder = Graph::builder("noting")
        .channel("ran", Channel::append())
        .channel("notes", Channel::append());
    nodes.iter().fold(builder, |builder, node| {
        builder.node(node, |_state, cx| async move {
            cx.custom(None, "at work").await;
            Ok(Update::new().push("ran", &**cx.node()))
        })
    })
}

#[tokio::test]
async fn a_line_survives_a_crash_at_every_write() {
    let graph = noting(&["a", "b", "c"]).edge(START, "a").edge("a", "b").edge("b", "c").build();
    dies_everywhere(&graph.unwrap()).await;
}

#[tokio::test]
async fn a_condition_survives_a_crash_at_every_write() {
    let graph = noting(&["again", "last"])
        .edge(START, "again")
        .branch("again", ["again", "last"], |state| {
            if state.entries("ran").len() < 3 { "again" } else { "last" }
        })
        .edge("last", END)
        .build();
    dies_everywhere(&graph.unwrap()).await;
}

#[tokio::test]
async fn fan_out_and_fan_in_survive_a_crash_at_every_write() {
    let graph = noting(&["a", "b", "slow", "slower", "c"])
        .node("square", |_state, cx| async move {
            let number: u64 = cx.input_as()?;
            Ok(Update::new().push("ran", number * number))
        })
        .branch(START, ["a", "b", "slow", "square"], |_state| {
            let mut targets = crate::engine::Route::from(vec!["a", "b", "slow"]).0;
            targets.extend([send("square", 2), send("square", 3)]);
            targets
        })
        .edge("slow", "slower")
        .join(["a", "b", "slower"], "c")
        .build();
    dies_everywhere(&graph.unwrap()).await;
}

#[tokio::test]
async fn questions_survive_a_crash_at_every_write() {
    let graph = noting(&["works", "after"])
        .node("asks", |_state, cx| async move {
            let free = cx.once("free", async { Ok("free".to_owned()) }).await?;
            let (first, second) = (cx.interrupt("1?")?, cx.interrupt("2?")?);
            Ok(Update::new().push("ran", json!([free, first, second])))
        })
        .node(
            "asks_too",
            |_state, cx| async move { Ok(Update::new().push("ran", cx.interrupt("3?")?)) },
        )
        .edge(START, "asks")
        .edge(START, "works")
        .edge(START, "asks_too")
        .join(["asks", "works"], "after")
        .build();
    dies_everywhere(&graph.unwrap()).await;
}

#[tokio::test]
async fn graphs_below_survive_a_crash_at_every_write() {
    let leaf = noting(&["x", "y"])
        .node(
            "ask",
            |_state, cx| async move { Ok(Update::new().push("ran", cx.interrupt("below?")?)) },
        )
        .edge(START, "x")
        .edge(START, "y")
        .join(["x", "y"], "ask")
        .build()
        .unwrap();
    let handing = noting(&["z"])
        .node("hand", |_state, _cx| async move {
            Ok(Command::from(Update::new().push("ran", "handed")).goto("last").to_parent())
        })
        .edge(START, "z")
        .edge("z", "hand")
        .build()
        .unwrap();
    let pass = |state: &crate::domain::State| {
        Update::new().set("ran", state.get("ran").unwrap_or_else(|| json!([])))
    };
    let middle = noting(&["m"])
        .subgraph("leaf", leaf, |_, _| Update::new(), pass)
        .edge(START, "leaf")
        .edge("leaf", "m")
        .build()
        .unwrap();
    let graph = noting(&["beside", "last"])
        .subgraph("middle", middle, |_, _| Update::new(), pass)
        .subgraph("handing", handing, |_, _| Update::new(), pass)
        .goes_to("handing", ["last"])
        .edge(START, "middle")
        .edge(START, "beside")
        .edge("middle", "handing")
        .build();
    dies_everywhere(&graph.unwrap()).await;
}
