//! What goes over the wire, as the streaming CDDL has it: one file a section.
//!
//! Members are written in camel case; what comes in may be in snake case too. It knows the
//! protocol's names and nothing of what they are made from.

mod block;
mod channel;
mod command;
mod event;
mod lifecycle;
mod messages;
mod number;
mod passthrough;
mod reply;
pub mod schema;
mod tools;

pub use block::{BlockDelta, ContentBlock, ToolCallFields};
pub use channel::{Channel, EventStreamRequest, NamespacePath, SubscribeParams};
pub use command::{
    AgentGetTreeParams, Envelope, Goto, InputInjectParams, InputMessage, InputRespondEntry,
    InputRespondParams, InputRole, ListCheckpointsParams, OneOrMany, ReconnectParams,
    RunStartParams, StateForkParams, StateGetParams, UnsubscribeParams,
};
pub use event::{Data, Event};
pub use lifecycle::{
    AgentStatus, AgentStatusEntry, AgentTreeNode, CheckpointRef, LifecycleCause, LifecycleData,
};
pub use messages::{InputTokenDetails, MessageRole, MessagesData, OutputTokenDetails, UsageInfo};
pub use number::Number;
pub use passthrough::{
    Checkpoint, CustomData, InputRequestedData, ResumeGap, TaskData, UpdatesData,
};
pub use reply::{
    AgentResult, CheckpointSummary, ErrorCode, ForkResult, Listed, ReconnectResult, Reply,
    ResponseMeta, RunResult, StateGetResult, SubscribeResult,
};
pub use tools::ToolsData;
