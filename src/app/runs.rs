//! Runs, as a caller uses them.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::app::{App, Caller, Follow};
use crate::domain::error::Result;
use crate::domain::ids::{RunId, ThreadId};
use crate::domain::page::Page;
use crate::domain::run::{CancelAction, Run, RunResult, RunSpec};
use crate::domain::thread::Thread;
use crate::storage::RunFilter;

/// The thread a run is for.
#[derive(Clone, Debug)]
pub enum ThreadTarget {
    /// A thread of its own, deleted afterwards unless the run says otherwise.
    Stateless,
    /// `thread_not_found` if it is missing.
    Existing(ThreadId),
    /// Made if it is missing, with this metadata.
    Ensured(ThreadId, Map<String, Value>),
}

/// What a run does about interrupts that are open on its thread.
#[derive(Clone, PartialEq, Debug)]
pub enum Pause {
    /// They are answered with this value. Wrong review decisions are refused (`invalid_decision`).
    Resume(Value),
    /// They are withdrawn: the run's input starts over.
    Abandon,
    /// The run is refused (`thread_interrupted`).
    Refuse,
}

/// A run to be started.
pub struct StartRun {
    pub target: ThreadTarget,
    /// An id or alias; the default agent if absent.
    pub agent: Option<String>,
    pub spec: RunSpec,
    pub metadata: Map<String, Value>,
    pub pause: Pause,
    /// The caller's key and a fingerprint of its request.
    pub idempotency: Option<(String, String)>,
    /// Not before this much time has passed.
    pub delay: Option<Duration>,
}

/// A run that was accepted.
#[derive(Clone, Debug)]
pub struct Started {
    pub run: Run,
    pub thread: Thread,
    /// By its idempotency key it was there already.
    pub existing: bool,
}

/// A run that is over (or paused), with what it left.
#[derive(Clone, Debug)]
pub struct Finished {
    pub run: Run,
    pub result: RunResult,
}

#[allow(unused_variables, clippy::todo, clippy::unused_async, reason = "being written")]
impl App {
    /// Accepts the run and answers at once. Bad input is refused here, not in the run.
    pub async fn run_start(&self, who: &Caller, start: StartRun) -> Result<Started> { todo!() }
    /// Accepts the run and waits for its end. If the future is dropped before, the run is
    /// cancelled where it says so (`on_disconnect`).
    pub async fn run_start_and_wait(&self, who: &Caller, start: StartRun) -> Result<Finished> { todo!() }
    /// Accepts the run and follows it from its first event. If the follow is dropped before the
    /// end, the run is cancelled where it says so.
    pub async fn run_start_and_follow(&self, who: &Caller, start: StartRun) -> Result<Follow> { todo!() }
    pub async fn run_get(&self, who: &Caller, id: RunId) -> Result<Run> { todo!() }
    pub async fn run_search(&self, who: &Caller, filter: &RunFilter, page: Page) -> Result<Vec<Run>> { todo!() }
    /// Waits for the end; at once if it is over.
    pub async fn run_wait(&self, who: &Caller, id: RunId) -> Result<Finished> { todo!() }
    /// `run_unfinished` (conflict) while it is not over.
    pub async fn run_delete(&self, who: &Caller, id: RunId) -> Result<()> { todo!() }
    /// Nothing happens to a run that is over. With `wait`, answers when it is.
    pub async fn run_cancel(&self, who: &Caller, id: RunId, action: CancelAction, wait: bool) -> Result<()> { todo!() }
}
