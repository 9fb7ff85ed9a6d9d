//! Stand-in with the names that others use.
use std::sync::Arc;
use serde_json::{Map, Value};
use crate::domain::ids::AgentId;

pub struct Schemas { pub input: Value, pub output: Value, pub state: Value, pub config: Value }
pub struct Agent {
    pub id: AgentId,
    pub name: String,
    pub description: String,
    pub metadata: Map<String, Value>,
    /// `ap.io.messages`, `ap.io.streaming` and others.
    pub capabilities: Map<String, Value>,
    pub schemas: Schemas,
    pub unavailable: Option<String>,
}
#[derive(Default)]
pub struct Registry { agents: Vec<Arc<Agent>> }
impl Registry {
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Agent>> { self.agents.iter() }
    pub fn get(&self, id: &str) -> Option<Arc<Agent>> { self.agents.iter().find(|a| a.id.as_str() == id).cloned() }
    pub fn default_agent(&self) -> Arc<Agent> { todo!() }
}
