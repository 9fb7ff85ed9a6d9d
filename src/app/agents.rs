//! Introspection: which agents there are and what they take.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::agents::registry::Agent;
use crate::app::App;
use crate::domain::error::{Error, Fault, Result};
use crate::domain::json;
use crate::domain::page::Page;

impl App {
    /// Agents in the order of their registration; `name` is a substring in any case, `metadata`
    /// is contained in the agent's.
    pub fn agents_search(
        &self,
        name: Option<&str>,
        metadata: &Map<String, Value>,
        page: Page,
    ) -> Vec<Arc<Agent>> {
        let name = name.map(str::to_lowercase);
        let wanted = Value::Object(metadata.clone());
        self.0
            .agents
            .iter()
            .filter(|agent| {
                name.as_ref().is_none_or(|name| agent.name.to_lowercase().contains(name))
            })
            .filter(|agent| json::contains(&Value::Object(agent.metadata.clone()), &wanted))
            .skip(page.offset as usize)
            .take(page.limit as usize)
            .cloned()
            .collect()
    }

    /// The agent of this id or alias.
    pub fn agent(&self, id: &str) -> Result<Arc<Agent>> {
        self.0
            .agents
            .get(id)
            .ok_or_else(|| Error::not_found("agent_not_found", format!("there is no agent {id}")))
    }

    /// The agent of those who name none.
    pub(super) fn default_agent(&self) -> Result<Arc<Agent>> {
        let found = self.0.agents.default_agent();
        found.ok_or_else(|| Error::not_found("agent_not_found", "this server has no agents"))
    }

    /// The agent that a run is for: the named one, or the default; one that can run.
    pub(crate) fn runnable_agent(&self, id: Option<&str>) -> Result<Arc<Agent>> {
        let agent = match id {
            Some(id) => self.agent(id)?,
            None => self.default_agent()?,
        };
        match &agent.unavailable {
            None => Ok(agent),
            Some(why) => {
                let public = format!("agent {} is not available: {why}", agent.id);
                Err(Error::new(Fault::Unavailable, "agent_unavailable", public))
            }
        }
    }
}
