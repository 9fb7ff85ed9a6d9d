//! Which agents there are: each a graph under an id.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::agents::{demo, echo, review, steps, tokens};
use crate::domain::error::{Error, Result};
use crate::domain::ids::AgentId;
use crate::domain::run::RunSpec;
use crate::engine::Graph;

/// JSON Schemas of an agent. Agent Protocol, `AgentSchema`.
#[derive(Clone, PartialEq, Debug)]
pub struct Schemas {
    pub input: Value,
    pub output: Value,
    pub state: Value,
    pub config: Value,
}

/// What an agent does with an input that is neither text, nor messages, nor an object.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OtherInput {
    #[default]
    Refused,
    /// Its compact JSON is taken as text.
    AsText,
}

type AnswerCheck = Arc<dyn Fn(&Value, &Value) -> Result<()> + Send + Sync>;
type Check = Arc<dyn Fn(&RunSpec) -> Result<()> + Send + Sync>;

/// An agent as callers know it, with the graph that it runs.
#[derive(Clone)]
pub struct Agent {
    pub id: AgentId,
    pub name: String,
    pub description: String,
    pub metadata: Map<String, Value>,
    /// `ap.io.messages`, `ap.io.streaming` and others.
    pub capabilities: Map<String, Value>,
    pub schemas: Schemas,
    /// Other ids it answers to, wherever an agent id goes.
    pub aliases: Vec<String>,
    /// Why it cannot run, if it cannot.
    pub unavailable: Option<String>,
    pub graph: Arc<Graph>,
    pub other_input: OtherInput,
    check: Option<Check>,
    answer_check: Option<AnswerCheck>,
}

impl Agent {
    /// An agent that takes messages and streams; its schemas are those that its graph declares.
    pub fn new(id: &str, name: &str, graph: Arc<Graph>) -> Self {
        let capabilities = json!({"ap.io.messages": true, "ap.io.streaming": true});
        Self {
            id: AgentId::new(id),
            name: name.to_owned(),
            description: String::new(),
            metadata: Map::new(),
            capabilities: capabilities.as_object().cloned().unwrap_or_default(),
            schemas: Schemas::of(&graph),
            aliases: Vec::new(),
            unavailable: None,
            graph,
            other_input: OtherInput::default(),
            check: None,
            answer_check: None,
        }
    }

    #[must_use]
    pub fn described(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }

    #[must_use]
    pub fn alias(mut self, id: &str) -> Self {
        self.aliases.push(id.to_owned());
        self
    }

    #[must_use]
    pub fn with_schemas(mut self, schemas: Schemas) -> Self {
        self.schemas = schemas;
        self
    }

    /// Any input that is not a text, messages or an object is taken as text.
    #[must_use]
    pub fn takes_anything(mut self) -> Self {
        self.other_input = OtherInput::AsText;
        self
    }

    /// What is refused when a run is accepted, besides what every agent refuses.
    /// Refuses answers to its questions beyond what [`review::check`] refuses: given are what was
    /// asked and the answer.
    #[must_use]
    pub fn checks_answers(
        mut self,
        check: impl Fn(&Value, &Value) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.answer_check = Some(Arc::new(check));
        self
    }

    /// Whether `answer` may be given to what it asked.
    ///
    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid), usually code `invalid_decision`.
    pub fn check_answer(&self, asked: &Value, answer: &Value) -> Result<()> {
        review::check(asked, answer)?;
        self.answer_check.as_ref().map_or(Ok(()), |check| check(asked, answer))
    }

    #[must_use]
    pub fn checked(
        mut self,
        check: impl Fn(&RunSpec) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// Refuses what this agent cannot run with.
    ///
    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming the field.
    pub fn check(&self, spec: &RunSpec) -> Result<()> {
        self.check_targets(spec)?;
        self.check.as_ref().map_or(Ok(()), |check| check(spec))
    }

    /// The nodes that a command goes to are there.
    fn check_targets(&self, spec: &RunSpec) -> Result<()> {
        let goto = spec.command.iter().flat_map(|command| &command.goto);
        let mut unknown = goto.filter(|target| {
            target.node != crate::engine::END && !self.graph.has_node(&target.node)
        });
        match unknown.next() {
            None => Ok(()),
            Some(target) => {
                let why = format!("agent {} has no node {}", self.id, target.node);
                Err(Error::invalid("command.goto", why))
            }
        }
    }
}

impl Schemas {
    /// Those of a conversation without settings.
    pub fn conversation() -> Self {
        let message = json!({
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "role": {"enum": ["user", "assistant", "system", "developer", "tool"]},
                "content": {"oneOf": [{"type": "string"}, {"type": "array"}]},
            },
            "required": ["role", "content"],
        });
        let messages = json!({"type": "array", "items": message});
        let input = json!({
            "oneOf": [
                {"type": "string"},
                messages,
                {
                    "type": "object",
                    "properties": {
                        "messages": messages,
                        "message": {"type": "string"},
                        "prompt": {"type": "string"},
                        "text": {"type": "string"},
                        "question": {"type": "string"},
                    },
                },
            ],
        });
        let state = json!({"type": "object", "properties": {"messages": messages}});
        let config = json!({"type": "object", "properties": {}});
        Self { input, output: state.clone(), state, config }
    }

    /// The same with settings of its own: the properties of `configurable`.
    #[must_use]
    pub fn with_config(mut self, properties: Value) -> Self {
        if let Some(members) = self.config.as_object_mut() {
            members.insert("properties".to_owned(), properties);
        }
        self
    }

    /// The same with another channel in output and state.
    #[must_use]
    pub fn with_channel(mut self, name: &str, schema: &Value) -> Self {
        for object in [&mut self.output, &mut self.state] {
            if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
                properties.insert(name.to_owned(), schema.clone());
            }
        }
        self
    }
}

/// The agents of a server, in the order of their registration.
#[derive(Clone, Default, Debug)]
pub struct Registry {
    agents: Vec<Arc<Agent>>,
    by_id: BTreeMap<String, usize>,
}

impl Registry {
    /// The id of the agent that runs when nobody says which.
    pub const DEFAULT: &str = "echo";

    /// No agents at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// The agents that ship with the program.
    pub fn demo() -> Self {
        [
            echo::agent(),
            tokens::agent(),
            steps::agent(),
            demo::react(),
            demo::human_in_the_loop(),
            demo::subagents(),
            demo::media_management(),
        ]
        .into_iter()
        .flatten()
        .fold(Self::new(), Self::with)
    }

    /// Adds an agent; one that is there under its id gives way to it.
    #[must_use]
    pub fn with(mut self, agent: Agent) -> Self {
        let agent = Arc::new(agent);
        let standing = self.agents.iter_mut().find(|known| known.id == agent.id);
        match standing {
            Some(standing) => *standing = agent,
            None => self.agents.push(agent),
        }
        self.index();
        self
    }

    /// Ids before aliases: an alias never hides an agent.
    fn index(&mut self) {
        self.by_id.clear();
        for (place, agent) in self.agents.iter().enumerate() {
            self.by_id.insert(agent.id.to_string(), place);
        }
        for (place, agent) in self.agents.iter().enumerate() {
            for alias in &agent.aliases {
                self.by_id.entry(alias.clone()).or_insert(place);
            }
        }
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Agent>> {
        self.agents.iter()
    }

    /// The agent of this id or alias.
    pub fn get(&self, id: &str) -> Option<Arc<Agent>> {
        self.agents.get(*self.by_id.get(id)?).cloned()
    }

    /// The agent that runs when nobody says which: `echo`, else the first; `None` if there is none.
    pub fn default_agent(&self) -> Option<Arc<Agent>> {
        self.get(Self::DEFAULT).or_else(|| self.agents.first().cloned())
    }
}

impl<'a> IntoIterator for &'a Registry {
    type Item = &'a Arc<Agent>;
    type IntoIter = std::slice::Iter<'a, Arc<Agent>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("graph", &self.graph)
            .finish_non_exhaustive()
    }
}
