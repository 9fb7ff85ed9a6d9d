//! Keeps checkpoints in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::checkpoint::{Fork, Place, Put, Snapshot, TaskRecord};
use crate::domain::error::Result;
use crate::domain::ids::{CheckpointId, Namespace, TaskId};
use crate::domain::ports::BoxFuture;
use crate::domain::state::State;
use crate::engine::port::Checkpointer;

/// Keeps checkpoints in memory, as changes, and folds them when they are read.
#[derive(Default)]
pub struct MemorySaver {
    kept: Mutex<BTreeMap<Namespace, Kept>>,
}

#[derive(Default)]
struct Kept {
    /// In the order in which they were written.
    puts: Vec<Put>,
    records: BTreeMap<TaskId, TaskRecord>,
}

impl MemorySaver {
    /// A checkpoint (`None`: the newest) with its state.
    pub fn snapshot(&self, namespace: &Namespace, at: Option<CheckpointId>) -> Option<Snapshot> {
        self.lock().get(namespace)?.snapshot(at)
    }

    /// All checkpoints of a namespace, oldest first.
    pub fn history(&self, namespace: &Namespace) -> Vec<Put> {
        self.lock().get(namespace).map(|kept| kept.puts.clone()).unwrap_or_default()
    }

    /// All namespaces that have something.
    pub fn namespaces(&self) -> Vec<Namespace> {
        self.lock().keys().cloned().collect()
    }

    /// Takes a checkpoint: what [`Checkpointer::put`] does, and a caller's update.
    pub fn keep(&self, put: Put) {
        let mut kept = self.lock();
        let kept = kept.entry(put.checkpoint.namespace.clone()).or_default();
        kept.records.clear();
        kept.puts.push(put);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Namespace, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn snapshot(&self, at: Option<CheckpointId>) -> Option<Snapshot> {
        let newest = self.puts.last()?;
        let wanted = at.unwrap_or(newest.checkpoint.id);
        let checkpoint = self.find(wanted)?.checkpoint.clone();
        let is_newest = wanted == newest.checkpoint.id;
        let next = checkpoint.place.following();
        let taken = self.puts.iter().any(|put| put.checkpoint.place == next);
        let branches = self.puts.iter().map(|put| put.checkpoint.place.branch);
        let fork =
            taken.then(|| Fork { branch: branches.max().unwrap_or(0) + 1, from: checkpoint.place });
        Some(Snapshot {
            state: self.state(wanted),
            next: fork.map_or(next, |fork| Place { branch: fork.branch, ..next }),
            fork,
            tasks: if is_newest { self.records.values().cloned().collect() } else { Vec::new() },
            checkpoint,
        })
    }

    fn find(&self, id: CheckpointId) -> Option<&Put> {
        self.puts.iter().find(|put| put.checkpoint.id == id)
    }

    /// The changes along the lineage, folded.
    fn state(&self, id: CheckpointId) -> State {
        let lineage = std::iter::successors(self.find(id), |put| self.find(put.checkpoint.parent?));
        let mut lineage: Vec<&Put> = lineage.collect();
        lineage.reverse();
        let mut state = State::default();
        for change in lineage.into_iter().flat_map(|put| &put.changes) {
            state.apply(change);
        }
        state
    }
}

impl Checkpointer for MemorySaver {
    fn load<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Option<Snapshot>>> {
        Box::pin(async move { Ok(self.snapshot(namespace, None)) })
    }

    fn put(&self, put: Put) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.keep(put);
            Ok(())
        })
    }

    fn put_task<'a>(
        &'a self,
        namespace: &'a Namespace,
        record: TaskRecord,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut kept = self.lock();
            kept.entry(namespace.clone()).or_default().records.insert(record.task_id, record);
            Ok(())
        })
    }
}
