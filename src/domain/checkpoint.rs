//! One entry of a thread's history, without the state: that is the fold of the changes before it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::clock::Ts;
use crate::domain::ids::{CheckpointId, InterruptId, Namespace, RunId, TaskId};
use crate::domain::interrupt::Interrupt;
use crate::domain::state::{Change, State};

/// Where a checkpoint comes from. Streaming CDDL, section 12 (`CheckpointSource`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A run's input was taken in.
    Input,
    /// A step of a run.
    Loop,
    /// A caller changed the state.
    Update,
    /// A run goes on from an older checkpoint.
    Fork,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Loop => "loop",
            Self::Update => "update",
            Self::Fork => "fork",
        }
    }
}

/// A place on a thread's tree of checkpoints: the `step`-th of `branch`.
///
/// Along a branch each step is one after the one before; a branch goes on from a place of its
/// parent branch ([`Fork`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    pub branch: i32,
    pub step: i64,
}

/// A new branch: its number and the place it goes on from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fork {
    pub branch: i32,
    pub from: Place,
}

/// One entry of the history of a thread (root namespace) or of a graph nested in one of its tasks.
#[derive(Clone, PartialEq, Debug)]
pub struct Checkpoint {
    pub id: CheckpointId,
    pub parent: Option<CheckpointId>,
    pub namespace: Namespace,
    pub place: Place,
    pub source: Source,
    /// The run that wrote it; `None` for a caller's update.
    pub run_id: Option<RunId>,
    pub created_at: Ts,
    pub metadata: Map<String, Value>,
    pub frontier: Frontier,
}

/// What is due after a checkpoint.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Frontier {
    /// The tasks of the next step, in order. Empty: the graph is at its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<Due>,
    /// Fan-in that is not complete: the waiting node, and which of its sources are done.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub joins: BTreeMap<String, BTreeSet<String>>,
    /// The nodes that the step before this checkpoint ran.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ran: BTreeSet<Arc<str>>,
}

/// A task that is due: a node, with an input of its own where a branch sent one (`Send`).
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Due {
    pub node: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The id the task already had when a caller changed the state under it: what it asked stays
    /// open. Absent: derived from the checkpoint and the task's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The node whose edge, condition or command leads here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Arc<str>>,
    /// What the task already kept when a caller changed the state under it.
    #[serde(default, skip_serializing_if = "Kept::is_empty")]
    pub kept: Kept,
}

/// What a task that asks keeps for when it runs again.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Results of work that is not to be done again, by the node's own keys.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub memos: BTreeMap<String, Value>,
    /// Ids of the messages that were shown.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub shown: BTreeSet<Arc<str>>,
}

impl Kept {
    pub fn is_empty(&self) -> bool {
        self.memos.is_empty() && self.shown.is_empty()
    }
}

/// What one task of a step left before the step was over: saved so that a second attempt does
/// not run it again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskRecord {
    pub task_id: TaskId,
    pub node: String,
    pub outcome: TaskOutcome,
}

/// How a task of an unfinished step stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TaskOutcome {
    /// It is done; `command` is what it returned, in the engine's own form.
    Done { command: Value },
    /// It asks; running it again with the answers goes on.
    Asks { interrupts: Vec<Interrupt> },
}

/// A checkpoint with everything that is needed to go on from it.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    pub checkpoint: Checkpoint,
    pub state: State,
    /// What tasks of the unfinished step left, in no order.
    pub tasks: Vec<TaskRecord>,
    /// Where the next checkpoint goes.
    pub next: Place,
    /// Set if that is on a new branch, because something else already follows this checkpoint.
    pub fork: Option<Fork>,
}

impl Place {
    /// Where the first checkpoint of a namespace goes: the first input is step -1, the first
    /// step of the loop 0. Streaming CDDL, section 12 (`Checkpoint.step`).
    pub const FIRST: Self = Self { branch: 0, step: -1 };

    #[must_use]
    pub fn following(self) -> Self {
        Self { branch: self.branch, step: self.step + 1 }
    }
}

/// A checkpoint to be written, with the changes that lead to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Put {
    pub checkpoint: Checkpoint,
    pub changes: Vec<Change>,
    /// Set for the first checkpoint of a new branch.
    pub fork: Option<Fork>,
}

/// Answers to interrupts, by id: what a task that runs again finds.
pub type Answers = BTreeMap<InterruptId, Value>;
