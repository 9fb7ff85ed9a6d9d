//! The port to a tool, and the set of tools that an agent has.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::ids::{Owner, RunId, ThreadId};
use crate::domain::ports::{BoxFuture, Memory};
use crate::domain::state::State;
use crate::domain::tool::{Risk, ToolSpec};

/// A tool. Its arguments are checked against its schema before it is called.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// How much harm a call can do.
    fn risk(&self) -> Risk {
        Risk::None
    }

    /// Executes one call. Dropping the future stops the work.
    ///
    /// # Errors
    /// What went wrong, in a sentence for the model: it is told, and the run goes on.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Output, Failure>>;
}

/// One call, with what a tool may ask of the run.
pub struct Call<'a> {
    pub id: &'a str,
    pub args: Map<String, Value>,
    pub owner: &'a Owner,
    pub thread_id: ThreadId,
    pub run_id: RunId,
    /// The state when the step began.
    pub state: &'a State,
    pub memory: &'a dyn Memory,
    /// The caller's `config.configurable`.
    pub configurable: &'a Map<String, Value>,
    /// The same in every attempt at this call: for systems that do a thing once a key.
    pub idempotency_key: String,
    /// Shows what the tool writes while it works.
    pub progress: &'a dyn Progress,
}

/// Where a tool's output goes while it works.
pub trait Progress: Send + Sync {
    fn write<'a>(&'a self, text: &'a str) -> BoxFuture<'a, ()>;
}

/// What a call came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// What the model is told.
    pub content: String,
}

impl From<String> for Output {
    fn from(content: String) -> Self {
        Self { content }
    }
}

/// Why a call came to nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub message: String,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The tools of an agent, in the order in which the model is told of them.
#[derive(Clone, Default)]
pub struct Tools(Vec<Arc<dyn Tool>>);

impl Tools {
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self(tools.into_iter().collect())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.iter().find(|tool| tool.spec().name == name)
    }

    /// Checks arguments against the tool's schema.
    ///
    /// # Errors
    /// What is wrong, in a sentence for the model.
    pub fn check(&self, name: &str, args: &Map<String, Value>) -> Result<(), Failure> {
        let Some(tool) = self.get(name) else {
            return Err(Failure::new(format!("there is no tool {name}")));
        };
        let schema = &tool.spec().parameters;
        let validator = jsonschema::validator_for(schema)
            .map_err(|_| Failure::new(format!("the schema of {name} cannot be read")))?;
        let args = Value::Object(args.clone());
        match validator.iter_errors(&args).next() {
            None => Ok(()),
            Some(wrong) => Err(Failure::new(format!("wrong arguments for {name}: {wrong}"))),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.iter()
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.0.iter().map(|tool| tool.spec().clone()).collect()
    }
}
