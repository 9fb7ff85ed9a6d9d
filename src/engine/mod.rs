//! The graph engine: super-steps over nodes and channels, without HTTP, SQL or a clock of its own.
//!
//! A *graph* has *nodes* and *channels*. A *step* runs the *tasks* that are due, each a node with
//! its input; their *writes* are folded into the channels by the channels' reducers, and a
//! *checkpoint* of the result names what is due next (its *frontier*).
//!
//! [`plan`](plan::plan) and [`apply`](apply::apply) are pure; [`drive`](drive()) is the one loop around
//! them. What it needs of the world are the ports of [`port`].

pub mod apply;
mod begin;
mod build;
mod channel;
mod check;
mod cx;
mod draw;
mod drive;
mod graph;
mod halt;
mod keep;
pub mod memory;
mod messages;
mod node;
mod pause;
pub mod plan;
pub mod port;
pub mod read;
mod retry;
mod schema;
mod scope;
pub mod stand;
mod step;
mod stream;
mod subgraph;
mod task;
mod tool;
pub mod update;
mod walk;
mod write;

#[cfg(test)]
mod tests;

/// How graphs are written, by example.
#[doc = include_str!("../../docs/graphs.md")]
pub mod guide {}

pub use build::Builder;
pub use channel::{Channel, is_full};
pub use check::BuildError;
pub use cx::Cx;
pub use drive::drive;
pub use graph::{END, Graph, START};
pub use halt::{Halt, NodeError};
pub use node::Node;
pub use retry::Retry;
pub use schema::{Schemas, schema_of};
pub use stream::MessageWriter;
pub use tool::ToolCall;
pub use write::{ALL_MESSAGES, Act, Command, Route, Update, Write, send};

use crate::domain::checkpoint::{Answers, Snapshot};
use crate::domain::ids::CheckpointId;
use crate::domain::interrupt::Interrupt;
use crate::domain::run::{Goto, RunError};
use crate::domain::state::State;

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
#[derive(Debug)]
pub struct Outcome {
    pub how: Ended,
    /// The newest checkpoint.
    pub head: Option<CheckpointId>,
    pub state: State,
}

impl Outcome {
    /// What the run waits for; nothing unless it is paused.
    pub fn interrupts(&self) -> &[Interrupt] {
        match &self.how {
            Ended::Paused(interrupts) => interrupts,
            Ended::Done | Ended::Failed(_) | Ended::Stopped => &[],
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Ended {
    /// Nothing is due any more.
    Done,
    /// Stopped at interrupts: all that are open, of every namespace.
    Paused(Vec<Interrupt>),
    Failed(RunError),
    /// The stop token fired, or the drain token before a step.
    Stopped,
}
