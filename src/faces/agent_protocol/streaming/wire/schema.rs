//! Forms that are read or written by hand, as the OpenAPI document describes them.
#![expect(dead_code, reason = "these types only describe")]

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Which events to stream.
#[derive(ToSchema)]
pub struct EventStreamRequest {
    #[schema(min_items = 1)]
    channels: Vec<StreamingChannel>,
    /// Namespaces to stream from, with those below them. All if left out.
    #[schema(nullable = false)]
    namespaces: Option<Vec<StreamingNamespace>>,
    /// Levels below each of them. All if left out.
    #[schema(nullable = false, minimum = 0)]
    depth: Option<i64>,
    /// Replay what came after this `seq`. Without it the stream begins with how things stand.
    #[schema(nullable = false, minimum = 0)]
    since: Option<i64>,
}

/// `values`, `updates`, `messages`, `tools`, `lifecycle`, `input`, `checkpoints`, `tasks`, `custom` or
/// `custom:NAME`.
#[derive(ToSchema)]
#[schema(
    pattern = "^(values|updates|messages|tools|lifecycle|input|checkpoints|tasks|custom(:.+)?)$",
    example = "messages"
)]
pub struct StreamingChannel(String);

/// A place in the tree of graphs; the empty list is the root.
#[derive(ToSchema)]
pub struct StreamingNamespace(Vec<String>);

/// A command.
#[derive(ToSchema)]
pub struct StreamingCommand {
    /// Comes back in the answer.
    #[schema(minimum = 0)]
    id: i64,
    /// `run.start`, `input.respond`, `input.inject`, `state.get`, `state.listCheckpoints`, `state.fork` or
    /// `agent.getTree`.
    #[schema(example = "run.start")]
    method: String,
    #[schema(value_type = Option<Object>, nullable = false)]
    params: Option<Value>,
}

/// What came of a command.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum StreamingCommandResponse {
    Success(StreamingSuccessResponse),
    Error(StreamingErrorResponse),
}

#[derive(Serialize, ToSchema)]
pub struct StreamingSuccessResponse {
    /// `success`
    #[schema(pattern = "^success$")]
    r#type: String,
    #[schema(minimum = 0)]
    id: i64,
    /// Depends on the command.
    #[schema(value_type = Object)]
    result: Value,
    #[schema(nullable = false)]
    meta: Option<StreamingMeta>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamingMeta {
    /// Events up to this `seq` are from before the command.
    #[schema(nullable = false, minimum = 0)]
    applied_through_seq: Option<i64>,
}

#[derive(Serialize, ToSchema)]
pub struct StreamingErrorResponse {
    /// `error`
    #[schema(pattern = "^error$")]
    r#type: String,
    /// `null` if it could not be read.
    #[schema(minimum = 0)]
    id: Option<i64>,
    /// `invalid_argument`, `unknown_command`, `unknown_error`, `no_such_run`, `no_such_subscription`,
    /// `no_such_namespace`, `no_such_interrupt`, `no_such_checkpoint`, `permission_denied` or
    /// `not_supported`.
    error: String,
    message: String,
}
