//! Who runs, and where. CDDL, section 7.

use std::sync::Arc;

use serde::Serialize;

use crate::domain::ids::{CheckpointId, Namespace};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    Started,
    Running,
    Completed,
    Failed,
    Interrupted,
}

/// A graph's status changed.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleData {
    pub event: AgentStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_name: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<LifecycleCause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointRef>,
}

impl LifecycleData {
    pub fn new(event: AgentStatus, graph: Option<&Arc<str>>) -> Self {
        Self { event, graph_name: graph.cloned(), cause: None, error: None, checkpoint: None }
    }
}

/// What made a nested graph start.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LifecycleCause {
    ToolCall { tool_call_id: Arc<str> },
    Send { from_node: Arc<str> },
    Edge { from_node: Arc<str> },
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CheckpointRef {
    pub id: CheckpointId,
    /// Segments joined by `|`; absent for the root graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns: Option<String>,
}

impl CheckpointRef {
    pub fn new(id: CheckpointId, namespace: &Namespace) -> Self {
        Self { id, ns: (!namespace.is_root()).then(|| namespace.joined()) }
    }
}

/// A graph with those that run inside it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentTreeNode {
    pub namespace: Namespace,
    pub status: AgentStatus,
    pub graph_name: Arc<str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<AgentTreeNode>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AgentStatusEntry {
    pub namespace: Namespace,
    pub status: AgentStatus,
}
