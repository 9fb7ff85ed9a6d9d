//! What a command is answered with. CDDL, section 3 (`CommandResponse`, `ErrorResponse`) and the
//! results of its modules.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{AgentStatusEntry, AgentTreeNode, CheckpointRef, Number};
use crate::domain::ids::CheckpointId;

/// The answer to one command.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Reply {
    Success { id: u64, result: Value, meta: ResponseMeta },
    Error { id: Option<u64>, error: ErrorCode, message: String },
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseMeta {
    /// Events up to this number are from before the command.
    pub applied_through_seq: Number,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    InvalidArgument,
    UnknownCommand,
    UnknownError,
    NoSuchRun,
    NoSuchSubscription,
    NoSuchNamespace,
    NoSuchInterrupt,
    NoSuchCheckpoint,
    PermissionDenied,
    NotSupported,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    pub run_id: Uuid,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkResult {
    pub run_id: Uuid,
    pub thread_id: Uuid,
}

#[derive(Serialize)]
pub struct StateGetResult {
    pub values: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointRef>,
}

#[derive(Serialize)]
pub struct Listed {
    pub checkpoints: Vec<CheckpointSummary>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointSummary {
    pub id: CheckpointId,
    /// ISO 8601.
    pub timestamp: String,
    /// From 0; that of the first input (-1 in its event) is 0 too.
    pub step: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Arc<str>>,
    pub metadata: Map<String, Value>,
}

#[derive(Serialize)]
pub struct AgentResult {
    pub tree: AgentTreeNode,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeResult {
    pub subscription_id: String,
    pub replayed_events: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconnectResult {
    pub restored: bool,
    pub missed_events: usize,
    pub current_namespaces: Vec<AgentStatusEntry>,
}
