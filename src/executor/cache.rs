//! Hot state: the newest snapshots of threads, so that a turn does not read what the last wrote.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use crate::domain::checkpoint::Snapshot;
use crate::domain::ids::{CheckpointId, ThreadKey};

/// Snapshots by thread, each valid for the head it names: another head means it is stale.
pub(super) struct Snapshots {
    kept: Mutex<LruCache<ThreadKey, Arc<Snapshot>>>,
}

impl Snapshots {
    pub(super) fn new(capacity: NonZeroUsize) -> Self {
        Self { kept: Mutex::new(LruCache::new(capacity)) }
    }

    /// The snapshot of `thread`, if `head` is still what it was taken at. What tasks of an
    /// unfinished step left may be out of date in it.
    pub(super) fn get(&self, thread: ThreadKey, head: CheckpointId) -> Option<Arc<Snapshot>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&thread).filter(|snapshot| snapshot.checkpoint.id == head).cloned()
    }

    /// The same, if nothing is due there: then it is all that is needed to go on. Answers to some
    /// of several questions change what tasks left, but not the head.
    pub(super) fn at_rest(&self, thread: ThreadKey, head: CheckpointId) -> Option<Arc<Snapshot>> {
        self.get(thread, head).filter(|snapshot| snapshot.checkpoint.frontier.due.is_empty())
    }

    /// Keeps a snapshot; called after the commit that made it true.
    pub(super) fn put(&self, thread: ThreadKey, snapshot: Arc<Snapshot>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(thread, snapshot);
    }
}
