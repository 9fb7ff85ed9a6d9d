//! The schemas of an agent whose graph declares types: what the graph says, on top of what every
//! conversation has.

use serde_json::{Map, Value};

use crate::agents::registry::Schemas;
use crate::engine::{Graph, schema_of};

impl Schemas {
    /// Those that `graph` declares; a conversation's where it declares none. Its state keeps the
    /// messages that every state has.
    pub fn of(graph: &Graph) -> Self {
        let (declared, mut schemas) = (graph.schemas(), Self::conversation());
        if let Some(input) = &declared.input {
            schemas.input = input.clone();
        }
        if let Some(config) = &declared.config {
            schemas.config = config.clone();
        }
        if let Some(state) = &declared.state {
            let messages = schemas.state.clone();
            schemas.state = with_messages(state.clone(), &messages);
            schemas.output = schemas.state.clone();
        }
        if let Some(output) = &declared.output {
            schemas.output = output.clone();
        }
        schemas
    }

    /// The same with the settings that `T` describes.
    #[must_use]
    pub fn with_config_of<T: schemars::JsonSchema>(mut self) -> Self {
        self.config = schema_of::<T>();
        self
    }
}

/// `state` with the properties of `messages` that it does not describe itself.
fn with_messages(mut state: Value, messages: &Value) -> Value {
    let more = messages.get("properties").and_then(Value::as_object);
    if let (Some(state), Some(more)) = (state.as_object_mut(), more) {
        let properties = state.entry("properties").or_insert_with(|| Map::new().into());
        if let Some(properties) = properties.as_object_mut() {
            for (name, schema) in more {
                properties.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Schemas;
    use crate::agents::registry::Agent;
    use crate::engine::{Graph, START};

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Held {
        topic: String,
    }

    #[test]
    fn an_agent_shows_the_types_of_its_graph_and_its_messages() {
        let graph = Graph::builder("typed")
            .state::<Held>()
            .config::<Held>()
            .node("n", |_state, _cx| async move { Ok(()) })
            .edge(START, "n")
            .build()
            .unwrap();
        let Schemas { input, output, state, config } = Agent::new("a", "A", graph).schemas;
        assert_eq!(state["properties"]["topic"], json!({"type": "string"}));
        assert_eq!(state["properties"]["messages"]["type"], "array");
        assert_eq!(state["required"], json!(["topic"]));
        assert_eq!(output, state);
        assert_eq!(input, Schemas::conversation().input);
        assert!(config["properties"].get("messages").is_none());
    }
}
