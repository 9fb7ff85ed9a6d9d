//! What a node is given besides the state: everything it may know and ask of the world.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::domain::checkpoint::Kept;
use crate::domain::clock::Ts;
use crate::domain::event::RunEvent;
use crate::domain::ids::{AgentId, InterruptId, Namespace, Owner, RunId, TaskId, ThreadId};
use crate::domain::interrupt::Interrupt;
use crate::domain::message::derived_id;
use crate::domain::ports::{Memory, Timer};
use crate::engine::halt::Halt;
use crate::engine::plan::Task;
use crate::engine::scope::Scope;
use crate::engine::write::Command;

/// The context of one attempt at one task. Clones share it.
#[derive(Clone)]
pub struct Cx(Arc<Inner>);

struct Inner {
    scope: Arc<Scope>,
    task: Task,
    step: i64,
    attempt: u32,
    notes: Mutex<Notes>,
}

/// What an attempt did so far, as far as its end depends on it.
#[derive(Default)]
pub(crate) struct Notes {
    /// How many questions it came to, answered ones included.
    pub(crate) questions: usize,
    /// Those that nobody has answered.
    pub(crate) asked: Vec<Interrupt>,
    /// Memos, and the messages that were shown already: streamed, or as a tool's result.
    pub(crate) kept: Kept,
    /// Messages that are being streamed.
    pub(crate) open: Vec<Arc<str>>,
    /// The namespaces of the graphs it has run.
    pub(crate) graphs: BTreeSet<Namespace>,
    /// What those graphs command this one.
    pub(crate) from_below: Vec<Command>,
}

impl Cx {
    pub(crate) fn new(scope: Arc<Scope>, task: Task, step: i64, attempt: u32) -> Self {
        let notes = Notes { kept: task.kept.clone(), ..Notes::default() };
        Self(Arc::new(Inner { scope, task, step, attempt, notes: Mutex::new(notes) }))
    }

    /// The caller's `config.configurable`.
    pub fn configurable(&self) -> &Map<String, Value> {
        &self.0.scope.run.configurable
    }

    /// One member of it, if it is there and of this type.
    pub fn setting<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.configurable().get(name)?).ok()
    }

    /// All of it as a `T` ([`Builder::config`](crate::engine::Builder::config)).
    ///
    /// # Errors
    /// It is no `T`.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Halt> {
        let given = Value::Object(self.configurable().clone());
        Ok(T::deserialize(given)?)
    }

    pub fn tags(&self) -> &[String] {
        &self.0.scope.run.tags
    }

    /// Tools that the caller executes itself, as `{name, description, parameters}`.
    pub fn client_tools(&self) -> &[Value] {
        &self.0.scope.run.client_tools
    }

    pub fn owner(&self) -> &Owner {
        &self.0.scope.run.owner
    }

    pub fn thread_id(&self) -> ThreadId {
        self.0.scope.run.thread_id
    }

    pub fn run_id(&self) -> RunId {
        self.0.scope.run.run_id
    }

    pub fn agent_id(&self) -> &AgentId {
        &self.0.scope.run.agent_id
    }

    pub fn namespace(&self) -> &Namespace {
        &self.0.scope.namespace
    }

    /// How many graphs are above this one.
    pub fn depth(&self) -> usize {
        self.namespace().depth()
    }

    /// The node's own name.
    pub fn node(&self) -> &Arc<str> {
        &self.0.task.node
    }

    pub fn task_id(&self) -> TaskId {
        self.0.task.id
    }

    /// The number of the step that this task belongs to.
    pub fn step(&self) -> i64 {
        self.0.step
    }

    /// From 1; above that the node's retry policy is at work.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// From 1; above that the run was taken over after a crash.
    pub fn run_attempt(&self) -> u32 {
        self.0.scope.run.attempt
    }

    /// The node whose edge, condition or command led here: [`START`](crate::engine::START) for
    /// the first; `None` if nobody knows.
    pub fn came_from(&self) -> Option<&Arc<str>> {
        self.0.task.from.as_ref()
    }

    /// The input that a branch sent this task.
    pub fn input(&self) -> Option<&Value> {
        self.0.task.input.as_ref()
    }

    /// That input, read as a `T`.
    ///
    /// # Errors
    /// There is none, or it is no `T`.
    pub fn input_as<T: DeserializeOwned>(&self) -> Result<T, Halt> {
        Ok(T::deserialize(self.input().unwrap_or(&Value::Null))?)
    }

    /// The owner's long-term memory.
    pub fn memory(&self) -> &dyn Memory {
        &*self.0.scope.run.memory
    }

    pub fn now(&self) -> Ts {
        self.0.scope.run.clock.now()
    }

    /// Waits. A run that is to stop does not wait for it.
    pub async fn sleep(&self, span: Duration) {
        if !span.is_zero() {
            self.0.scope.run.timer.sleep(span).await;
        }
    }

    /// The passing of time, for what the node starts elsewhere.
    pub fn timer(&self) -> Arc<dyn Timer> {
        self.0.scope.run.timer.clone()
    }

    /// Fires when the run is to stop. The node itself is dropped then; what it started elsewhere
    /// can listen to this.
    pub fn stop(&self) -> &CancellationToken {
        &self.0.scope.run.stop
    }

    /// Asks the outside, and pauses the run until it is answered; the task then runs again from
    /// its start and gets the answer here. Questions are told apart by their order in the task.
    ///
    /// ```
    /// # use runloom::engine::{Cx, Halt, Update};
    /// # use serde_json::json;
    /// async fn publish(cx: Cx) -> Result<Update, Halt> {
    ///     let answer = cx.interrupt(json!({"question": "Publish?"}))?;
    ///     Ok(Update::new().set("published", answer == "yes"))
    /// }
    /// ```
    ///
    /// # Errors
    /// The [`Halt`] to return: it is not answered yet.
    pub fn interrupt(&self, value: impl Into<Value>) -> Result<Value, Halt> {
        let mut notes = self.notes();
        let id = InterruptId::derive(self.task_id(), notes.questions);
        notes.questions += 1;
        if let Some(answer) = self.0.scope.answers.get(&id) {
            return Ok(answer.clone());
        }
        notes.asked.push(Interrupt {
            id,
            value: value.into(),
            namespace: self.namespace().clone(),
            node: self.node().to_string(),
            task_id: Some(self.task_id()),
        });
        Err(Halt::asks())
    }

    /// A key for calls to other systems that must happen once: the same in every attempt.
    pub fn idempotency_key(&self, ordinal: usize) -> String {
        let name = format!("idempotency:{ordinal}");
        Uuid::new_v5(&self.task_id().0, name.as_bytes()).to_string()
    }

    /// The id of the `ordinal`-th message that this task makes: the same in every attempt.
    pub fn message_id(&self, ordinal: usize) -> String {
        derived_id(self.task_id().0, ordinal)
    }

    /// Writes something for whoever watches.
    pub async fn custom(&self, name: Option<&str>, payload: impl Into<Value>) {
        let event = RunEvent::Custom {
            name: name.map(str::to_owned),
            payload: payload.into(),
            node: self.node().clone(),
        };
        self.emit(event).await;
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.0.scope
    }

    pub(crate) async fn emit(&self, event: RunEvent) {
        self.0.scope.emit(event).await;
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
