//! Agents that are described rather than programmed: a ReAct agent from its parts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::agents::demo;
use crate::agents::react::{Policy, React, Subagent, Trim};
use crate::agents::registry::{Agent, Registry};
use crate::agents::review::Allowed;
use crate::domain::ports::BoxFuture;
use crate::models::chat::ChatOptions;
use crate::models::{ChatModel, ChatRequest, ChatStream, ModelError, ModelFault};
use crate::tools::Tools;

/// A model, or why it cannot be asked.
pub type Reach = Result<Arc<dyn ChatModel>, String>;

/// What an agent is made of. Under the id of an agent that is there, what is `None` stays.
#[derive(Clone, Default)]
pub struct Described {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub model: Option<Reach>,
    pub fallback: Option<Reach>,
    pub prompt: Option<String>,
    pub tools: Option<Tools>,
    pub review: BTreeMap<String, Vec<Allowed>>,
    pub review_locked: bool,
    /// Ids of the agents it may ask, by the tool `task`.
    pub subagents: Vec<String>,
    pub options: ChatOptions,
    pub trim: Trim,
    pub metadata: Map<String, Value>,
}

/// Adds agents to those that are there, whichever order they are described in.
///
/// # Errors
/// Everything that is wrong with them, a sentence each that begins with the key at fault.
pub fn add(mut registry: Registry, described: Vec<Described>) -> Result<Registry, Vec<String>> {
    let mut problems = Vec::new();
    let mut waiting = described;
    while !waiting.is_empty() {
        let ids: BTreeSet<String> = waiting.iter().map(|one| one.id.clone()).collect();
        let (ready, later): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .partition(|one| !one.subagents.iter().any(|other| ids.contains(other)));
        if ready.is_empty() {
            problems.extend(later.iter().map(|one| {
                let id = &one.id;
                format!("agents.{id}.subagents: the agents ask each other in a circle; break it")
            }));
            break;
        }
        for one in ready {
            match agent(&registry, &one) {
                Ok(agent) => registry = registry.with(agent),
                Err(wrong) => problems.extend(wrong),
            }
        }
        waiting = later;
    }
    if problems.is_empty() { Ok(registry) } else { Err(problems) }
}

fn agent(registry: &Registry, one: &Described) -> Result<Agent, Vec<String>> {
    let mut problems = Vec::new();
    let id = one.id.clone();
    let mut wrong = |key: &str, what: String| problems.push(format!("agents.{id}.{key}: {what}"));
    let standing = registry.get(&id).filter(|agent| agent.id.as_str() == id);
    let relabels = one.model.is_none() && one.tools.is_none() && one.subagents.is_empty();
    let template = demo::template(&id);
    if let (Some(standing), None, true) = (&standing, &template, relabels) {
        return Ok(labelled((**standing).clone(), one));
    }
    let mut react = template.unwrap_or_else(|| React::new(unavailable("it has no model")));
    let mut reason = None;
    match (&one.model, &one.fallback) {
        (Some(Ok(model)), _) => react.model = model.clone(),
        (Some(Err(why)), fallback) => {
            react.model = unavailable(why);
            reason = (!matches!(fallback, Some(Ok(_)))).then(|| why.clone());
        }
        (None, _) if standing.is_none() || demo::template(&id).is_none() => {
            wrong("model", "it is missing; write `provider:MODEL`, or `scripted`".to_owned());
        }
        (None, _) => {}
    }
    react.fallback = match &one.fallback {
        Some(Ok(model)) => Some(model.clone()),
        Some(Err(why)) => Some(unavailable(why)),
        None => react.fallback,
    };
    let schema = one.options.response_schema.as_ref();
    if let Some(Err(error)) = schema.map(jsonschema::validator_for) {
        wrong("response_schema", format!("this is no JSON Schema: {error}"));
    }
    react.prompt = one.prompt.clone().or(react.prompt);
    react.tools = one.tools.clone().unwrap_or(react.tools);
    react.options = one.options.clone();
    react.trim = one.trim;
    let mut graphs = Vec::new();
    for other in &one.subagents {
        match registry.get(other) {
            Some(agent) => graphs.push((other.clone(), agent)),
            None => wrong("subagents", format!("there is no agent `{other}`")),
        }
    }
    if !graphs.is_empty() {
        let about = |(id, agent): &(String, Arc<Agent>)| format!("{id}: {}", agent.description);
        let about: Vec<String> = graphs.iter().map(about).collect();
        let purpose = format!("Gives a task to another agent. {}", about.join(" "));
        let graphs = graphs.into_iter().map(|(id, agent)| (id, agent.graph.clone())).collect();
        react.subagents = vec![Subagent::task(&purpose, graphs)];
    }
    for tool in one.review.keys() {
        if react.tools.is_complete() && !react.has(tool) {
            wrong("review", format!("the agent has no tool `{tool}`"));
        }
    }
    let by_tool = react.policy.by_tool.into_iter().chain(one.review.clone()).collect();
    react.policy = Policy { by_tool, locked: one.review_locked, ..react.policy };
    let name = one.name.clone().unwrap_or_else(|| id.clone());
    let built = react.agent(&id, &name).map_err(|error| vec![format!("agents.{id}: {error}")]);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut agent = built?;
    if let Some(standing) = standing {
        agent.name.clone_from(&standing.name);
        agent.description.clone_from(&standing.description);
        agent.metadata.clone_from(&standing.metadata);
        agent.aliases.clone_from(&standing.aliases);
    }
    agent.unavailable = reason;
    Ok(labelled(agent, one))
}

fn labelled(mut agent: Agent, one: &Described) -> Agent {
    if let Some(name) = &one.name {
        agent.name.clone_from(name);
    }
    if let Some(description) = &one.description {
        agent.description.clone_from(description);
    }
    agent.metadata.extend(one.metadata.clone());
    agent
}

/// A model that cannot be asked: it fails with the reason.
struct Unavailable(String);

fn unavailable(why: &str) -> Arc<dyn ChatModel> {
    Arc::new(Unavailable(why.to_owned()))
}

impl ChatModel for Unavailable {
    fn name(&self) -> &'static str {
        "unavailable"
    }

    fn stream(&self, _request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let error = ModelError::new(ModelFault::Refused, self.0.as_str());
        Box::pin(std::future::ready(Err(error)))
    }
}
