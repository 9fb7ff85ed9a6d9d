//! The port to a tool, and the set of tools that an agent has.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

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

    /// How long a call may take, and how often it is tried again.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Executes one call. Dropping the future stops the work.
    ///
    /// # Errors
    /// What went wrong, in a sentence for the model: it is told, and the run goes on.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Output, Failure>>;
}

/// What one call may take.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Of one attempt; `None` is as long as the run may take.
    pub time: Option<Duration>,
    /// Further attempts after failures that may pass.
    pub retries: u32,
}

/// Tools that are only known once somebody is asked: those of a server elsewhere.
pub trait ToolSource: Send + Sync {
    /// Those that were there when it was asked last.
    fn known(&self) -> Vec<Arc<dyn Tool>>;

    /// Those that are there; the known ones while nobody answers.
    fn load(&self) -> BoxFuture<'_, Vec<Arc<dyn Tool>>>;
}

/// One call, with what a tool may ask of the run.
#[derive(Clone)]
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
    /// The same call may succeed later.
    pub transient: bool,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), transient: false }
    }

    /// One that may pass.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { message: message.into(), transient: true }
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
pub struct Tools {
    own: Vec<Arc<dyn Tool>>,
    sources: Vec<Arc<dyn ToolSource>>,
}

impl Tools {
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self { own: tools.into_iter().collect(), sources: Vec::new() }
    }

    /// The same with the tools that are found there.
    #[must_use]
    pub fn with_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Whether all of them are known: none is found elsewhere.
    pub fn is_complete(&self) -> bool {
        self.sources.is_empty()
    }

    /// All tools there are now. Of two with the same name the first one counts.
    pub async fn loaded(&self) -> Self {
        let found = join_all(self.sources.iter().map(|source| source.load())).await;
        let mut loaded = Self::new(self.own.iter().cloned());
        for tool in found.into_iter().flatten() {
            if loaded.get(&tool.spec().name).is_none() {
                loaded.own.push(tool);
            }
        }
        loaded
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let own = self.own.iter().find(|tool| tool.spec().name == name);
        own.cloned().or_else(|| {
            let known = self.sources.iter().flat_map(|source| source.known());
            known.into_iter().find(|tool| tool.spec().name == name)
        })
    }

    /// Checks arguments against the tool's schema.
    ///
    /// # Errors
    /// What is wrong, in a sentence for the model.
    pub fn check(&self, name: &str, args: &Map<String, Value>) -> Result<(), Failure> {
        let Some(tool) = self.get(name) else {
            return Err(Failure::new(format!("there is no tool {name}")));
        };
        check_args(tool.spec(), args)
    }

    /// Checks the arguments and executes the call within the tool's limits.
    ///
    /// # Errors
    /// What went wrong in the last attempt, in a sentence for the model.
    pub async fn call(&self, name: &str, call: Call<'_>) -> Result<Output, Failure> {
        let Some(tool) = self.get(name) else {
            return Err(Failure::new(format!("there is no tool {name}")));
        };
        check_args(tool.spec(), &call.args)?;
        let limits = tool.limits();
        let mut left = limits.retries;
        loop {
            match attempt(&*tool, limits.time, call.clone()).await {
                Err(failure) if failure.transient && left > 0 => left -= 1,
                outcome => return outcome,
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.own.iter()
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.own.iter().map(|tool| tool.spec().clone()).collect()
    }
}

async fn attempt(
    tool: &dyn Tool,
    time: Option<Duration>,
    call: Call<'_>,
) -> Result<Output, Failure> {
    let Some(time) = time else { return tool.call(call).await };
    tokio::time::timeout(time, tool.call(call)).await.unwrap_or_else(|_| {
        let (name, time) = (&tool.spec().name, time.as_secs_f64());
        Err(Failure::transient(format!("{name} took longer than {time} seconds")))
    })
}

/// Checks arguments against the schema of `spec`.
///
/// # Errors
/// What is wrong, in a sentence for the model.
pub fn check_args(spec: &ToolSpec, args: &Map<String, Value>) -> Result<(), Failure> {
    let name = &spec.name;
    let validator = jsonschema::validator_for(&spec.parameters)
        .map_err(|_| Failure::new(format!("the schema of {name} cannot be read")))?;
    let args = Value::Object(args.clone());
    match validator.iter_errors(&args).next() {
        None => Ok(()),
        Some(wrong) => Err(Failure::new(format!("wrong arguments for {name}: {wrong}"))),
    }
}
