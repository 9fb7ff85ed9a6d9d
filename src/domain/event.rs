//! The canonical log of a run: what every face's frames are made from.
//!
//! `docs/events.md` holds the table of these events against the streaming CDDL, the AG-UI events
//! and the Playground's steps.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::checkpoint::{Place, Source};
use crate::domain::clock::Ts;
use crate::domain::ids::{AgentId, CheckpointId, Namespace, RunId, TaskId};
use crate::domain::interrupt::Interrupt;
use crate::domain::message::{Role, Usage};
use crate::domain::run::{RunError, RunStatus};
use crate::domain::state::Change;

/// The number of an event: increasing along its thread, not contiguous, never used twice for
/// something that was shown.
pub type Seq = u64;

/// An event with its place in the thread's log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Logged {
    pub seq: Seq,
    pub at: Ts,
    pub run_id: RunId,
    /// From 1; a run that was taken over after a crash goes on as the next attempt.
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Namespace::is_root")]
    pub namespace: Namespace,
    #[serde(flatten)]
    pub event: RunEvent,
}

/// What happens in a run. Within one namespace: tasks lie inside a run, messages and tool calls
/// inside a task, blocks inside a message and never interleaved.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// An attempt begins. Of an attempt above 1: whatever the one before left open is void, the
    /// run goes on from the last checkpoint in the log.
    AttemptStarted {
        agent_id: AgentId,
        /// Where it goes on from; `None` on an empty thread.
        checkpoint_id: Option<CheckpointId>,
    },
    /// A checkpoint is written: the state is the one before it with `changes` folded in.
    CheckpointSaved {
        checkpoint_id: CheckpointId,
        parent: Option<CheckpointId>,
        place: Place,
        source: Source,
        changes: Vec<Change>,
        /// The nodes that are due next.
        next: Vec<Arc<str>>,
    },
    TaskStarted {
        task_id: TaskId,
        node: Arc<str>,
        step: i64,
    },
    /// A task is done; `update` is what it changes, channel by channel, in the node's own words.
    TaskFinished {
        task_id: TaskId,
        node: Arc<str>,
        step: i64,
        update: Map<String, Value>,
    },
    /// A task ended in an error, or will be tried again (`retry_in_ms`).
    TaskFailed {
        task_id: TaskId,
        node: Arc<str>,
        step: i64,
        error: RunError,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
    },
    MessageStarted {
        message_id: Arc<str>,
        role: Role,
        node: Arc<str>,
        step: i64,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    },
    BlockStarted {
        message_id: Arc<str>,
        index: u32,
        block: Block,
    },
    BlockDelta {
        message_id: Arc<str>,
        index: u32,
        delta: Delta,
    },
    /// The block is complete; `block` is the whole of it.
    BlockFinished {
        message_id: Arc<str>,
        index: u32,
        block: Block,
    },
    MessageFinished {
        message_id: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<String>,
    },
    /// The model call behind an open message broke off; its message is void.
    MessageFailed {
        message_id: Arc<str>,
        error: RunError,
    },
    /// A message that was not streamed, whole.
    Message {
        message: Arc<Value>,
        node: Arc<str>,
        step: i64,
    },
    ToolStarted {
        call_id: Arc<str>,
        name: Arc<str>,
        node: Arc<str>,
        input: Value,
    },
    ToolOutput {
        call_id: Arc<str>,
        delta: String,
    },
    ToolFinished {
        call_id: Arc<str>,
        name: Arc<str>,
        node: Arc<str>,
        /// The tool message as the state keeps it.
        message: Arc<Value>,
        failed: bool,
    },
    /// The run stops here until these are answered: all that are open, of every namespace.
    Interrupted {
        interrupts: Vec<Interrupt>,
    },
    /// What a node or a tool wrote for whoever watches.
    Custom {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        payload: Value,
        node: Arc<str>,
    },
    /// A graph inside a task starts; the event's namespace is the child's.
    GraphStarted {
        graph: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// A graph inside a task came to an end, or stopped at an interrupt.
    GraphEnded {
        outcome: GraphOutcome,
    },
    /// The run is over, or paused. The last event of a run.
    RunEnded {
        status: RunStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
    },
}

/// What made a nested graph start. Streaming CDDL, section 7 (`LifecycleCause`).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Cause {
    ToolCall { call_id: Arc<str> },
    Send { from_node: Arc<str> },
    Edge { from_node: Arc<str> },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphOutcome {
    Completed,
    Interrupted,
    Failed,
}

/// A content block as far as it is known: empty when it starts, whole when it is finished.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    Reasoning {
        text: String,
        /// The provider's proof that the reasoning is its own, to be sent back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call; `args` is the JSON text as far as it came.
    ToolCall {
        id: Arc<str>,
        name: Arc<str>,
        args: String,
    },
    /// A finished tool call whose arguments are no JSON object.
    InvalidToolCall {
        id: Arc<str>,
        name: Arc<str>,
        args: String,
        error: String,
    },
    /// Any other block, as it came.
    Other {
        value: Value,
    },
}

/// What is appended to an open block.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    Text {
        text: String,
    },
    Reasoning {
        text: String,
    },
    /// The next fragment of the arguments' JSON text.
    Args {
        args: String,
    },
    /// The next fragment of base64 data.
    Data {
        data: String,
    },
}

impl RunEvent {
    /// Whether this is the last event of its run.
    pub fn is_end(&self) -> bool {
        matches!(self, Self::RunEnded { .. })
    }
}
