//! One store over two databases: SQL text shared, the differences side by side in `dialect`.

mod stubs;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::broadcast;

use crate::domain::checkpoint::{Put, Snapshot};
use crate::domain::clock::{Clock, Ts};
use crate::domain::error::Result;
use crate::domain::event::Seq;
use crate::domain::ids::{
    AgentId, CheckpointId, DeliveryId, Namespace, Owner, RunId, ThreadId, ThreadKey,
};
use crate::domain::interrupt;
use crate::domain::item::{Condition, Item, Labels};
use crate::domain::page::Page;
use crate::domain::run::{CancelAction, Run, RunSpec, RunStatus};
use crate::domain::state::State;
use crate::domain::thread::{Thread, ThreadStatus};
use crate::executor::port::{Claim, Segment, Signal};

/// How to reach the database.
#[derive(Clone)]
pub struct Options {
    /// `sqlite://FILE`, `sqlite::memory:` or `postgres://…`.
    pub url: String,
    pub max_connections: u32,
    pub clock: Arc<dyn Clock>,
}

/// The store. Cheap to clone.
#[derive(Clone)]
pub struct Store;

pub struct NewThread {
    pub id: ThreadId,
    pub owner: Owner,
    pub metadata: Map<String, Value>,
    pub created_at: Ts,
}

#[derive(Default)]
pub struct ThreadFilter {
    /// Contained in the thread's metadata.
    pub metadata: Map<String, Value>,
    /// Contained in the values of its head.
    pub values: Map<String, Value>,
    pub status: Option<ThreadStatus>,
}

#[derive(Default)]
pub struct RunFilter {
    pub metadata: Map<String, Value>,
    /// Any of these; empty: all.
    pub status: Vec<RunStatus>,
    pub thread_id: Option<ThreadId>,
    pub agent_id: Option<AgentId>,
}

/// The thread that a new run goes to.
pub enum Target {
    /// It must be there.
    Existing(ThreadId),
    /// It is made if it is missing.
    Ensured(NewThread),
}

/// What a new run does about interrupts that are open on its thread.
pub enum OnPause {
    /// They are answered, as far as this value answers them ([`interrupt::resolve`]); nothing
    /// open is a conflict, and so is a thread with an unfinished run.
    Resume(Value),
    /// They are withdrawn.
    Withdraw,
    /// The run is refused (`Fault::Conflict`, code `thread_interrupted`).
    Refuse,
    /// They stay open: the run goes on from where the thread stands.
    Keep,
}

pub struct NewRun {
    pub id: RunId,
    pub owner: Owner,
    pub target: Target,
    pub agent_id: AgentId,
    pub spec: RunSpec,
    pub metadata: Map<String, Value>,
    pub on_pause: OnPause,
    /// A second run with the same key and fingerprint is the first; with another fingerprint it
    /// is a conflict (`idempotency_conflict`).
    pub idempotency: Option<(String, String)>,
    pub queued_runs_per_owner: Option<u32>,
    pub queued_runs: Option<u32>,
    pub created_at: Ts,
    pub due_at: Ts,
    /// Claim it at once for this worker, if nothing else is unfinished on the thread and it is due.
    pub claim_for: Option<(String, Duration)>,
}

pub struct Created {
    pub run: Run,
    pub thread: Thread,
    pub claim: Option<Claim>,
    /// It was there already, by its idempotency key.
    pub existing: bool,
}

/// What became of a request to cancel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelOutcome {
    NotFound,
    /// It was over; nothing changed.
    AlreadyOver,
    /// It is cancelled: it was pending or paused.
    Cancelled,
    /// Its node was told.
    Requested,
}

/// A change of a thread's state by its caller (not by a run).
pub struct StateUpdate {
    pub put: Put,
    /// Of the new head, for searches.
    pub values: Map<String, Value>,
    /// Metadata to merge in the same transaction.
    pub metadata: Map<String, Value>,
    pub at: Ts,
}

/// A webhook that is due.
pub struct Delivery {
    pub id: DeliveryId,
    pub run: Run,
    pub url: String,
    pub attempts: u32,
}
