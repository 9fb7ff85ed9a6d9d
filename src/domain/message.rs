//! The one message type. Conversions to each wire form live with that wire form.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::domain::error::{Error, Result};

/// The channel whose contents every face shows as `messages`.
pub const CHANNEL: &str = "messages";

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

impl Role {
    pub const NAMES: &str = "user, assistant, system, developer or tool";

    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role that `text` names: our own words, and `human` and `ai`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "system" => Some(Self::System),
            "developer" => Some(Self::Developer),
            "user" | "human" => Some(Self::User),
            "assistant" | "ai" | "AIMessageChunk" => Some(Self::Assistant),
            "tool" => Some(Self::Tool),
            _ => None,
        }
    }
}

/// Plain text, or content blocks kept as they came (`{type: "text" | "image" | …}`).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Blocks(Vec<Value>),
}

impl Content {
    /// All text in it, in order.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => blocks
                .iter()
                .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
                .filter_map(|block| block.get("text").and_then(Value::as_str))
                .collect(),
        }
    }
}

/// A call that the assistant asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub args: Value,
}

/// A call whose arguments could not be read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InvalidToolCall {
    pub id: Option<String>,
    pub name: Option<String>,
    /// The arguments as the model wrote them.
    pub args: Option<String>,
    pub error: Option<String>,
}

/// How a tool call went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    Success,
    Error,
}

/// Tokens that a model call took; what the provider does not tell is absent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u64>,
}

/// One message of a conversation. Members beyond these are kept as they came.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Message {
    pub id: String,
    pub role: Role,
    pub content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid_tool_calls: Vec<InvalidToolCall>,
    /// Of a tool message: the call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    pub fn new(id: impl Into<String>, role: Role, content: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            role,
            content: Content::Text(content.into()),
            name: None,
            tool_calls: Vec::new(),
            invalid_tool_calls: Vec::new(),
            tool_call_id: None,
            status: None,
            usage: None,
            metadata: None,
            extra: Map::new(),
        }
    }

    pub fn user(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(id, Role::User, text)
    }

    pub fn assistant(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(id, Role::Assistant, text)
    }

    /// The result of the call `call_id`.
    pub fn tool(
        id: impl Into<String>,
        call_id: impl Into<String>,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            tool_call_id: Some(call_id.into()),
            name: Some(name.into()),
            status: Some(ToolStatus::Success),
            ..Self::new(id, Role::Tool, text)
        }
    }

    /// Reads a message as callers write it: `role`, or `type` in LangChain's words; `content`
    /// absent or null means empty; without an `id` it gets `fallback`.
    ///
    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming the member below `field`.
    pub fn read(field: &str, value: &Value, fallback: impl FnOnce() -> String) -> Result<Self> {
        let Value::Object(members) = value else {
            return Err(Error::invalid(field, format!("{field} must be a message object")));
        };
        let mut members = members.clone();
        members.retain(|_, member| !member.is_null());
        let spoken = members.get("role").or_else(|| members.get("type")).cloned();
        let role =
            spoken.as_ref().and_then(Value::as_str).and_then(Role::parse).ok_or_else(|| {
                let field = format!("{field}.role");
                Error::invalid(&field, format!("{field} must be {}", Role::NAMES))
            })?;
        if members.remove("role").is_none() || members.get("type") == spoken.as_ref() {
            members.remove("type");
        }
        members.insert("role".to_owned(), role.as_str().into());
        members.entry("content").or_insert_with(|| "".into());
        if !members.contains_key("id") {
            members.insert("id".to_owned(), fallback().into());
        }
        serde_path_to_error::deserialize(Value::Object(members)).map_err(|wrong| {
            let at = format!("{field}.{}", wrong.path());
            Error::invalid(&at, format!("{at} is not what a message has there"))
                .caused_by(wrong.into_inner())
        })
    }

    /// The message as the state keeps it.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// The message behind a value that [`Message::to_value`] made; `None` for anything else.
    pub fn from_value(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    pub fn text(&self) -> String {
        self.content.text()
    }
}

impl From<Message> for Value {
    fn from(message: Message) -> Self {
        message.to_value()
    }
}

/// The id of the `ordinal`-th message that `source` (a run or a task) makes.
pub fn derived_id(source: Uuid, ordinal: usize) -> String {
    Uuid::new_v5(&source, format!("message:{ordinal}").as_bytes()).to_string()
}
