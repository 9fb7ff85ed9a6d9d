//! Questions to the outside (CDDL, section 10) and the channels whose contents are the graph's
//! own (section 12).

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Number;

use crate::app::Gap;
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

impl TaskData {
    pub fn new(id: TaskId, name: &Arc<str>) -> Self {
        Self {
            id,
            name: name.clone(),
            step: None,
            result: None,
            error: None,
            retry_in_ms: None,
            interrupts: Vec::new(),
        }
    }
}

/// Events are missing here: they are no longer kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "name", rename = "resume_gap")]
pub struct ResumeGap {
    payload: Missing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Missing {
    after: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_available: Option<Number>,
}

impl From<Gap> for ResumeGap {
    fn from(gap: Gap) -> Self {
        let first_available = gap.first_available.map(|seq| Number::of(seq, 0));
        Self { payload: Missing { after: Number::end_of(gap.after), first_available } }
    }
}
