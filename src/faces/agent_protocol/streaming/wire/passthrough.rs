//! Questions to the outside (CDDL, section 10) and the channels whose contents are the graph's
//! own (section 12).

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::checkpoint::Source;
use crate::domain::ids::{CheckpointId, InterruptId, TaskId};
use crate::domain::run::RunError;

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequestedData {
    pub interrupt_id: InterruptId,
    pub payload: Value,
}

/// A checkpoint without its state: what `state.fork` is pointed at.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    pub id: CheckpointId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<CheckpointId>,
    pub step: i64,
    pub source: Source,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct UpdatesData {
    pub node: Arc<str>,
    pub values: Map<String, Value>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CustomData {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub payload: Value,
}

/// A task was made, or came to something. The protocol leaves the form open; this is LangGraph's,
/// with the step.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskData {
    pub id: TaskId,
    pub name: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// Set if it will be tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    /// What it stopped at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<InputRequestedData>,
}
