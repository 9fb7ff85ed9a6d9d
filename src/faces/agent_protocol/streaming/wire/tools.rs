//! Tools at work. CDDL, section 9.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ToolsData {
    ToolStarted {
        tool_call_id: Arc<str>,
        tool_name: Arc<str>,
        input: Value,
    },
    ToolOutputDelta {
        tool_call_id: Arc<str>,
        delta: String,
    },
    ToolFinished {
        tool_call_id: Arc<str>,
        output: Value,
    },
    ToolError {
        tool_call_id: Arc<str>,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
}
