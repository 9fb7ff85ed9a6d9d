//! A tool as a model is told of it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Name, purpose and parameters of something that a model may call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// A JSON Schema of the arguments: an object.
    #[serde(default = "no_parameters")]
    pub parameters: Value,
}

/// The schema of a tool that takes no arguments.
pub fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

/// How much harm a call can do. Order is by harm.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    #[default]
    None,
    Low,
    Medium,
    High,
}
