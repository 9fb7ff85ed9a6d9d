//! What a step costs inside the engine: planning it, folding what its tasks wrote, and folding a
//! stored change (`new`: 64 of them). None of it may depend on how long the conversation already
//! is, but for the one copy of the list in the first step of a run (`apply_shared`).

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use runloom::domain::checkpoint::{Answers, Source};
use runloom::domain::{Change, CheckpointId, Message, Namespace, Op, State, Ts};
use runloom::engine::apply::{Done, apply};
use runloom::engine::memory::World;
use runloom::engine::plan::plan;
use runloom::engine::stand::{Stamp, Stand};
use runloom::engine::{BuildError, Graph, START, Update};
use uuid::Uuid;

/// How many messages the thread has.
const LENGTHS: [usize; 3] = [10, 1_000, 10_000];

fn id(ordinal: usize) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, &ordinal.to_be_bytes()).to_string()
}

fn says(ordinal: usize) -> Message {
    Message::assistant(id(ordinal), "a sentence of no great length")
}

fn put(ordinal: usize) -> Change {
    let message = says(ordinal);
    let (key, value) = (message.id.as_str().into(), Arc::new(message.to_value()));
    Change { channel: "messages".into(), op: Op::Put { key, value } }
}

fn graph() -> Result<Arc<Graph>, BuildError> {
    Graph::builder("bench")
        .node("say", |_state, _cx| async move { Ok(()) })
        .node("check", |_state, _cx| async move { Ok(()) })
        .edge(START, "say")
        .branch("say", ["say", "check"], |state| if state.is_empty() { "say" } else { "check" })
        .build()
}

fn state(messages: usize) -> State {
    let mut state = State::default();
    for ordinal in 0..messages {
        state.apply(&put(ordinal));
    }
    state
}

fn stamp() -> Stamp {
    let (id, source) = (CheckpointId(Uuid::nil()), Source::Loop);
    Stamp { id, at: Ts(0), source, run_id: None, made: 1 }
}

/// A graph that stands before the node `say`.
fn stand(graph: &Graph, messages: usize) -> Stand {
    let mut stand = Stand::new(Namespace::root(), None);
    stand.state = state(messages);
    let input = Done::new(START, Update::new());
    // Nothing is written, so nothing can be refused.
    let _ = apply(graph, &mut stand, &[input], stamp());
    stand
}

fn steps(criterion: &mut Criterion) {
    let Ok(graph) = graph() else { return };
    let mut group = criterion.benchmark_group("step");
    for messages in LENGTHS {
        let stand = stand(&graph, messages);
        let done = [Done::new("say", Update::new().message(says(messages)))];
        group.bench_with_input(BenchmarkId::new("plan", messages), &stand, |bench, stand| {
            bench.iter(|| plan(black_box(stand), &Answers::new()));
        });
        // The state is shared with nobody, as in the middle of a run.
        group.bench_with_input(BenchmarkId::new("apply", messages), &stand, |bench, stand| {
            let own = Stand { state: state(messages), ..stand.clone() };
            let mut own = Some(own);
            bench.iter(|| {
                let mut at = own.take().unwrap_or_else(|| stand.clone());
                let put = apply(&graph, &mut at, black_box(&done), stamp());
                own = Some(Stand { checkpoint: stand.checkpoint.clone(), ..at });
                put
            });
        });
        // The state is shared, as with the thread's cache in the first step of a run.
        group.bench_with_input(
            BenchmarkId::new("apply_shared", messages),
            &stand,
            |bench, stand| {
                bench.iter_batched_ref(
                    || stand.clone(),
                    |stand| apply(&graph, stand, black_box(&done), stamp()),
                    BatchSize::SmallInput,
                );
            },
        );
    }
    group.finish();
}

fn folds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fold");
    for messages in LENGTHS {
        group.bench_with_input(BenchmarkId::new("new", messages), &messages, |bench, messages| {
            let changes: Vec<Change> = (*messages..messages + 64).map(put).collect();
            let base = state(*messages);
            bench.iter_batched_ref(
                || {
                    // Written to once, so that it is shared with nobody.
                    let mut own = base.clone();
                    own.apply(&put(0));
                    own
                },
                |own| changes.iter().for_each(|change| own.apply(black_box(change))),
                BatchSize::SmallInput,
            );
        });
        let replacing = put(messages / 2);
        group.bench_with_input(BenchmarkId::new("replaced", messages), &replacing, |bench, put| {
            let mut own = state(messages);
            bench.iter(|| own.apply(black_box(put)));
        });
        let changes: Vec<Change> = (0..messages).map(put).collect();
        group.bench_with_input(
            BenchmarkId::new("history", messages),
            &changes,
            |bench, changes| {
                bench.iter(|| {
                    let mut state = State::default();
                    for change in changes {
                        state.apply(black_box(change));
                    }
                    state
                });
            },
        );
    }
    group.finish();
}

/// A whole run of two steps, in a world in memory.
fn runs(criterion: &mut Criterion) {
    let (Ok(graph), Ok(runtime)) = (graph(), tokio::runtime::Runtime::new()) else { return };
    criterion.bench_function("run/two_steps", |bench| {
        bench.to_async(&runtime).iter(|| async {
            let input = Update::new().message(says(0));
            World::new().start(&graph, input).await.is_ok()
        });
    });
}

criterion_group!(benches, steps, folds, runs);
criterion_main!(benches);
