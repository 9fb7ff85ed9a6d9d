//! A run as it is asked for: one body for all forms of creating one.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::one_or_many::one_or_many;
use super::{
    Breakpoints, Command, Durability, Goto, IfNotExists, Message, MultitaskStrategy, OnCompletion,
    OnDisconnect, OneOrMany, StreamMode, ThreadCheckpoint,
};
use crate::app::{Pause, StartRun, ThreadTarget};
use crate::domain::error::{Error, Result};
use crate::domain::ids::{CheckpointId, ThreadId};
use crate::domain::json;
use crate::domain::run::{self, RunConfig, RunSpec};

/// The longest a run can be put off, in seconds: a year.
const MAX_DELAY_SECONDS: f64 = 31_536_000.0;

/// A run to be started.
#[derive(Default, Deserialize, ToSchema)]
pub struct RunCreate {
    /// The thread to run on. Without one the run has a thread of its own.
    #[schema(nullable = false)]
    pub thread_id: Option<Uuid>,
    /// The agent to run, by id or alias; the default agent if left out.
    #[schema(nullable = false)]
    pub agent_id: Option<String>,
    /// The same as `agent_id`.
    #[schema(nullable = false)]
    pub assistant_id: Option<String>,
    /// What the agent is given, in its own terms. Without it (and without messages and command)
    /// the run goes on from where the thread stands.
    pub input: Option<Value>,
    /// Messages to add after those in the input.
    #[schema(value_type = Option<Vec<Message>>, nullable = false)]
    pub messages: Option<Vec<Value>>,
    /// What to keep with the run.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub metadata: Option<Map<String, Value>>,
    #[schema(nullable = false)]
    pub config: Option<Config>,
    /// Where to POST the outcome to.
    #[schema(nullable = false, format = "uri", min_length = 1, max_length = 65536)]
    pub webhook: Option<String>,
    /// Whether the thread outlives the run. Without a `thread_id` it does not, else it does.
    #[schema(nullable = false)]
    pub on_completion: Option<OnCompletion>,
    /// What becomes of the run when whoever waits for it or streams it goes away.
    #[schema(value_type = Option<OnDisconnect>, nullable = false, default = "cancel")]
    pub on_disconnect: Option<OnDisconnect>,
    /// What to do if there is no such thread.
    #[schema(value_type = Option<IfNotExists>, nullable = false, default = "reject")]
    pub if_not_exists: Option<IfNotExists>,
    /// What to stream: one mode or several.
    #[schema(schema_with = one_or_many::<StreamMode>)]
    pub stream_mode: Option<OneOrMany<StreamMode>>,
    /// Also stream what graphs inside of tasks do, as events `mode|namespace`.
    #[schema(nullable = false, default = false)]
    pub stream_subgraphs: Option<bool>,
    #[schema(nullable = false)]
    pub command: Option<Command>,
    /// Start from this entry of the thread's history instead of the newest: a branch.
    #[schema(nullable = false)]
    pub checkpoint: Option<ThreadCheckpoint>,
    /// Pause before these nodes.
    #[schema(nullable = false)]
    pub interrupt_before: Option<Breakpoints>,
    /// Pause after these nodes.
    #[schema(nullable = false)]
    pub interrupt_after: Option<Breakpoints>,
    /// When a step is on disk: while the next one runs, before it, or at the end of the run.
    #[schema(value_type = Option<Durability>, nullable = false, default = "async")]
    pub durability: Option<Durability>,
    /// What to do if the thread has an unfinished run.
    #[schema(value_type = Option<MultitaskStrategy>, nullable = false, default = "enqueue")]
    pub multitask_strategy: Option<MultitaskStrategy>,
    /// Not to be started before this many seconds have passed.
    #[schema(nullable = false, minimum = 0)]
    pub after_seconds: Option<f64>,
}

/// The same under the protocol's other name: what to stream is part of either. It is described in
/// full, because generators trip over one schema that is only another.
pub struct RunStream;

impl PartialSchema for RunStream {
    fn schema() -> RefOr<Schema> {
        RunCreate::schema()
    }
}

impl ToSchema for RunStream {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((RunCreate::name().into(), RunCreate::schema()));
        schemas.push((StreamMode::name().into(), StreamMode::schema()));
        schemas.push((Goto::name().into(), Goto::schema()));
        RunCreate::schemas(schemas);
    }
}

impl RunCreate {
    /// The run that is asked for, on the thread that the path names (`scope`) or the body.
    pub fn start(self, scope: Option<ThreadId>) -> Result<StartRun> {
        let thread = self.thread(scope)?;
        let metadata = self.metadata.unwrap_or_default();
        let agent = self.agent_id.or(self.assistant_id);
        if let Some(agent) = &agent {
            json::refuse_nul_text("agent_id", agent)?;
        }
        let make_thread = matches!(self.if_not_exists, Some(IfNotExists::Create));
        let target = match thread {
            None => ThreadTarget::Stateless,
            Some(id) if make_thread => ThreadTarget::Ensured(id, Map::new()),
            Some(id) => ThreadTarget::Existing(id),
        };
        let on_completion = self.on_completion.map(run::OnCompletion::from);
        let (pause, command) = self.command.map_or((Pause::Abandon, None), Command::read);
        let modes = self.stream_mode.map(OneOrMany::into_vec).unwrap_or_default();
        let spec = RunSpec {
            input: self.input,
            messages: self.messages.unwrap_or_default(),
            command,
            config: self.config.unwrap_or_default().read()?,
            checkpoint_id: self.checkpoint.map(|at| CheckpointId(at.checkpoint_id)),
            interrupt_before: self.interrupt_before.map(Into::into).unwrap_or_default(),
            interrupt_after: self.interrupt_after.map(Into::into).unwrap_or_default(),
            durability: self.durability.map(Into::into).unwrap_or_default(),
            multitask: self.multitask_strategy.map(Into::into).unwrap_or_default(),
            on_completion: on_completion.unwrap_or(match thread {
                None => run::OnCompletion::Delete,
                Some(_) => run::OnCompletion::Keep,
            }),
            on_disconnect: self.on_disconnect.map(Into::into).unwrap_or_default(),
            make_thread,
            stream_modes: modes.into_iter().map(|mode| mode.as_str().to_owned()).collect(),
            stream_subgraphs: self.stream_subgraphs.unwrap_or_default(),
            webhook: self.webhook,
            ..RunSpec::default()
        };
        let delay = self.after_seconds.map(delay).transpose()?;
        Ok(StartRun { target, agent, spec, metadata, pause, idempotency: None, delay })
    }

    fn thread(&self, scope: Option<ThreadId>) -> Result<Option<ThreadId>> {
        let named = self.thread_id.map(ThreadId);
        match (scope, named) {
            (Some(scope), Some(named)) if scope != named => {
                Err(Error::invalid("thread_id", "thread_id is not the thread of the path"))
            }
            (scope, named) => Ok(scope.or(named)),
        }
    }
}

fn delay(seconds: f64) -> Result<Duration> {
    if !(0.0..=MAX_DELAY_SECONDS).contains(&seconds) {
        return Err(Error::invalid("after_seconds", "after_seconds must be from 0 to 31536000"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// How the agent is to work.
#[derive(Default, Serialize, Deserialize, ToSchema)]
pub struct Config {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tags: Option<Vec<String>>,
    /// Super-steps before the run fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    pub recursion_limit: Option<u32>,
    /// Settings of the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub configurable: Option<Map<String, Value>>,
}

impl Config {
    fn read(self) -> Result<RunConfig> {
        if self.recursion_limit == Some(0) {
            let field = "config.recursion_limit";
            return Err(Error::invalid(field, format!("{field} must be at least 1")));
        }
        Ok(RunConfig {
            tags: self.tags.unwrap_or_default(),
            recursion_limit: self.recursion_limit,
            configurable: self.configurable.unwrap_or_default(),
        })
    }
}

impl From<RunConfig> for Config {
    fn from(config: RunConfig) -> Self {
        let RunConfig { tags, recursion_limit, configurable } = config;
        Self {
            tags: (!tags.is_empty()).then_some(tags),
            recursion_limit,
            configurable: (!configurable.is_empty()).then_some(configurable),
        }
    }
}
