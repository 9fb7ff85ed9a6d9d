//! What goes into a graph and comes out of it, as JSON Schemas made from Rust types.
//!
//! They tell callers what to send and to expect. The engine checks nothing against them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::engine::build::Builder;
use crate::engine::graph::Graph;

/// The schemas that a graph declares.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Schemas {
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub state: Option<Value>,
    pub config: Option<Value>,
}

/// The JSON Schema of `T`: one document without references into others.
///
/// ```
/// # use runloom::engine::schema_of;
/// #[derive(schemars::JsonSchema)]
/// struct Order {
///     /// How many.
///     count: u8,
/// }
/// assert_eq!(schema_of::<Order>()["properties"]["count"]["description"], "How many.");
/// ```
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

impl Builder {
    /// Declares what a run takes as its input.
    #[must_use]
    pub fn input<T: JsonSchema>(mut self) -> Self {
        self.graph.schemas.input = Some(schema_of::<T>());
        self
    }

    /// Declares what a run leaves; without it, that is the state.
    #[must_use]
    pub fn output<T: JsonSchema>(mut self) -> Self {
        self.graph.schemas.output = Some(schema_of::<T>());
        self
    }

    /// Declares what the state holds: a member a channel.
    #[must_use]
    pub fn state<T: JsonSchema>(mut self) -> Self {
        self.graph.schemas.state = Some(schema_of::<T>());
        self
    }

    /// Declares what `config.configurable` holds ([`Cx::config`](crate::engine::Cx::config)).
    #[must_use]
    pub fn config<T: JsonSchema>(mut self) -> Self {
        self.graph.schemas.config = Some(schema_of::<T>());
        self
    }
}

impl Graph {
    /// The schemas that were declared when it was built.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }
}
