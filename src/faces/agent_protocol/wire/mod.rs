//! What goes over the wire, one file a noun: serde types with the protocol's names, and their
//! translation to and from the domain.
//!
//! Every optional member of a request is an `Option`, so that `null` and absence are one.

mod agent;
mod breakpoints;
mod command;
mod error;
mod history;
mod item;
mod message;
mod one_or_many;
mod run;
mod run_create;
mod run_options;
mod run_search;
mod state;
mod stream_mode;
mod thread;

pub use agent::{Agent, AgentCapabilities, AgentSchema, AgentSearchRequest};
pub use breakpoints::Breakpoints;
pub use command::{Command, Goto};
pub use error::ErrorResponse;
pub use history::{HistoryQuery, ThreadCheckpoint, ThreadState};
pub use item::{
    Item, ItemQuery, ListNamespaceResponse, SearchItemsResponse, StoreDeleteRequest,
    StoreListNamespacesRequest, StorePutRequest, StoreSearchRequest,
};
pub use message::{Content, ContentBlock, Message, MessageToolCall};
pub use one_or_many::OneOrMany;
pub use run::{Interrupt, Run, RunFailure, RunStatus, RunWaitResponse};
pub use run_create::{Config, RunCreate, RunStream};
pub use run_options::{Durability, IfNotExists, MultitaskStrategy, OnCompletion, OnDisconnect};
pub use run_search::{CancelQuery, RunListQuery, RunSearchRequest};
pub(super) use state::Held;
pub use state::{Messages, Values};
pub use stream_mode::StreamMode;
pub use thread::{IfExists, Thread, ThreadCreate, ThreadPatch, ThreadSearchRequest, ThreadStatus};

use serde::{Deserialize, Deserializer, Serializer};

use crate::domain::clock::Ts;

/// Limits where a request names none.
const DEFAULT_LIMIT: u32 = 10;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it serializes so")]
fn rfc3339<S: Serializer>(at: &Ts, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&at.to_rfc3339())
}

/// For a member whose `null` says something: `Some` whenever it is there.
fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
