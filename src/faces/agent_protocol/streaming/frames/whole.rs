//! A message that comes whole, taken apart into the blocks that a streamed one would have had.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::wire::{InputTokenDetails, MessageRole, OutputTokenDetails, UsageInfo};
use crate::domain::event::Block;
use crate::domain::ids::RunId;
use crate::domain::message::{Content, Message, Role, Usage};

/// Members of a message's metadata that are texts, in the protocol's spelling and in ours.
const TEXTS: &[(&str, &str)] = &[
    ("provider", "provider"),
    ("model", "model"),
    ("modelType", "model_type"),
    ("runId", "run_id"),
    ("threadId", "thread_id"),
    ("systemFingerprint", "system_fingerprint"),
    ("serviceTier", "service_tier"),
];

/// A whole message.
pub(super) struct Whole {
    pub(super) id: Arc<str>,
    pub(super) role: MessageRole,
    pub(super) metadata: Map<String, Value>,
    pub(super) blocks: Vec<Block>,
    pub(super) usage: Option<UsageInfo>,
}

impl Whole {
    /// `None` for what is no message of the channel: results of tools are told as such.
    pub(super) fn read(value: &Value, run: RunId) -> Option<Self> {
        let message = Message::from_value(value)?;
        let role = role_of(message.role)?;
        let metadata = match role {
            MessageRole::Ai => metadata(&message.metadata.clone().unwrap_or_default(), run),
            MessageRole::Human | MessageRole::System => Map::new(),
        };
        let usage = message.usage.map(usage);
        Some(Self {
            id: message.id.as_str().into(),
            role,
            metadata,
            blocks: blocks(message),
            usage,
        })
    }
}

/// The protocol's word for a role; `None` for tools.
pub(super) fn role_of(role: Role) -> Option<MessageRole> {
    match role {
        Role::Assistant => Some(MessageRole::Ai),
        Role::User => Some(MessageRole::Human),
        Role::System | Role::Developer => Some(MessageRole::System),
        Role::Tool => None,
    }
}

/// What is concise enough for a message's metadata: scalars, and those with a name texts.
pub(super) fn metadata(given: &Map<String, Value>, run: RunId) -> Map<String, Value> {
    let mut kept = Map::new();
    for (key, value) in given {
        let known = TEXTS.iter().find(|(theirs, ours)| key == theirs || key == ours);
        match known {
            Some((name, _)) if value.is_string() => {
                kept.insert((*name).to_owned(), value.clone());
            }
            None if !value.is_object() && !value.is_array() => {
                kept.insert(key.clone(), value.clone());
            }
            Some(_) | None => {}
        }
    }
    if !run.0.is_nil() {
        kept.insert("runId".to_owned(), run.to_string().into());
    }
    kept
}

pub(super) fn usage(usage: Usage) -> UsageInfo {
    let cached = usage.cached_input_tokens.is_some() || usage.cache_write_input_tokens.is_some();
    UsageInfo {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
        input_token_details: cached.then_some(InputTokenDetails {
            cache_creation: usage.cache_write_input_tokens,
            cache_read: usage.cached_input_tokens,
        }),
        output_token_details: usage
            .reasoning_tokens
            .map(|tokens| OutputTokenDetails { reasoning: Some(tokens) }),
    }
}

fn blocks(message: Message) -> Vec<Block> {
    let mut blocks = match message.content {
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => vec![Block::Text { text }],
        Content::Blocks(blocks) => blocks.into_iter().map(block).collect(),
    };
    blocks.extend(message.tool_calls.into_iter().map(|call| Block::ToolCall {
        id: call.id.into(),
        name: call.name.into(),
        args: call.args.to_string(),
    }));
    blocks.extend(message.invalid_tool_calls.into_iter().map(|call| Block::InvalidToolCall {
        id: call.id.unwrap_or_default().into(),
        name: call.name.unwrap_or_default().into(),
        args: call.args.unwrap_or_default(),
        error: call.error.unwrap_or_default(),
    }));
    blocks
}

fn block(value: Value) -> Block {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("type").as_deref(), text("text"), text("reasoning")) {
        (Some("text"), Some(text), _) => Block::Text { text },
        (Some("reasoning"), _, Some(reasoning)) => {
            Block::Reasoning { signature: text("signature"), text: reasoning }
        }
        _ => Block::Other { value },
    }
}
