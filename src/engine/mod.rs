//! The graph engine: super-steps over nodes and channels, without HTTP, SQL or a clock of its own.
//!
//! A *graph* has *nodes* and *channels*. A *step* runs the *tasks* that are due, each a node with
//! its input; their *writes* are folded into the channels by the channels' reducers, and a
//! *checkpoint* of the result names what is due next.

pub mod port;

use std::sync::Arc;

use crate::domain::checkpoint::{Answers, Snapshot};
use crate::domain::error::Result;
use crate::domain::ids::CheckpointId;
use crate::domain::interrupt::Interrupt;
use crate::domain::run::{Goto, RunError};
use crate::domain::state::State;

/// A compiled graph (stands for the real one until it is written).
pub struct Graph;
/// What a node or a caller writes: channel by channel.
#[derive(Clone, Default, Debug)]
pub struct Update;

/// How a run of a graph begins.
#[derive(Default)]
pub struct Begin {
    /// Where the thread stands; `None` if nothing was written yet.
    pub at: Option<Snapshot>,
    /// Taken in as a checkpoint of source `input`, after which the graph starts at its entry.
    /// `None`: go on from where the thread stands, or start on what is there.
    pub input: Option<Update>,
    /// Applied in the same step as the resumed tasks.
    pub update: Option<Update>,
    pub goto: Vec<Goto>,
    /// All answers given so far on this thread that its open tasks may ask for.
    pub answers: Answers,
}

/// How a run of a graph ended.
pub struct Outcome {
    pub how: Ended,
    /// The newest checkpoint.
    pub head: Option<CheckpointId>,
    pub state: State,
}

pub enum Ended {
    /// Nothing is due any more.
    Done,
    /// Stopped at interrupts: all that are open, of every namespace.
    Paused(Vec<Interrupt>),
    Failed(RunError),
    /// The stop token fired.
    Stopped,
}

/// Runs `graph` until nothing is due, it pauses, fails, or is stopped.
///
/// # Errors
/// Only what the ports answer: the claim is lost, storage is away.
pub async fn drive(_graph: &Arc<Graph>, _begin: Begin, _cx: &port::RunContext) -> Result<Outcome> {
    todo!()
}
