//! Shows a tool at work: its start, what it writes on the way, its result.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::event::RunEvent;
use crate::domain::message::{Message, ToolStatus};
use crate::engine::cx::Cx;

/// A tool call that is being executed.
pub struct ToolCall {
    cx: Cx,
    call_id: Arc<str>,
    name: Arc<str>,
}

impl Cx {
    /// A tool starts on the call `call_id`.
    pub async fn tool(
        &self,
        call_id: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        input: Value,
    ) -> ToolCall {
        let (call_id, name) = (call_id.into(), name.into());
        let event = RunEvent::ToolStarted {
            call_id: call_id.clone(),
            name: name.clone(),
            node: self.node().clone(),
            input,
        };
        self.emit(event).await;
        ToolCall { cx: self.clone(), call_id, name }
    }
}

impl ToolCall {
    /// What the tool writes while it works.
    pub async fn output(&self, delta: impl Into<String>) {
        let (call_id, delta) = (self.call_id.clone(), delta.into());
        self.cx.emit(RunEvent::ToolOutput { call_id, delta }).await;
    }

    /// The tool is done; `message` is its result, and whether it failed.
    pub async fn finish(self, message: &Message) {
        self.cx.notes().kept.shown.insert(message.id.as_str().into());
        let event = RunEvent::ToolFinished {
            call_id: self.call_id,
            name: self.name,
            node: self.cx.node().clone(),
            message: Arc::new(message.to_value()),
            failed: message.status == Some(ToolStatus::Error),
        };
        self.cx.emit(event).await;
    }
}
