//! What the engine asks of the world while a graph runs.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::domain::checkpoint::{Put, Snapshot, TaskRecord};
use crate::domain::clock::{Clock, IdGen};
use crate::domain::error::Result;
use crate::domain::ids::{AgentId, Namespace, Owner, RunId, ThreadId};
use crate::domain::ports::{BoxFuture, Emitter, Memory, Timer};
use crate::domain::run::Breakpoints;

/// Keeps the checkpoints of one run. Calls come in the order in which things happened.
pub trait Checkpointer: Send + Sync {
    /// The newest checkpoint of a nested graph; `None` if it never ran.
    fn load<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Option<Snapshot>>>;

    /// Takes a finished step. What task records its namespace had are void from here on.
    fn put(&self, put: Put) -> BoxFuture<'_, Result<()>>;

    /// Takes what a task of an unfinished step left.
    fn put_task<'a>(
        &'a self,
        namespace: &'a Namespace,
        record: TaskRecord,
    ) -> BoxFuture<'a, Result<()>>;
}

/// Everything a run of a graph is given. Nodes see it through their `Cx`.
#[derive(Clone)]
pub struct RunContext {
    pub owner: Owner,
    pub thread_id: ThreadId,
    pub run_id: RunId,
    pub agent_id: AgentId,
    pub attempt: u32,
    pub tags: Vec<String>,
    /// The caller's `config.configurable`.
    pub configurable: Arc<Map<String, Value>>,
    /// Tools that the caller executes itself, as `{name, description, parameters}`.
    pub client_tools: Arc<[Value]>,
    /// Super-steps of the root graph before the run fails with `recursion_limit`.
    pub recursion_limit: u32,
    pub interrupt_before: Breakpoints,
    pub interrupt_after: Breakpoints,
    pub saver: Arc<dyn Checkpointer>,
    pub emitter: Arc<dyn Emitter>,
    pub memory: Arc<dyn Memory>,
    pub timer: Arc<dyn Timer>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdGen>,
    /// Fires when the run is to stop at once: cancelled or timed out.
    pub stop: CancellationToken,
    /// Fires when no further step is to be started: what runs finishes, then the run is handed
    /// back.
    pub drain: CancellationToken,
}
