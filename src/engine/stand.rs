//! Where a graph stands in one namespace while it is run: the newest checkpoint with its state.

use std::sync::Arc;

use serde_json::Map;

use crate::domain::checkpoint::{
    Checkpoint, Fork, Frontier, Place, Put, Snapshot, Source, TaskRecord,
};
use crate::domain::clock::Ts;
use crate::domain::ids::{CheckpointId, Namespace, RunId};
use crate::domain::state::{Change, State};

/// A [`Snapshot`], or the nothing before the first checkpoint of a namespace.
#[derive(Clone, Debug)]
pub struct Stand {
    pub namespace: Namespace,
    /// `None` before the first.
    pub checkpoint: Option<Checkpoint>,
    pub state: State,
    /// What tasks of the unfinished step left.
    pub tasks: Vec<TaskRecord>,
    /// Where the next checkpoint goes.
    pub next: Place,
    pub fork: Option<Fork>,
}

/// What a new checkpoint is marked with.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    pub id: CheckpointId,
    pub at: Ts,
    pub source: Source,
    pub run_id: Option<RunId>,
    /// How many super-steps the run has made with this one.
    pub made: u32,
}

/// The member of a checkpoint's metadata that holds [`Stamp::made`]: a run that is taken over
/// after a crash counts on from there.
const MADE: &str = "run_step";

impl Stand {
    pub fn new(namespace: Namespace, at: Option<Snapshot>) -> Self {
        match at {
            Some(Snapshot { checkpoint, state, tasks, next, fork }) => {
                Self { namespace, checkpoint: Some(checkpoint), state, tasks, next, fork }
            }
            None => Self {
                namespace,
                checkpoint: None,
                state: State::default(),
                tasks: Vec::new(),
                next: Place::FIRST,
                fork: None,
            },
        }
    }

    pub fn frontier(&self) -> Option<&Frontier> {
        self.checkpoint.as_ref().map(|checkpoint| &checkpoint.frontier)
    }

    /// Whether it was begun, and nothing is due any more.
    pub(crate) fn is_over(&self) -> bool {
        self.frontier().is_some_and(|frontier| frontier.due.is_empty())
    }

    /// The newest checkpoint, if `run` wrote it.
    pub(crate) fn written_by(&self, run: RunId) -> Option<&Checkpoint> {
        self.checkpoint.as_ref().filter(|checkpoint| checkpoint.run_id == Some(run))
    }

    /// How many super-steps `run` had made when it wrote the newest checkpoint.
    pub(crate) fn made_by(&self, run: RunId) -> u32 {
        let made =
            self.written_by(run).and_then(|checkpoint| checkpoint.metadata.get(MADE)?.as_u64());
        made.and_then(|made| u32::try_from(made).ok()).unwrap_or(0)
    }

    /// Moves on to a new checkpoint, `changes` being folded in already; answers it as it is to be
    /// written.
    pub(crate) fn advance(
        &mut self,
        stamp: Stamp,
        frontier: Frontier,
        changes: Vec<Change>,
    ) -> Put {
        let mut metadata = Map::new();
        if stamp.made > 0 {
            metadata.insert(MADE.to_owned(), stamp.made.into());
        }
        let checkpoint = Checkpoint {
            id: stamp.id,
            parent: self.checkpoint.take().map(|checkpoint| checkpoint.id),
            namespace: self.namespace.clone(),
            place: self.next,
            source: stamp.source,
            run_id: stamp.run_id,
            created_at: stamp.at,
            metadata,
            frontier,
        };
        self.next = checkpoint.place.following();
        self.tasks.clear();
        self.checkpoint = Some(checkpoint.clone());
        Put { checkpoint, changes, fork: self.fork.take() }
    }
}

/// The nodes that are due in `frontier`, in order.
pub(crate) fn due_nodes(frontier: &Frontier) -> Vec<Arc<str>> {
    frontier.due.iter().map(|due| due.node.clone()).collect()
}
