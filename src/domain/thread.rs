//! A thread: durable state over many turns.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::clock::Ts;
use crate::domain::ids::{CheckpointId, Owner, ThreadId, ThreadKey};
use crate::domain::interrupt::Interrupt;

/// Agent Protocol, `ThreadStatus`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadStatus {
    /// Nothing runs, nothing is asked.
    Idle,
    /// A run is pending or running.
    Busy,
    /// Interrupts are open.
    Interrupted,
    /// The last run failed or timed out.
    Error,
}

impl ThreadStatus {
    pub const ALL: [Self; 4] = [Self::Idle, Self::Busy, Self::Interrupted, Self::Error];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// A thread as it is kept, without its state.
#[derive(Clone, PartialEq, Debug)]
pub struct Thread {
    pub id: ThreadId,
    pub key: ThreadKey,
    pub owner: Owner,
    pub metadata: Map<String, Value>,
    pub status: ThreadStatus,
    /// All that are open.
    pub interrupts: Vec<Interrupt>,
    /// The newest checkpoint of the root graph; `None` until something is written.
    pub head: Option<CheckpointId>,
    /// The agent of its last run.
    pub agent_id: Option<crate::domain::ids::AgentId>,
    pub created_at: Ts,
    pub updated_at: Ts,
}
