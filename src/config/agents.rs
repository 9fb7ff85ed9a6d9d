//! Agents, models and tools, as a configuration names them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// `[agents.NAME]`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    pub name: Option<String>,
    #[serde(default)]
    pub description: String,
    /// `react`, the only kind so far.
    #[serde(default = "react")]
    pub kind: String,
    /// `provider:model`.
    pub model: String,
    /// Asked instead when the model fails for good.
    pub fallback_model: Option<String>,
    pub prompt: Option<String>,
    /// Builtins by name, `mcp:NAME`, `http:NAME`.
    #[serde(default)]
    pub tools: Vec<String>,
    /// By tool, the decisions a person may take before a call runs.
    #[serde(default)]
    pub review: BTreeMap<String, Vec<String>>,
    /// The caller may not ask for a weaker review.
    #[serde(default)]
    pub review_locked: bool,
    /// Agents that this one may ask, as tools.
    #[serde(default)]
    pub subagents: Vec<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    /// A JSON Schema that the answer is to follow.
    pub response_schema: Option<Value>,
    /// Of the history, the model sees at most this many turns.
    pub history_turns: Option<usize>,
    /// Of the history, the model sees at most about this many tokens.
    pub history_tokens: Option<usize>,
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

fn react() -> String {
    "react".to_owned()
}

/// `[models.NAME]`: a provider under an address of its own.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// The wire format.
    pub provider: ModelWire,
    pub base_url: Option<String>,
    /// The variable that holds the key; without it none is sent.
    pub api_key_env: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default = "two_minutes")]
    pub timeout_seconds: u64,
}

fn two_minutes() -> u64 {
    120
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelWire {
    Openai,
    Anthropic,
}

/// `[mcp.NAME]`: a server of tools, started as a command or reached over HTTP.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub url: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default = "half_a_minute")]
    pub timeout_seconds: u64,
}

fn half_a_minute() -> u64 {
    30
}

/// `[http.NAME]`: one request as a tool.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpToolSettings {
    pub description: String,
    #[serde(default = "get")]
    pub method: String,
    /// `{name}` stands for an argument.
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A JSON Schema of the arguments.
    #[serde(default = "crate::config::agents::no_parameters")]
    pub parameters: Value,
    #[serde(default = "half_a_minute")]
    pub timeout_seconds: u64,
    #[serde(default = "one_mebibyte")]
    pub max_bytes: usize,
}

fn get() -> String {
    "GET".to_owned()
}

fn one_mebibyte() -> usize {
    1 << 20
}

fn no_parameters() -> Value {
    serde_json::json!({"type": "object", "properties": {}})
}
