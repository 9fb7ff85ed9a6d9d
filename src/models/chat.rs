//! The port to a chat model: one request, a stream of deltas.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use serde_json::Value;
use uuid::Uuid;

use crate::domain::message::{Message, Usage};
use crate::domain::ports::{BoxFuture, Timer};
use crate::domain::tool::ToolSpec;

/// One model call.
#[derive(Clone)]
pub struct ChatRequest {
    /// The conversation, oldest first; system messages where they stand.
    pub messages: Vec<Message>,
    /// Tools that the server executes.
    pub tools: Vec<ToolSpec>,
    /// Tools that the caller executes; the model sees no difference.
    pub client_tools: Vec<ToolSpec>,
    pub options: ChatOptions,
    /// The same for every attempt at this call: ids that the model must make up derive from it.
    pub seed: Uuid,
    pub timer: Arc<dyn Timer>,
}

/// How the model is to answer.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ChatOptions {
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    /// A JSON Schema that the answer is to follow.
    pub response_schema: Option<Value>,
}

/// One piece of an answer. Pieces of one block follow each other; blocks do not interleave,
/// except that the arguments of parallel calls may.
#[derive(Clone, PartialEq, Debug)]
pub enum ChatDelta {
    Text(String),
    Reasoning(String),
    /// The provider's proof of the reasoning before it.
    Signature(String),
    /// The `index`-th tool call of this answer begins.
    ToolCall {
        index: usize,
        id: String,
        name: String,
    },
    /// The next fragment of the arguments' JSON text of the `index`-th call.
    ToolArgs {
        index: usize,
        fragment: String,
    },
    Usage(Usage),
    /// Why the model stopped, in the provider's words.
    Stop(String),
}

/// The answer as it comes. Dropping it closes the connection.
pub type ChatStream = Pin<Box<dyn Stream<Item = Result<ChatDelta, ModelError>> + Send>>;

/// A chat model.
pub trait ChatModel: Send + Sync {
    /// `provider:model`, for logs and message metadata.
    fn name(&self) -> &str;

    /// Starts a call.
    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>>;
}

/// What went wrong with a model call: enough to decide whether to try again. The message is
/// shown to callers, so that it names no key and quotes no request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelError {
    pub fault: ModelFault,
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelFault {
    /// The provider asks to come back later.
    Limited { retry_after: Option<Duration> },
    /// The provider could not be reached, or failed.
    Unavailable,
    /// The stream broke off or could not be read.
    Broken,
    /// The provider refuses the request or the key.
    Refused,
}

impl ModelError {
    pub fn new(fault: ModelFault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into() }
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        !matches!(self.fault, ModelFault::Refused)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {}
