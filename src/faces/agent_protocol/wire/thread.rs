use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{DEFAULT_LIMIT, Interrupt, Message, Messages, ThreadCheckpoint, Values, rfc3339};
use crate::app::{self, ThreadView};
use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::ids::{CheckpointId, ThreadId};
use crate::domain::page::Page;
use crate::domain::thread;

/// A thread to be created.
#[derive(Default, Deserialize, ToSchema)]
pub struct ThreadCreate {
    /// Its id; a fresh one if left out.
    #[schema(nullable = false)]
    pub thread_id: Option<Uuid>,
    /// What to keep with it.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub metadata: Option<Map<String, Value>>,
    /// What to do if there is one of this id.
    #[schema(value_type = Option<IfExists>, nullable = false, default = "raise")]
    pub if_exists: Option<IfExists>,
}

/// `raise` answers 409, `do_nothing` the thread that is there.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IfExists {
    Raise,
    DoNothing,
}

impl ThreadCreate {
    pub fn id(&self) -> Option<ThreadId> {
        self.thread_id.map(ThreadId)
    }

    pub fn if_exists(&self) -> app::IfExists {
        match self.if_exists {
            None | Some(IfExists::Raise) => app::IfExists::Raise,
            Some(IfExists::DoNothing) => app::IfExists::DoNothing,
        }
    }

    pub fn metadata(self) -> Map<String, Value> {
        self.metadata.unwrap_or_default()
    }
}

/// Which threads to list.
#[derive(Default, Deserialize, ToSchema)]
pub struct ThreadSearchRequest {
    /// Contained in the thread's metadata.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub metadata: Option<Map<String, Value>>,
    /// Contained in the thread's values.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub values: Option<Map<String, Value>>,
    #[schema(nullable = false)]
    pub status: Option<ThreadStatus>,
    /// How many at most.
    #[schema(nullable = false, default = 10, minimum = 1, maximum = 1000)]
    pub limit: Option<i64>,
    /// How many to skip.
    #[schema(nullable = false, default = 0, minimum = 0)]
    pub offset: Option<i64>,
}

impl ThreadSearchRequest {
    pub fn page(&self) -> Result<Page> {
        Page::new(self.limit, DEFAULT_LIMIT, self.offset)
    }

    pub fn filter(self) -> app::ThreadFilter {
        app::ThreadFilter {
            metadata: self.metadata.unwrap_or_default(),
            values: self.values.unwrap_or_default(),
            status: self.status.map(Into::into),
        }
    }
}

/// A change of a thread. Values and messages make a new entry of its history.
#[derive(Default, Deserialize, ToSchema)]
pub struct ThreadPatch {
    /// The entry of the history to go on from: a branch. The newest if left out; of no
    /// consequence where only metadata changes.
    #[schema(nullable = false)]
    pub checkpoint: Option<ThreadCheckpoint>,
    /// Merged, member by member.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub metadata: Option<Map<String, Value>>,
    /// Combined with what is there as the agent combines it.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub values: Option<Map<String, Value>>,
    /// Merged by id.
    #[schema(value_type = Option<Vec<Message>>, nullable = false)]
    pub messages: Option<Vec<Value>>,
}

impl ThreadPatch {
    pub fn read(self) -> app::ThreadPatch {
        app::ThreadPatch {
            checkpoint: self.checkpoint.map(|at| CheckpointId(at.checkpoint_id)),
            metadata: self.metadata.unwrap_or_default(),
            values: self.values,
            messages: self.messages.unwrap_or_default(),
            as_node: None,
        }
    }
}

/// Conversations over many turns, and what agents keep between them.
#[derive(Serialize, ToSchema)]
pub struct Thread {
    pub thread_id: Uuid,
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    pub status: ThreadStatus,
    /// The current state, without the messages.
    #[schema(value_type = Object)]
    pub values: Values,
    /// The messages so far.
    #[schema(value_type = Vec<Message>)]
    pub messages: Messages,
    /// What it waits for, if it is interrupted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub interrupts: Vec<Interrupt>,
}

impl From<ThreadView> for Thread {
    fn from(ThreadView { thread, state }: ThreadView) -> Self {
        Self {
            thread_id: thread.id.0,
            created_at: thread.created_at,
            updated_at: thread.updated_at,
            metadata: thread.metadata,
            status: thread.status.into(),
            values: Values(state.clone()),
            messages: Messages(state),
            interrupts: thread.interrupts.into_iter().map(Into::into).collect(),
        }
    }
}

/// `busy` while a run is pending or running, `interrupted` while a question is open, `error` when
/// the last run failed, else `idle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadStatus {
    Idle,
    Busy,
    Interrupted,
    Error,
}

impl From<thread::ThreadStatus> for ThreadStatus {
    fn from(status: thread::ThreadStatus) -> Self {
        match status {
            thread::ThreadStatus::Idle => Self::Idle,
            thread::ThreadStatus::Busy => Self::Busy,
            thread::ThreadStatus::Interrupted => Self::Interrupted,
            thread::ThreadStatus::Error => Self::Error,
        }
    }
}

impl From<ThreadStatus> for thread::ThreadStatus {
    fn from(status: ThreadStatus) -> Self {
        match status {
            ThreadStatus::Idle => Self::Idle,
            ThreadStatus::Busy => Self::Busy,
            ThreadStatus::Interrupted => Self::Interrupted,
            ThreadStatus::Error => Self::Error,
        }
    }
}
