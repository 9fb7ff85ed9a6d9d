//! The engine's tests, on worlds in memory.

mod basics;
mod building;
mod channels;
mod crash;
mod failing;
mod flow;
mod history;
mod log;
mod pauses;
mod random;
mod subgraphs;

use std::sync::Arc;

use serde_json::Value;

use crate::domain::checkpoint::Answers;
use crate::domain::event::RunEvent;
use crate::domain::interrupt::Interrupt;
use crate::domain::run::RunError;
use crate::engine::memory::World;
use crate::engine::{Begin, Ended, Graph, Outcome, Update, drive};

/// A new run with this input.
async fn start(world: &World, graph: &Arc<Graph>, input: Update) -> Outcome {
    world.start(graph, input).await.unwrap()
}

/// A new run with these answers.
async fn resume(world: &World, graph: &Arc<Graph>, answers: Answers) -> Outcome {
    world.resume(graph, answers).await.unwrap()
}

/// A new run from the thread's newest checkpoint.
async fn run(world: &World, graph: &Arc<Graph>, begin: Begin) -> Outcome {
    let begin = Begin { at: world.newest(), ..begin };
    drive(graph, begin, &world.run()).await.unwrap()
}

/// What a run stopped at.
fn asked(outcome: Outcome) -> Vec<Interrupt> {
    match outcome.how {
        Ended::Paused(interrupts) => interrupts,
        how => panic!("not paused: {how:?}"),
    }
}

/// How a run failed.
fn failure(outcome: Outcome) -> RunError {
    match outcome.how {
        Ended::Failed(error) => error,
        how => panic!("not failed: {how:?}"),
    }
}

/// What nodes wrote for whoever watches, since this was last called.
fn customs(world: &World) -> Vec<Value> {
    let events = world.events.take().into_iter();
    let payloads = events.filter_map(|(_, event)| match event {
        RunEvent::Custom { payload, .. } => Some(payload),
        _ => None,
    });
    payloads.collect()
}
