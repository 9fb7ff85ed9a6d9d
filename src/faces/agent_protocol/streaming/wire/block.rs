//! Content blocks and what is appended to them. CDDL, section 2.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

/// A part of a message. While a tool call is being written it is a chunk; finished, it is a call
/// with parsed arguments, or an invalid one.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        text: String,
    },
    Reasoning {
        reasoning: String,
        /// The provider's proof that the reasoning is its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    ToolCallChunk {
        id: Arc<str>,
        name: Arc<str>,
        /// The JSON text as far as it came.
        args: String,
    },
    ToolCall {
        id: Arc<str>,
        name: Arc<str>,
        args: Map<String, Value>,
    },
    InvalidToolCall {
        id: Option<Arc<str>>,
        name: Option<Arc<str>>,
        args: Option<String>,
        error: Option<String>,
    },
    /// What has no form of its own here, as it came.
    NonStandard {
        value: Map<String, Value>,
    },
    /// A block of a kind that the protocol knows, with its `type`: an image, a file, a call that
    /// the provider's server makes.
    #[serde(untagged)]
    Standard(Map<String, Value>),
}

/// What changes in the block that is being written.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BlockDelta {
    TextDelta {
        text: String,
    },
    ReasoningDelta {
        reasoning: String,
    },
    DataDelta {
        data: String,
    },
    /// `fields` replace those of the block: `args` is the whole text as far as it came.
    BlockDelta {
        fields: ToolCallFields,
    },
}

/// The one kind of block that grows by replacing its fields.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename = "tool_call_chunk")]
pub struct ToolCallFields {
    pub args: String,
}
