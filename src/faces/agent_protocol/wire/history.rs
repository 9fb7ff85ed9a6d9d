use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{DEFAULT_LIMIT, Interrupt, Message, Messages, Values, rfc3339};
use crate::domain::checkpoint::{Snapshot, TaskOutcome};
use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::ids::CheckpointId;
use crate::domain::page::Page;
use crate::http::{FromQuery, Query, Segment};

/// Which entries of a history to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// How many at most.
    #[param(value_type = Option<i64>, nullable = false, default = 10, minimum = 1, maximum = 1000)]
    pub limit: u32,
    /// Only what is older than this checkpoint.
    #[param(value_type = Option<Uuid>, nullable = false)]
    pub before: Option<CheckpointId>,
}

impl FromQuery for HistoryQuery {
    fn from_query(query: &Query) -> Result<Self> {
        let limit = Page::new(query.integer("limit")?, DEFAULT_LIMIT, None)?.limit;
        let before = query.text("before").map(CheckpointId::read).transpose();
        Ok(Self { limit, before: before.map_err(|wrong| wrong.at("before"))? })
    }
}

/// Names one entry of a thread's history. Other members are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ThreadCheckpoint {
    pub checkpoint_id: Uuid,
}

impl From<CheckpointId> for ThreadCheckpoint {
    fn from(id: CheckpointId) -> Self {
        Self { checkpoint_id: id.0 }
    }
}

/// One entry of a thread's history: the state as it was.
#[derive(Serialize, ToSchema)]
pub struct ThreadState {
    pub checkpoint: ThreadCheckpoint,
    /// The entry before it.
    #[schema(value_type = Option<ThreadCheckpoint>)]
    pub parent_checkpoint: Option<ThreadCheckpoint>,
    #[schema(value_type = Object)]
    pub values: Values,
    #[schema(value_type = Vec<Message>)]
    pub messages: Messages,
    /// `source` (`input`, `loop`, `update` or `fork`), `step`, `run_id`, and what else is kept.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// The nodes that were due next.
    pub next: Vec<String>,
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// What was asked there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub interrupts: Vec<Interrupt>,
}

impl From<Snapshot> for ThreadState {
    fn from(Snapshot { checkpoint, state, tasks, .. }: Snapshot) -> Self {
        let mut metadata = checkpoint.metadata;
        metadata.insert("source".to_owned(), checkpoint.source.as_str().into());
        metadata.insert("step".to_owned(), checkpoint.place.step.into());
        if let Some(run) = checkpoint.run_id {
            metadata.insert("run_id".to_owned(), run.to_string().into());
        }
        let asked = tasks.into_iter().flat_map(|task| match task.outcome {
            TaskOutcome::Asks { interrupts } => interrupts,
            TaskOutcome::Done { .. } => Vec::new(),
        });
        Self {
            checkpoint: checkpoint.id.into(),
            parent_checkpoint: checkpoint.parent.map(Into::into),
            values: Values(state.clone()),
            messages: Messages(state),
            metadata,
            next: checkpoint.frontier.due.iter().map(|due| due.node.to_string()).collect(),
            created_at: checkpoint.created_at,
            interrupts: asked.map(Into::into).collect(),
        }
    }
}
