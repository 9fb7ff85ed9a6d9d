//! `echo`: answers with what it was told.

use crate::agents::registry::Agent;
use crate::domain::State;
use crate::domain::message::{Message, Role};
use crate::engine::{BuildError, END, Graph, START};

pub(crate) fn agent() -> Result<Agent, BuildError> {
    let graph = Graph::builder("echo")
        .node("echo", |state, cx| async move {
            let mut writer = cx.stream_message(cx.message_id(0)).await;
            writer.text(format!("echo: {}", last_said(&state))).await;
            Ok(writer.finish().await)
        })
        .edge(START, "echo")
        .edge("echo", END)
        .build()?;
    let agent = Agent::new("echo", "Echo", graph).described("Answers with what it was told.");
    Ok(agent.takes_anything())
}

/// The text of the last user message.
pub(crate) fn last_said(state: &State) -> String {
    let messages = state.message_values().rev();
    let mut said = messages.filter_map(|value| Message::from_value(value));
    said.find(|message| message.role == Role::User)
        .map(|message| message.text())
        .unwrap_or_default()
}
