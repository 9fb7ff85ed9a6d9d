//! Messages. The state keeps them as values and they go out as they are; these types describe
//! them. What comes in is read by [`crate::domain::message::Message::read`].

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// One message of a conversation. Members beyond these are kept.
#[derive(Serialize, ToSchema)]
pub struct Message {
    /// `user`, `assistant`, `system`, `developer` or `tool`; `type` with `human`, `ai` and so on
    /// is understood in its place.
    #[schema(example = "user")]
    pub role: String,
    pub content: Content,
    /// Given when missing; a message with the id of one that is there replaces it.
    #[schema(nullable = false)]
    pub id: Option<String>,
    /// Of a tool message: the tool.
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// What an assistant message asks for.
    #[schema(nullable = false)]
    pub tool_calls: Option<Vec<MessageToolCall>>,
    /// Of a tool message: the call that it answers.
    #[schema(nullable = false)]
    pub tool_call_id: Option<String>,
    /// Of a tool message: `success` or `error`.
    #[schema(nullable = false)]
    pub status: Option<String>,
    /// Whatever the sender says about it.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub metadata: Option<Map<String, Value>>,
}

/// Plain text, or blocks.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

/// A block of content, such as `{"type": "text", "text": "…"}`. Members beyond these are kept.
#[derive(Serialize, ToSchema)]
pub struct ContentBlock {
    #[schema(example = "text")]
    pub r#type: String,
    #[schema(nullable = false)]
    pub text: Option<String>,
    #[schema(value_type = Option<Object>, nullable = false)]
    pub metadata: Option<Map<String, Value>>,
}

/// A call that the assistant asks for.
#[derive(Serialize, ToSchema)]
pub struct MessageToolCall {
    pub id: String,
    pub name: String,
    #[schema(value_type = Object)]
    pub args: Value,
}
