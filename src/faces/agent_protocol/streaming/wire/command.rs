//! What a client asks for: the commands' params. CDDL, sections 3, 4a, 6, 7, 10 and 11.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::NamespacePath;
use crate::domain::error::{Error, Result};
use crate::domain::run::RunConfig;

/// The largest number that is exact in JavaScript.
const MAX_ID: u64 = (1 << 53) - 1;

/// A command with its params still unread.
#[derive(Debug)]
pub struct Envelope {
    pub id: u64,
    pub method: String,
    pub params: Value,
}

impl Envelope {
    /// Reads a message of a client's.
    ///
    /// # Errors
    /// What is wrong with it, and the command's id if that could be read.
    pub fn read(message: Value) -> Result<Self, (Option<u64>, Error)> {
        let Value::Object(mut members) = message else {
            return Err((None, Error::invalid("command", "a command must be an object")));
        };
        let id = members.get("id").and_then(Value::as_u64).filter(|id| *id <= MAX_ID);
        let Some(id) = id else {
            let why = format!("id must be a whole number from 0 to {MAX_ID}");
            return Err((None, Error::invalid("id", why)));
        };
        let Some(Value::String(method)) = members.remove("method") else {
            return Err((Some(id), Error::invalid("method", "method must be a string")));
        };
        let params = match members.remove("params") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(params @ Value::Object(_)) => params,
            Some(_) => {
                return Err((Some(id), Error::invalid("params", "params must be an object")));
            }
        };
        Ok(Self { id, method, params })
    }
}

#[derive(Deserialize)]
pub struct RunStartParams {
    #[serde(rename = "assistantId", alias = "assistant_id", alias = "agent_id")]
    pub assistant_id: String,
    /// Required, but may be null.
    #[serde(deserialize_with = "any")]
    pub input: Value,
    pub config: Option<Config>,
    pub metadata: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRespondParams {
    pub namespace: Option<NamespacePath>,
    #[serde(alias = "interrupt_id")]
    pub interrupt_id: Option<String>,
    /// `Some` whenever it is there.
    #[serde(default, deserialize_with = "present")]
    pub response: Option<Value>,
    pub responses: Option<Vec<InputRespondEntry>>,
    pub update: Option<Map<String, Value>>,
    pub goto: Option<OneOrMany<Goto>>,
    pub config: Option<Config>,
    pub metadata: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRespondEntry {
    pub namespace: NamespacePath,
    #[serde(alias = "interrupt_id")]
    pub interrupt_id: String,
    #[serde(deserialize_with = "any")]
    pub response: Value,
}

#[derive(Deserialize)]
pub struct InputInjectParams {
    pub namespace: NamespacePath,
    pub message: InputMessage,
}

/// A message from outside the graph. Other members are kept.
#[derive(Deserialize)]
pub struct InputMessage {
    pub role: InputRole,
    pub content: String,
    pub name: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputRole {
    User,
    System,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateGetParams {
    pub namespace: NamespacePath,
    pub keys: Option<Vec<String>>,
    /// An older entry of the history; beyond the CDDL, which has no other way to look at one.
    #[serde(alias = "checkpoint_id")]
    pub checkpoint_id: Option<String>,
}

#[derive(Deserialize)]
pub struct ListCheckpointsParams {
    pub namespace: Option<NamespacePath>,
    pub limit: Option<u32>,
    pub before: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateForkParams {
    #[serde(alias = "checkpoint_id")]
    pub checkpoint_id: String,
    pub input: Option<Value>,
    pub config: Option<Config>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentGetTreeParams {
    #[serde(alias = "run_id")]
    pub run_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnsubscribeParams {
    #[serde(alias = "subscription_id")]
    pub subscription_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconnectParams {
    #[serde(alias = "run_id")]
    pub run_id: String,
    #[serde(alias = "last_event_id")]
    pub last_event_id: Option<String>,
    pub subscriptions: Option<Vec<String>>,
}

/// How the agent is to work. Members beyond these are ignored.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    pub tags: Option<Vec<String>>,
    #[serde(alias = "recursion_limit")]
    pub recursion_limit: Option<u32>,
    pub configurable: Option<Map<String, Value>>,
}

impl Config {
    pub fn read(self) -> Result<RunConfig> {
        if self.recursion_limit == Some(0) {
            let field = "config.recursionLimit";
            return Err(Error::invalid(field, format!("{field} must be at least 1")));
        }
        Ok(RunConfig {
            tags: self.tags.unwrap_or_default(),
            recursion_limit: self.recursion_limit,
            configurable: self.configurable.unwrap_or_default(),
        })
    }
}

/// Where the graph is to go on: a node, or a node with an input of its own.
#[derive(Deserialize)]
#[serde(untagged, expecting = "goto must be a node, {node, input}, or a list of them")]
pub enum Goto {
    Node(String),
    Send(RunSend),
}

#[derive(Deserialize)]
pub struct RunSend {
    pub node: String,
    pub input: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "goto must be a node, {node, input}, or a list of them")]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    pub fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// For a member that must be there but may be null.
fn any<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Value::deserialize(deserializer)
}

/// For a member whose null says something.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
