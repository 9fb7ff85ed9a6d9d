//! Tool messages: what the model is told of its calls.

use serde_json::json;

use crate::agents::review::Decision;
use crate::domain::message::{Message, ToolCall, ToolStatus};
use crate::engine::Cx;
use crate::tools::Failure;

/// What a tool came to; a failure is a result too, and the model may try otherwise.
pub(super) fn of(id: &str, call: &ToolCall, outcome: Result<String, Failure>) -> Message {
    match outcome {
        Ok(content) => Message::tool(id, &*call.id, &*call.name, content),
        Err(failure) => failed(id, &call.id, &call.name, &failure.message),
    }
}

fn failed(id: &str, call_id: &str, name: &str, why: &str) -> Message {
    let mut message = Message::tool(id, call_id, name, why);
    message.status = Some(ToolStatus::Error);
    message
}

/// A person does not want the call.
pub(super) fn rejected(id: &str, call: &ToolCall, why: Option<&str>) -> Message {
    let text = match why {
        Some(why) => format!("The call of {} was rejected: {why}", call.name),
        None => format!("The call of {} was rejected.", call.name),
    };
    failed(id, &call.id, &call.name, &text)
}

/// A person answers in the tool's place.
pub(super) fn responded(id: &str, call: &ToolCall, text: &str) -> Message {
    Message::tool(id, &*call.id, &*call.name, text)
}

/// Notes what was decided, by whom, when, and in which run the answer came.
pub(super) fn with_decision(mut message: Message, decision: &Decision, cx: &Cx) -> Message {
    let mut noted = match decision {
        Decision::Approve => json!({"type": "approve"}),
        Decision::Edit { args } => json!({"type": "edit", "args": args}),
        Decision::Reject { message } => json!({"type": "reject", "message": message}),
        Decision::Respond { .. } => json!({"type": "respond"}),
    };
    if let Some(members) = noted.as_object_mut() {
        members.insert("by".to_owned(), cx.owner().to_string().into());
        members.insert("at".to_owned(), cx.now().to_rfc3339().into());
        members.insert("run_id".to_owned(), json!(cx.run_id()));
    }
    message.metadata.get_or_insert_default().insert("decision".to_owned(), noted);
    message
}

/// What is wrong with calls that could not be read.
pub(super) fn of_invalid_calls(
    message: &Message,
    mut id: impl FnMut(usize) -> String,
) -> Vec<Message> {
    let invalid = message.invalid_tool_calls.iter().enumerate();
    invalid
        .map(|(ordinal, call)| {
            let (call_id, name) = (call.id.as_deref(), call.name.as_deref());
            let why = call.error.as_deref().unwrap_or("the call could not be read");
            failed(&id(ordinal), call_id.unwrap_or_default(), name.unwrap_or_default(), why)
        })
        .collect()
}
