use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::DEFAULT_LIMIT;
use crate::app;
use crate::domain::error::Result;
use crate::domain::json;
use crate::domain::page::Page;

/// Which agents to list.
#[derive(Default, Deserialize, ToSchema)]
pub struct AgentSearchRequest {
    /// A part of the agent's name, in any case.
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Contained in the agent's metadata.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub metadata: Option<Map<String, Value>>,
    /// How many at most.
    #[schema(nullable = false, default = 10, minimum = 1, maximum = 1000)]
    pub limit: Option<i64>,
    /// How many to skip.
    #[schema(nullable = false, default = 0, minimum = 0)]
    pub offset: Option<i64>,
}

impl AgentSearchRequest {
    pub fn page(&self) -> Result<Page> {
        Page::new(self.limit, DEFAULT_LIMIT, self.offset)
    }

    /// The filters: name and metadata.
    pub fn filters(self) -> Result<(Option<String>, Map<String, Value>)> {
        let metadata = self.metadata.unwrap_or_default();
        json::refuse_nul_in("metadata", &metadata)?;
        if let Some(name) = &self.name {
            json::refuse_nul_text("name", name)?;
        }
        Ok((self.name, metadata))
    }
}

/// An agent that runs can be given to.
#[derive(Serialize, ToSchema)]
pub struct Agent {
    pub agent_id: String,
    pub name: String,
    pub description: String,
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    pub capabilities: AgentCapabilities,
}

/// Which features of the protocol the agent has. Further ones have names in reverse domain form.
#[derive(Serialize, ToSchema)]
pub struct AgentCapabilities {
    /// It works on messages: `messages` in runs and threads is its conversation.
    #[serde(rename = "ap.io.messages")]
    pub messages: bool,
    /// It streams while it works.
    #[serde(rename = "ap.io.streaming")]
    pub streaming: bool,
    #[serde(flatten)]
    #[schema(ignore)]
    pub others: Map<String, Value>,
}

/// What an agent takes and gives, as JSON Schemas.
#[derive(Serialize, ToSchema)]
pub struct AgentSchema {
    pub agent_id: String,
    #[schema(value_type = Object)]
    pub input_schema: Value,
    #[schema(value_type = Object)]
    pub output_schema: Value,
    #[schema(value_type = Object)]
    pub state_schema: Value,
    #[schema(value_type = Object)]
    pub config_schema: Value,
}

impl From<&app::Agent> for Agent {
    fn from(agent: &app::Agent) -> Self {
        Self {
            agent_id: agent.id.to_string(),
            name: agent.name.clone(),
            description: agent.description.clone(),
            metadata: agent.metadata.clone(),
            capabilities: agent.capabilities.clone().into(),
        }
    }
}

impl From<Map<String, Value>> for AgentCapabilities {
    fn from(mut others: Map<String, Value>) -> Self {
        let mut take = |name| others.shift_remove(name) == Some(Value::Bool(true));
        let (messages, streaming) = (take("ap.io.messages"), take("ap.io.streaming"));
        Self { messages, streaming, others }
    }
}

impl From<&app::Agent> for AgentSchema {
    fn from(agent: &app::Agent) -> Self {
        Self {
            agent_id: agent.id.to_string(),
            input_schema: agent.schemas.input.clone(),
            output_schema: agent.schemas.output.clone(),
            state_schema: agent.schemas.state.clone(),
            config_schema: agent.schemas.config.clone(),
        }
    }
}
