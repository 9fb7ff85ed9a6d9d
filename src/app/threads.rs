//! Threads, as a caller uses them.

use serde_json::{Map, Value};

use crate::app::{App, Caller};
use crate::domain::checkpoint::Snapshot;
use crate::domain::error::Result;
use crate::domain::ids::{CheckpointId, ThreadId};
use crate::domain::page::Page;
use crate::domain::state::State;
use crate::domain::thread::Thread;
use crate::storage::ThreadFilter;

/// A thread with its current state.
#[derive(Clone, Debug)]
pub struct ThreadView {
    pub thread: Thread,
    pub state: State,
}

/// What to do about a thread that is there already.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IfExists {
    /// Refuse (`thread_exists`).
    #[default]
    Raise,
    DoNothing,
}

/// A change of a thread by its caller.
#[derive(Default)]
pub struct ThreadPatch {
    /// The checkpoint to branch from; the newest if absent.
    pub checkpoint: Option<CheckpointId>,
    /// Merged, member by member.
    pub metadata: Map<String, Value>,
    /// Taken in through the channels' reducers.
    pub values: Option<Map<String, Value>>,
    /// Merged by id.
    pub messages: Vec<Value>,
}

#[allow(unused_variables, clippy::todo, clippy::unused_async, reason = "being written")]
impl App {
    pub async fn thread_create(&self, who: &Caller, id: Option<ThreadId>, metadata: Map<String, Value>, if_exists: IfExists) -> Result<ThreadView> { todo!() }
    pub async fn thread_get(&self, who: &Caller, id: ThreadId) -> Result<ThreadView> { todo!() }
    pub async fn thread_search(&self, who: &Caller, filter: &ThreadFilter, page: Page) -> Result<Vec<ThreadView>> { todo!() }
    /// Errors: `thread_not_found`, `checkpoint_not_found`, `thread_busy` (values or messages while a run is unfinished).
    pub async fn thread_patch(&self, who: &Caller, id: ThreadId, patch: ThreadPatch) -> Result<ThreadView> { todo!() }
    /// Cancels its unfinished runs first.
    pub async fn thread_delete(&self, who: &Caller, id: ThreadId) -> Result<()> { todo!() }
    pub async fn thread_copy(&self, who: &Caller, id: ThreadId) -> Result<ThreadView> { todo!() }
    /// Newest first.
    pub async fn thread_history(&self, who: &Caller, id: ThreadId, before: Option<CheckpointId>, limit: u32) -> Result<Vec<Snapshot>> { todo!() }
    /// One entry of the history.
    pub async fn thread_state(&self, who: &Caller, id: ThreadId, at: CheckpointId) -> Result<Snapshot> { todo!() }
}
