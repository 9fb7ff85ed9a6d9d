//! Messages, block by block. CDDL, section 8.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{BlockDelta, ContentBlock};

/// Who speaks. Results of tools are not messages here: they are on the channel `tools`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    Ai,
    Human,
    System,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum MessagesData {
    MessageStart {
        role: MessageRole,
        id: Arc<str>,
        /// Scalars only.
        #[serde(skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    },
    ContentBlockStart {
        index: u32,
        content: ContentBlock,
    },
    ContentBlockDelta {
        index: u32,
        delta: BlockDelta,
    },
    ContentBlockFinish {
        index: u32,
        content: ContentBlock,
    },
    MessageFinish {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<UsageInfo>,
    },
    /// The message broke off; what came of it is void.
    Error {
        message: String,
        code: String,
    },
}

#[derive(Clone, PartialEq, Default, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_token_details: Option<InputTokenDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_token_details: Option<OutputTokenDetails>,
}

#[derive(Clone, PartialEq, Default, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputTokenDetails {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_creation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
}

#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct OutputTokenDetails {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}
