//! The ReAct agent: a model that calls tools until it has an answer.
//!
//! Two nodes take turns: `llm_call` asks the model, `tool_node` executes what it calls. Calls that
//! need a person's decision are asked for inside `tool_node`; calls of tools that the caller
//! executes itself end the run, and their results come with a later one.

mod history;
mod llm_call;
mod policy;
mod results;
#[cfg(test)]
mod tests;
mod tool_node;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::agents::registry::{Agent, Schemas};
use crate::domain::message::{Message, Role};
use crate::domain::state::State;
use crate::domain::tool::ToolSpec;
use crate::engine::{BuildError, END, Graph, START};
use crate::models::ChatModel;
use crate::models::chat::ChatOptions;
use crate::tools::tool::check_args;
use crate::tools::{Failure, Tools};

pub use policy::{Mode, Policy};

const LLM_CALL: &str = "llm_call";
const TOOL_NODE: &str = "tool_node";
/// The channel of a final answer that follows a schema.
const STRUCTURED: &str = "structured_response";
/// The member of an assistant message's metadata that names the calls the caller executes.
const CLIENT_CALLS: &str = "client_tool_calls";

/// What a ReAct agent is made of.
#[derive(Clone)]
pub struct React {
    pub model: Arc<dyn ChatModel>,
    /// Asked instead when the model fails for good.
    pub fallback: Option<Arc<dyn ChatModel>>,
    pub prompt: Option<String>,
    pub tools: Tools,
    pub subagents: Vec<Subagent>,
    pub policy: Policy,
    pub options: ChatOptions,
    pub trim: Trim,
}

/// An agent that this one may ask, as a tool with one argument, `description`.
#[derive(Clone)]
pub struct Subagent {
    pub spec: ToolSpec,
    /// By the name that the argument `agent` gives; without it the first one is asked.
    pub graphs: Vec<(String, Arc<Graph>)>,
}

impl Subagent {
    /// The tool `task`, which asks one of these.
    pub fn task(description: &str, graphs: Vec<(String, Arc<Graph>)>) -> Self {
        let mut properties = json!({"description": {"type": "string"}});
        if let (Some(members), true) = (properties.as_object_mut(), graphs.len() > 1) {
            let names: Vec<&str> = graphs.iter().map(|(name, _)| name.as_str()).collect();
            members.insert("agent".to_owned(), json!({"enum": names}));
        }
        let parameters = json!({
            "type": "object",
            "properties": properties,
            "required": ["description"],
            "additionalProperties": false,
        });
        let (name, description) = ("task".to_owned(), description.to_owned());
        Self { spec: ToolSpec { name, description, parameters }, graphs }
    }

    fn graph(&self, name: Option<&str>) -> Option<&Arc<Graph>> {
        let named = |(known, _): &&(String, _)| name.is_none_or(|name| name == known);
        self.graphs.iter().find(named).map(|(_, graph)| graph)
    }
}

/// How much of the history the model sees; `None` is all.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Trim {
    /// A turn begins with a user message.
    pub turns: Option<usize>,
    /// Reckoned at four characters a token.
    pub tokens: Option<usize>,
}

impl React {
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self {
            model,
            fallback: None,
            prompt: None,
            tools: Tools::default(),
            subagents: Vec::new(),
            policy: Policy::default(),
            options: ChatOptions::default(),
            trim: Trim::default(),
        }
    }

    /// The graph, under this name.
    ///
    /// # Errors
    /// None that a caller can cause: the graph's form is fixed.
    pub fn graph(&self, name: &str) -> Result<Arc<Graph>, BuildError> {
        let (speaker, worker) = (Arc::new(self.clone()), Arc::new(self.clone()));
        Graph::builder(name)
            .node(LLM_CALL, move |state, cx| llm_call::run(speaker.clone(), state, cx))
            .node(TOOL_NODE, move |state, cx| tool_node::run(worker.clone(), state, cx))
            .edge(START, LLM_CALL)
            .branch(LLM_CALL, [TOOL_NODE, END], after_llm_call)
            .branch(TOOL_NODE, [LLM_CALL, END], after_tool_node)
            .build()
    }

    /// The agent, under this id.
    ///
    /// # Errors
    /// As [`React::graph`].
    pub fn agent(self, id: &str, name: &str) -> Result<Agent, BuildError> {
        let graph = self.graph(id)?;
        let mut schemas = Schemas::of(&graph).with_config(Mode::schema());
        if let Some(schema) = &self.options.response_schema {
            schemas = schemas.with_channel(STRUCTURED, schema);
        }
        Ok(Agent::new(id, name, graph)
            .with_schemas(schemas)
            .checked(|spec| Mode::read(&spec.config.configurable).map(drop))
            .checks_answers(move |asked, answer| policy::check_edits(&self, asked, answer)))
    }

    /// The same with the tools there are now.
    async fn loaded(&self) -> Self {
        Self { tools: self.tools.loaded().await, ..self.clone() }
    }

    /// A tool or subagent as the model is told of it.
    fn spec(&self, name: &str) -> Option<ToolSpec> {
        let subagent = self.subagents.iter().find(|one| one.spec.name == name);
        let tool = || self.tools.get(name).map(|tool| tool.spec().clone());
        subagent.map(|one| one.spec.clone()).or_else(tool)
    }

    /// Whether it has such a tool, as far as it is known now.
    pub fn has(&self, name: &str) -> bool {
        self.spec(name).is_some()
    }

    fn check_args(&self, name: &str, args: &Map<String, Value>) -> Result<(), Failure> {
        match self.spec(name) {
            Some(spec) => check_args(&spec, args),
            None => Err(Failure::new(format!("there is no tool {name}"))),
        }
    }
}

/// The newest assistant message, if it calls anything.
fn calling(state: &State) -> Option<Message> {
    let newest = state.message_values().rev().filter_map(|value| Message::from_value(value));
    newest
        .into_iter()
        .find(|message| message.role == Role::Assistant)
        .filter(|message| !message.tool_calls.is_empty() || !message.invalid_tool_calls.is_empty())
}

/// Whether the caller executes this call of `message`.
fn is_clients(message: &Message, call_id: &str) -> bool {
    let named = message.metadata.as_ref().and_then(|members| members.get(CLIENT_CALLS)?.as_array());
    named.is_some_and(|ids| ids.iter().any(|id| id == call_id))
}

fn after_llm_call(state: &State) -> &'static str {
    let Some(message) = calling(state) else { return END };
    let all_clients = message.tool_calls.iter().all(|call| is_clients(&message, &call.id));
    if all_clients && message.invalid_tool_calls.is_empty() { END } else { TOOL_NODE }
}

/// The model goes on, unless results are still to come from the caller.
fn after_tool_node(state: &State) -> &'static str {
    let Some(message) = calling(state) else { return LLM_CALL };
    let waits = message.tool_calls.iter().any(|call| is_clients(&message, &call.id));
    if waits { END } else { LLM_CALL }
}
