//! What the executor asks of storage.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::checkpoint::{Answers, Put, Snapshot, TaskRecord};
use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::event::Seq;
use crate::domain::ids::{AgentId, CheckpointId, Namespace, Owner, RunId, RunKey, ThreadKey};
use crate::domain::ports::{BoxFuture, Memory};
use crate::domain::run::{CancelAction, Run, RunEnd, RunResult};
use crate::engine::{Graph, Update};

/// The right to run a run: everybody who writes for it names it, and a lost one answers
/// [`Fault::Fenced`](crate::domain::Fault::Fenced).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fence {
    pub run_key: RunKey,
    pub thread_key: ThreadKey,
    pub attempt: u32,
}

/// A run that this node may run.
#[derive(Clone, Debug)]
pub struct Claim {
    pub run: Run,
    pub fence: Fence,
    /// The events of this attempt are numbered from here on: above all that were ever shown on
    /// the thread, and with room for [`Claim::SEQ_ROOM`] of them.
    pub first_seq: Seq,
}

impl Claim {
    /// How many events one attempt may emit.
    pub const SEQ_ROOM: Seq = 1 << 24;
}

/// Events of one attempt, consecutively numbered, as they are stored: JSON objects
/// ([`crate::domain::Logged`]), one a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    pub run_id: RunId,
    pub first: Seq,
    pub last: Seq,
    pub lines: String,
}

/// What a run writes together: all of it or nothing.
#[derive(Clone, Debug)]
pub struct Commit {
    pub fence: Fence,
    pub run_id: RunId,
    /// In the order in which they were made. The last one of the root namespace is the
    /// thread's new head.
    pub puts: Vec<Put>,
    /// Written after the puts.
    pub tasks: Vec<(Namespace, TaskRecord)>,
    pub segment: Option<Segment>,
    /// Segments of this run that end below this number are dropped.
    pub trim_log_below: Option<Seq>,
    pub end: Option<End>,
    pub at: Ts,
}

/// The end of a run, or of this node's part in it.
#[derive(Clone, Debug)]
pub struct End {
    pub how: RunEnd,
    pub head: Option<CheckpointId>,
    /// The values of the head without `messages`, for searches; `None` if this run changed none.
    pub values: Option<Map<String, Value>>,
    /// Where the thread may not outlive the run, or a webhook will tell it.
    pub result: Option<RunResult>,
    /// Who is to be told of it.
    pub webhook: Option<String>,
    /// The thread goes with its run, unless others wait on it.
    pub deletes_thread: bool,
}

/// A held claim, as a heartbeat finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    pub run_key: RunKey,
    pub cancel: Option<CancelAction>,
}

/// Where runs and what they write are kept.
pub trait RunLedger: Send + Sync {
    /// Claims up to `max` due runs of these agents, in the order in which they were accepted:
    /// never two of one thread, never one before an older one of its thread.
    fn claim<'a>(
        &'a self,
        worker: &'a str,
        agents: &'a [AgentId],
        lease: Duration,
        max: u32,
    ) -> BoxFuture<'a, Result<Vec<Claim>>>;

    /// Extends the leases; answers those still held.
    fn extend<'a>(
        &'a self,
        fences: &'a [Fence],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<Held>>>;

    /// Writes it all in one transaction.
    ///
    /// # Errors
    /// [`Fault::Fenced`](crate::domain::Fault::Fenced) if the claim is lost: nothing is written.
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<()>>;

    /// Puts runs whose lease has expired back in the queue; those that had `max_attempts` end
    /// with error `max_attempts`, those that were to be cancelled are. Answers how many.
    fn requeue_expired(&self, max_attempts: u32) -> BoxFuture<'_, Result<u64>>;

    /// A checkpoint (`None`: the newest) of a namespace, with its state.
    fn snapshot<'a>(
        &'a self,
        thread: ThreadKey,
        namespace: &'a Namespace,
        at: Option<CheckpointId>,
    ) -> BoxFuture<'a, Result<Option<Snapshot>>>;

    /// All answers given on the thread.
    fn answers(&self, thread: ThreadKey) -> BoxFuture<'_, Result<Answers>>;
}

/// The agents of this node.
pub trait Graphs: Send + Sync {
    /// The ids of those that can run.
    fn ids(&self) -> Vec<AgentId>;

    fn get(&self, id: &AgentId) -> Option<Arc<dyn Runnable>>;
}

/// An agent as the executor sees it.
pub trait Runnable: Send + Sync {
    fn graph(&self) -> &Arc<Graph>;

    /// What the caller sent, in the graph's terms. Answers and the place to start from are left
    /// to the executor.
    fn intake(&self, run: &Run) -> Result<Intake>;
}

/// What a run brings to its graph.
#[derive(Default)]
pub struct Intake {
    pub input: Option<Update>,
    /// Of the run's command.
    pub update: Option<Update>,
}

/// The memories that runs are given, one an owner.
pub trait Memories: Send + Sync {
    fn of(&self, owner: &Owner) -> Arc<dyn Memory>;
}

/// What storage says to whoever waits; sent after the commit it tells of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A run may be waiting to be claimed.
    Due,
    /// Another node wrote to this thread's log, or ended one of its runs.
    Log(ThreadKey),
    /// A run is to be cancelled.
    Cancel(RunKey),
    /// A webhook may be due.
    Delivery,
    /// Signals may have been missed: look at everything.
    Resync,
}
