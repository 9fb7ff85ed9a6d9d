use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::one_or_many::one_or_many;
use super::{
    Breakpoints, Config, Durability, IfNotExists, Message, MultitaskStrategy, OnCompletion,
    OnDisconnect, OneOrMany, StreamMode, ThreadCheckpoint, rfc3339,
};
use crate::app::{Finished, Started};
use crate::domain::clock::Ts;
use crate::domain::run;
use crate::domain::{Namespace, interrupt};

/// One execution of an agent: what was asked for, and how it stands.
#[derive(Serialize, ToSchema)]
pub struct Run {
    pub run_id: Uuid,
    pub thread_id: Uuid,
    pub agent_id: String,
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    pub status: RunStatus,
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Message>, required = false)]
    pub messages: Vec<Value>,
    /// The answers by interrupt, the update and the nodes to go to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub command: Option<Value>,
    pub config: Config,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub checkpoint: Option<ThreadCheckpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub webhook: Option<String>,
    pub on_completion: OnCompletion,
    pub on_disconnect: OnDisconnect,
    pub if_not_exists: IfNotExists,
    #[schema(schema_with = one_or_many::<StreamMode>)]
    pub stream_mode: OneOrMany<StreamMode>,
    pub stream_subgraphs: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub interrupt_before: Option<Breakpoints>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub interrupt_after: Option<Breakpoints>,
    pub durability: Durability,
    pub multitask_strategy: MultitaskStrategy,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<RunFailure>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub interrupts: Vec<Interrupt>,
}

impl From<run::Run> for Run {
    fn from(run: run::Run) -> Self {
        let spec = run.spec;
        Self {
            run_id: run.id.0,
            thread_id: run.thread_id.0,
            agent_id: run.agent_id.to_string(),
            created_at: run.created_at,
            updated_at: run.updated_at,
            status: run.status.into(),
            metadata: run.metadata,
            input: spec.input,
            messages: spec.messages,
            command: spec.command.and_then(|command| echo(&command)),
            config: spec.config.into(),
            checkpoint: spec.checkpoint_id.map(Into::into),
            webhook: spec.webhook,
            on_completion: spec.on_completion.into(),
            on_disconnect: spec.on_disconnect.into(),
            if_not_exists: IfNotExists::from_make_thread(spec.make_thread),
            stream_mode: StreamMode::of_run(&spec.stream_modes).into(),
            stream_subgraphs: spec.stream_subgraphs,
            interrupt_before: Breakpoints::of_run(spec.interrupt_before),
            interrupt_after: Breakpoints::of_run(spec.interrupt_after),
            durability: spec.durability.into(),
            multitask_strategy: spec.multitask.into(),
            error: run.error.map(Into::into),
            interrupts: run.interrupts.into_iter().map(Into::into).collect(),
        }
    }
}

/// The command as it was understood: every answer with its interrupt.
fn echo(command: &run::RunCommand) -> Option<Value> {
    let mut echo = serde_json::to_value(command).ok()?;
    let members = echo.as_object_mut()?;
    if let Some(answers) = members.shift_remove("answers") {
        members.insert("resume".to_owned(), answers);
    }
    Some(echo)
}

impl Run {
    /// The answer to creating a run: `pending`, however quick it was.
    pub fn created(started: Started) -> Self {
        let run = Self::from(started.run);
        Self { status: RunStatus::Pending, error: None, interrupts: Vec::new(), ..run }
    }
}

/// `pending` until it is over. `interrupted` when it waits for an answer, or was cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Pending,
    Error,
    Success,
    Timeout,
    Interrupted,
}

impl From<run::RunStatus> for RunStatus {
    fn from(status: run::RunStatus) -> Self {
        match status {
            run::RunStatus::Pending | run::RunStatus::Running => Self::Pending,
            run::RunStatus::Success => Self::Success,
            run::RunStatus::Error => Self::Error,
            run::RunStatus::Timeout => Self::Timeout,
            run::RunStatus::Paused | run::RunStatus::Cancelled => Self::Interrupted,
        }
    }
}

impl RunStatus {
    /// What it means inside.
    pub fn meaning(self) -> Vec<run::RunStatus> {
        let all = run::RunStatus::ALL.into_iter();
        all.filter(|status| Self::from(*status) == self).collect()
    }
}

/// Why a run failed.
#[derive(Serialize, ToSchema)]
pub struct RunFailure {
    pub code: String,
    pub message: String,
}

impl From<run::RunError> for RunFailure {
    fn from(error: run::RunError) -> Self {
        Self { code: error.code, message: error.message }
    }
}

/// A question that waits for an answer: a run with `command {"resume": …}` gives it.
#[derive(Serialize, ToSchema)]
pub struct Interrupt {
    pub id: Uuid,
    /// What is asked.
    pub value: Value,
    /// The graphs below the root that lead to it.
    #[schema(value_type = Vec<String>)]
    pub namespace: Namespace,
}

impl From<interrupt::Interrupt> for Interrupt {
    fn from(interrupt: interrupt::Interrupt) -> Self {
        let interrupt::Interrupt { id, value, namespace, .. } = interrupt;
        Self { id: id.0, value, namespace }
    }
}

/// A run that is over, with what it left.
#[derive(Serialize, ToSchema)]
pub struct RunWaitResponse {
    pub run: Run,
    /// The state at its end, without the messages.
    #[schema(value_type = Object)]
    pub values: Map<String, Value>,
    #[schema(value_type = Vec<Message>)]
    pub messages: Vec<Value>,
    pub run_id: Uuid,
    pub thread_id: Uuid,
    pub status: RunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<RunFailure>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub interrupts: Vec<Interrupt>,
}

impl From<Finished> for RunWaitResponse {
    fn from(Finished { run, result }: Finished) -> Self {
        Self {
            values: result.values,
            messages: result.messages,
            run_id: run.id.0,
            thread_id: run.thread_id.0,
            status: run.status.into(),
            error: run.error.clone().map(Into::into),
            interrupts: run.interrupts.iter().cloned().map(Into::into).collect(),
            run: run.into(),
        }
    }
}
