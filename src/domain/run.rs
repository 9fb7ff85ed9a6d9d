//! A run: one execution of an agent on a thread, and the moves its status may make.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::clock::Ts;
use crate::domain::ids::{
    AgentId, CheckpointId, InterruptId, Owner, RunId, RunKey, ThreadId, ThreadKey,
};
use crate::domain::interrupt::Interrupt;

/// Where a run stands. Faces show fewer words than these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Accepted, not started.
    Pending,
    /// Claimed by a node.
    Running,
    Success,
    Error,
    /// It ran longer than allowed.
    Timeout,
    /// It stopped at an interrupt; another run goes on from there.
    Paused,
    Cancelled,
}

impl RunStatus {
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Running,
        Self::Success,
        Self::Error,
        Self::Timeout,
        Self::Paused,
        Self::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether the run will not change any more.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// Whether a run may go from this status to `next`. A running run goes back to pending when
    /// its node hands it back or loses its lease; a paused one can still be cancelled.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Pending => !matches!(next, Self::Pending | Self::Paused | Self::Success),
            Self::Running => next != Self::Running,
            Self::Paused => next == Self::Cancelled,
            Self::Success | Self::Error | Self::Timeout | Self::Cancelled => false,
        }
    }
}

/// Why a run failed: a stable code and a sentence that leaks nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunError {
    pub code: String,
    pub message: String,
}

impl RunError {
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// What the caller asked for: kept with the run, read by whichever node runs it.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSpec {
    /// In the agent's own terms; `None` goes on from where the thread stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Come after those in `input`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<RunCommand>,
    pub config: RunConfig,
    /// The checkpoint to start from instead of the thread's newest: a branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<CheckpointId>,
    pub interrupt_before: Breakpoints,
    pub interrupt_after: Breakpoints,
    pub durability: Durability,
    pub multitask: Multitask,
    pub on_completion: OnCompletion,
    pub on_disconnect: OnDisconnect,
    /// Its thread was to be made if it was missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub make_thread: bool,
    /// Names of what to stream to whoever joins without saying; a face's own words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stream_modes: Vec<String>,
    pub stream_subgraphs: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// The id by which the caller knows the run, where that is not a UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Tools that the caller offers and executes itself, as `{name, description, parameters}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<Value>,
}

/// Streaming CDDL, section 10 and LangGraph's `Command`.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCommand {
    /// The answers, by interrupt: resolved against the open ones when the run was accepted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<InterruptId, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<Map<String, Value>>,
    /// Nodes to go to, each with an input of its own or none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goto: Vec<Goto>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Goto {
    pub node: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct RunConfig {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recursion_limit: Option<u32>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub configurable: Map<String, Value>,
}

/// The nodes to pause at.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breakpoints {
    #[default]
    None,
    All,
    Nodes(Vec<String>),
}

impl Breakpoints {
    pub fn contains(&self, node: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Nodes(nodes) => nodes.iter().any(|name| name == node),
        }
    }
}

/// When a step's writes are on disk.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// While the next step runs.
    #[default]
    Async,
    /// Before the next step starts.
    Sync,
    /// When the run is over or paused.
    Exit,
}

/// What happens to a run on a thread that has one already.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Multitask {
    /// It waits its turn.
    #[default]
    Enqueue,
    /// It is refused.
    Reject,
    /// The others are cancelled; what they finished stays.
    Interrupt,
    /// The others are cancelled and undone.
    Rollback,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCompletion {
    #[default]
    Keep,
    /// The thread is deleted when the run is over; the run's result stays.
    Delete,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    #[default]
    Cancel,
    Continue,
}

/// How a run is to be cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelAction {
    /// Finished steps stay.
    Interrupt,
    /// The history is as it was before the run, and the run is gone.
    Rollback,
}

impl CancelAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Rollback => "rollback",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Interrupt, Self::Rollback].into_iter().find(|action| action.as_str() == text)
    }
}

/// A run as it is kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub id: RunId,
    pub key: RunKey,
    pub owner: Owner,
    pub thread_id: ThreadId,
    /// `None` once its thread is deleted.
    pub thread_key: Option<ThreadKey>,
    pub agent_id: AgentId,
    pub status: RunStatus,
    /// 0 until it is claimed for the first time.
    pub attempt: u32,
    pub metadata: Map<String, Value>,
    pub spec: RunSpec,
    pub error: Option<RunError>,
    /// Of a paused run: what it waits for.
    pub interrupts: Vec<Interrupt>,
    /// The thread's newest checkpoint when the run was first claimed: where a rollback returns to.
    pub base: Option<CheckpointId>,
    /// The thread's newest checkpoint when the run ended.
    pub head: Option<CheckpointId>,
    /// The result itself, where the thread may not outlive the run.
    pub result: Option<RunResult>,
    pub cancel: Option<CancelAction>,
    pub created_at: Ts,
    pub updated_at: Ts,
    /// Not claimed before this time.
    pub due_at: Ts,
}

/// What a run leaves: the state it ended with.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct RunResult {
    pub values: Map<String, Value>,
    pub messages: Vec<Value>,
}

/// How a run ended, as its worker reports it.
#[derive(Clone, PartialEq, Debug)]
pub enum RunEnd {
    Success,
    Paused(Vec<Interrupt>),
    Failed(RunError),
    /// It ran longer than this.
    TimedOut(Duration),
    Cancelled,
    /// As if it had never been: its history and the run itself go.
    RolledBack,
    /// Not over: handed back so that another node goes on.
    HandedBack,
}
