//! The node `llm_call`: asks the model, and streams what it says.

use std::sync::Arc;

use futures::StreamExt;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::agents::react::{CLIENT_CALLS, React, STRUCTURED, history};
use crate::domain::message::{Message, Role, Usage};
use crate::domain::run::RunError;
use crate::domain::state::State;
use crate::domain::tool::ToolSpec;
use crate::engine::{Cx, Halt, MessageWriter, Update};
use crate::models::{ChatDelta, ChatModel, ChatRequest, ChatStream, ModelError, ModelFault};

/// The code of a run whose model failed.
const MODEL_ERROR: &str = "ModelError";
/// The code of a run whose model did not answer as it was told to.
const INVALID_ANSWER: &str = "invalid_answer";

pub(super) async fn run(agent: Arc<React>, state: State, cx: Cx) -> Result<Update, Halt> {
    let agent = agent.loaded().await;
    let mut messages = state.messages();
    // The first id is the answer's.
    let repaired = history::missing_results(&messages, |ordinal| cx.message_id(ordinal + 1));
    messages.extend(repaired.iter().cloned());
    let client_tools = client_tools(&agent, &cx);
    let request = request(&agent, messages, client_tools, &cx);
    let answer = ask(&agent, request.clone(), &cx).await?;
    let answer = mark_clients(answer, &request.client_tools);
    let structured = structured(&agent, &answer)?;
    let update = Update::new().messages(repaired).message(answer);
    Ok(match structured {
        Some(value) => update.set(STRUCTURED, value),
        None => update,
    })
}

/// The value of a final answer that is to follow a schema.
fn structured(agent: &React, answer: &Message) -> Result<Option<Value>, Halt> {
    let calls = !answer.tool_calls.is_empty() || !answer.invalid_tool_calls.is_empty();
    let Some(schema) = agent.options.response_schema.as_ref().filter(|_| !calls) else {
        return Ok(None);
    };
    let read: Option<Value> = serde_json::from_str(&answer.text()).ok();
    match read.filter(|value| jsonschema::is_valid(schema, value)) {
        Some(value) => Ok(Some(value)),
        None => Err(Halt::coded(INVALID_ANSWER, "the answer does not follow its schema")),
    }
}

/// The caller's tools that this agent has none of the same name for: the server's win.
fn client_tools(agent: &React, cx: &Cx) -> Vec<ToolSpec> {
    let own = |name: &str| {
        agent.tools.get(name).is_some() || agent.subagents.iter().any(|sub| sub.spec.name == name)
    };
    let offered = cx.client_tools().iter();
    offered
        .filter_map(|tool| serde_json::from_value::<ToolSpec>(tool.clone()).ok())
        .filter(|tool| !own(&tool.name))
        .collect()
}

fn request(
    agent: &React,
    messages: Vec<Message>,
    client_tools: Vec<ToolSpec>,
    cx: &Cx,
) -> ChatRequest {
    let prompt =
        agent.prompt.iter().map(|text| Message::new("prompt", Role::System, text.as_str()));
    let history = history::trimmed(history::in_order(messages), agent.trim);
    let subagents = agent.subagents.iter().map(|subagent| subagent.spec.clone());
    ChatRequest {
        messages: prompt.chain(history).collect(),
        tools: agent.tools.specs().into_iter().chain(subagents).collect(),
        client_tools,
        options: agent.options.clone(),
        seed: Uuid::new_v5(&cx.task_id().0, b"model"),
        timer: cx.timer(),
    }
}

/// Asks the model; the fallback if it fails for good.
async fn ask(agent: &React, request: ChatRequest, cx: &Cx) -> Result<Message, Halt> {
    match speak(&*agent.model, request.clone(), cx).await {
        Ok(message) => Ok(message),
        Err(error) => match &agent.fallback {
            Some(fallback) => speak(&**fallback, request, cx).await.map_err(|error| halt(&error)),
            None => Err(halt(&error)),
        },
    }
}

fn halt(error: &ModelError) -> Halt {
    Halt::coded(MODEL_ERROR, &error.message)
}

/// Streams one answer. What was shown of an answer that broke off is void.
async fn speak(
    model: &dyn ChatModel,
    request: ChatRequest,
    cx: &Cx,
) -> Result<Message, ModelError> {
    let stream = model.stream(request).await?;
    let metadata = Map::from_iter([("model".to_owned(), Value::from(model.name()))]);
    let mut writer = cx.stream_message_with(cx.message_id(0), metadata.clone()).await;
    match write(stream, &mut writer).await {
        Ok((usage, stop)) => {
            let mut message = writer.finish_with(usage, stop).await;
            message.metadata = Some(metadata);
            Ok(message)
        }
        Err(error) => {
            writer.fail(RunError::new(MODEL_ERROR, &error.message)).await;
            Err(error)
        }
    }
}

type Ending = (Option<Usage>, Option<String>);

/// Writes the deltas as blocks.
async fn write(mut stream: ChatStream, writer: &mut MessageWriter) -> Result<Ending, ModelError> {
    let (mut usage, mut stop) = (None, None);
    let mut current = None;
    while let Some(delta) = stream.next().await {
        match delta? {
            ChatDelta::Text(text) => writer.text(text).await,
            ChatDelta::Reasoning(text) => writer.reasoning(text).await,
            ChatDelta::Signature(proof) => writer.sign(proof),
            ChatDelta::ToolCall { index, id, name } => {
                current = Some(index);
                writer.tool_call(id, name).await;
            }
            ChatDelta::ToolArgs { index, fragment } if current == Some(index) => {
                writer.args(fragment).await;
            }
            // Blocks do not interleave: providers finish one call before the next.
            ChatDelta::ToolArgs { .. } => {
                let why = "the model wrote to a tool call that it had finished";
                return Err(ModelError::new(ModelFault::Broken, why));
            }
            ChatDelta::Usage(taken) => usage = Some(taken),
            ChatDelta::Stop(reason) => stop = Some(reason),
        }
    }
    Ok((usage, stop))
}

/// Notes in the message which of its calls the caller executes.
fn mark_clients(mut message: Message, client_tools: &[ToolSpec]) -> Message {
    let is_clients = |name: &str| client_tools.iter().any(|tool| tool.name == name);
    let ids: Vec<&str> = message
        .tool_calls
        .iter()
        .filter(|call| is_clients(&call.name))
        .map(|call| call.id.as_str())
        .collect();
    if !ids.is_empty() {
        let ids = json!(ids);
        message.metadata.get_or_insert_default().insert(CLIENT_CALLS.to_owned(), ids);
    }
    message
}
