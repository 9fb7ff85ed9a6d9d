//! The log as the protocol shows it: a pure function from what a watcher sees to events.
//!
//! All channels are made alike, whoever subscribed to what: numbers must not depend on filters.
//! It knows no connection, no clock and no storage.

mod blocks;
mod emit;
mod lanes;
mod whole;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use self::emit::Emit;
use self::lanes::Lanes;
use self::whole::Whole;
use super::wire::{
    AgentStatus, Checkpoint, CheckpointRef, CustomData, Data, Event, InputRequestedData,
    LifecycleCause, LifecycleData, ResumeGap, TaskData, ToolsData, UpdatesData,
};
use crate::app::{Gap, Opening, Watched};
use crate::domain::checkpoint::Source;
use crate::domain::clock::Ts;
use crate::domain::event::{Cause, GraphOutcome, Logged, RunEvent};
use crate::domain::ids::{AgentId, CheckpointId, Namespace, TaskId};
use crate::domain::interrupt::Interrupt;
use crate::domain::message::{self, Message};
use crate::domain::run::{RunError, RunStatus};
use crate::domain::state::{Change, Op, State};

/// What must be remembered to show the next event.
#[derive(Default)]
pub struct Frames {
    at: Ts,
    states: BTreeMap<Namespace, State>,
    agent: Option<AgentId>,
    head: Option<CheckpointId>,
    lanes: Lanes,
    tools: BTreeMap<Arc<str>, OpenTool>,
    graphs: BTreeMap<Namespace, Arc<str>>,
}

/// A tool at work.
struct OpenTool {
    namespace: Namespace,
    node: Arc<str>,
}

impl Frames {
    /// Appends to `out` the events that `watched` gives, on all channels.
    pub fn feed(&mut self, watched: &Watched, out: &mut Vec<Event>) {
        match watched {
            Watched::Opening(opening) => self.opening(opening, out),
            Watched::Base { namespace, state } => self.base(namespace, state.as_ref()),
            Watched::Event(logged) => self.event(logged, out),
            Watched::Gap(gap) => self.gap(*gap, out),
        }
    }

    /// How things stand: the state first, so that what follows has something to build on.
    fn opening(&mut self, opening: &Opening, out: &mut Vec<Event>) {
        *self = Self { at: opening.at, head: opening.head, ..Self::default() };
        let mut emit = Emit::standing(opening.seq, opening.at, out);
        match opening.gap {
            Some(gap) => emit.push(Data::ResumeGap(ResumeGap::from(gap))),
            None => emit.skip(),
        }
        match &opening.state {
            Some(state) => emit.push(Data::Values(state.clone())),
            None => emit.skip(),
        }
        match &opening.running {
            Some(running) => {
                self.agent = Some(running.agent_id.clone());
                emit.push(self.root(AgentStatus::Running, None));
            }
            None => emit.skip(),
        }
        for interrupt in &opening.interrupts {
            emit.push_in(&interrupt.namespace, None, Data::Input(requested(interrupt)));
        }
        self.states.extend(opening.state.clone().map(|state| (Namespace::root(), state)));
    }

    fn base(&mut self, namespace: &Namespace, state: Option<&State>) {
        match state {
            Some(state) => drop(self.states.insert(namespace.clone(), state.clone())),
            None => drop(self.states.remove(namespace)),
        }
    }

    /// What was open is lost; it goes on with what begins from here on.
    fn gap(&mut self, gap: Gap, out: &mut Vec<Event>) {
        let next = gap.first_available.unwrap_or(gap.after + 1);
        let mut emit = Emit::standing(next.saturating_sub(1), self.at, out);
        emit.push(Data::ResumeGap(ResumeGap::from(gap)));
        self.lanes = Lanes::default();
        self.tools.clear();
        self.graphs.clear();
    }

    fn event(&mut self, logged: &Logged, out: &mut Vec<Event>) {
        self.at = logged.at;
        let mut emit = Emit::of(logged, out);
        match &logged.event {
            RunEvent::AttemptStarted { agent_id, checkpoint_id } => {
                let lost = RunError::new("attempt_lost", "the server that ran this was lost");
                self.close(&lost, AgentStatus::Failed, &mut emit);
                (self.agent, self.head) = (Some(agent_id.clone()), *checkpoint_id);
                if logged.attempt == 1 {
                    emit.push(self.root(AgentStatus::Started, None));
                }
                emit.push(self.root(AgentStatus::Running, None));
            }
            RunEvent::CheckpointSaved { checkpoint_id, parent, place, source, changes, .. } => {
                self.checkpoint(logged, changes, *source, &mut emit);
                emit.push(Data::Checkpoints(Checkpoint {
                    id: *checkpoint_id,
                    parent_id: *parent,
                    step: place.step,
                    source: *source,
                }));
                if logged.namespace.is_root() {
                    self.head = Some(*checkpoint_id);
                }
            }
            RunEvent::TaskStarted { task_id, node, step } => {
                let task = TaskData { step: Some(*step), ..TaskData::new(*task_id, node) };
                emit.push(Data::Tasks(task));
            }
            RunEvent::TaskFinished { task_id, node, step, update } => {
                let (node, values) = (node.clone(), update.clone());
                let task = TaskData { step: Some(*step), ..TaskData::new(*task_id, &node) };
                emit.push(Data::Updates(UpdatesData { node, values: values.clone() }));
                emit.push(Data::Tasks(TaskData { result: Some(values), ..task }));
            }
            RunEvent::TaskFailed { task_id, node, step, error, retry_in_ms } => {
                emit.push(Data::Tasks(TaskData {
                    step: Some(*step),
                    error: Some(error.clone()),
                    retry_in_ms: *retry_in_ms,
                    ..TaskData::new(*task_id, node)
                }));
            }
            RunEvent::Interrupted { interrupts } => self::interrupted(interrupts, &mut emit),
            RunEvent::Custom { name, payload, .. } => {
                emit.push(Data::Custom(CustomData {
                    name: name.clone(),
                    payload: payload.clone(),
                }));
            }
            RunEvent::GraphStarted { graph, cause } => {
                self.graphs.insert(logged.namespace.clone(), graph.clone());
                let cause = cause.as_ref().map(cause_of);
                let started = LifecycleData::new(AgentStatus::Started, Some(graph));
                emit.push(Data::Lifecycle(LifecycleData { cause, ..started }));
            }
            RunEvent::GraphEnded { outcome } => {
                self.states.remove(&logged.namespace);
                let graph = self.graphs.remove(&logged.namespace);
                emit.push(Data::Lifecycle(LifecycleData::new(status_of(*outcome), graph.as_ref())));
            }
            RunEvent::RunEnded { status, error } => {
                let (why, status) = (why(*status, error.as_ref()), ended_as(*status));
                self.close(&why, status, &mut emit);
                self.states.retain(|namespace, _| namespace.is_root());
                emit.push(self.root(status, error.as_ref()));
            }
            RunEvent::MessageStarted { .. }
            | RunEvent::BlockStarted { .. }
            | RunEvent::BlockDelta { .. }
            | RunEvent::BlockFinished { .. }
            | RunEvent::MessageFinished { .. }
            | RunEvent::MessageFailed { .. }
            | RunEvent::Message { .. } => self.lanes.feed(logged, &mut emit),
            RunEvent::ToolStarted { .. }
            | RunEvent::ToolOutput { .. }
            | RunEvent::ToolFinished { .. } => self.tool(logged, &mut emit),
        }
    }

    /// What a caller brought as messages, then the state.
    fn checkpoint(&mut self, logged: &Logged, changes: &[Change], source: Source, emit: &mut Emit) {
        // Messages of a step were told when the step made them.
        if source != Source::Loop {
            for value in changes.iter().filter_map(added_message) {
                if let Some(whole) = Whole::read(value, logged.run_id) {
                    self.lanes.whole(&logged.namespace, None, whole, emit);
                }
            }
        }
        match self.states.get_mut(&logged.namespace) {
            Some(state) => {
                for change in changes {
                    state.apply(change);
                }
                emit.push(Data::Values(state.clone()));
            }
            None => emit.skip(),
        }
    }

    fn tool(&mut self, logged: &Logged, emit: &mut Emit) {
        match &logged.event {
            RunEvent::ToolStarted { call_id, name, node, input } => {
                let (namespace, at) = (logged.namespace.clone(), node.clone());
                self.tools.insert(call_id.clone(), OpenTool { namespace, node: at });
                let data = ToolsData::ToolStarted {
                    tool_call_id: call_id.clone(),
                    tool_name: name.clone(),
                    input: input.clone(),
                };
                emit.push_in(&logged.namespace, Some(node), Data::Tools(data));
            }
            RunEvent::ToolOutput { call_id, delta } => {
                let node = self.tools.get(call_id).map(|tool| &tool.node);
                let (tool_call_id, delta) = (call_id.clone(), delta.clone());
                let data = ToolsData::ToolOutputDelta { tool_call_id, delta };
                emit.push_in(&logged.namespace, node, Data::Tools(data));
            }
            RunEvent::ToolFinished { call_id, node, message, failed, .. } => {
                self.tools.remove(call_id);
                let tool_call_id = call_id.clone();
                let data = if *failed {
                    let message = Message::from_value(message).map(|message| message.text());
                    let message = message.unwrap_or_default();
                    ToolsData::ToolError { tool_call_id, message, code: None }
                } else {
                    let output = message.get("content").cloned().unwrap_or(Value::Null);
                    ToolsData::ToolFinished { tool_call_id, output }
                };
                emit.push_in(&logged.namespace, Some(node), Data::Tools(data));
            }
            _ => {}
        }
    }

    /// Nothing that is open will be finished: says so, the innermost first. A tool that waits
    /// for an answer has not failed.
    fn close(&mut self, why: &RunError, status: AgentStatus, emit: &mut Emit) {
        self.lanes.close(why, emit);
        for (call_id, tool) in std::mem::take(&mut self.tools) {
            if status == AgentStatus::Interrupted {
                continue;
            }
            let data = ToolsData::ToolError {
                tool_call_id: call_id,
                message: why.message.clone(),
                code: Some(why.code.clone()),
            };
            emit.push_in(&tool.namespace, Some(&tool.node), Data::Tools(data));
        }
        for (namespace, graph) in std::mem::take(&mut self.graphs).into_iter().rev() {
            let data = Data::Lifecycle(LifecycleData::new(status, Some(&graph)));
            emit.push_in(&namespace, None, data);
        }
    }

    fn root(&self, event: AgentStatus, error: Option<&RunError>) -> Data {
        let over = !matches!(event, AgentStatus::Started | AgentStatus::Running);
        let head = self.head.filter(|_| over);
        Data::Lifecycle(LifecycleData {
            error: error.map(|error| error.message.clone()),
            checkpoint: head.map(|id| CheckpointRef::new(id, &Namespace::root())),
            ..LifecycleData::new(event, self.agent.as_ref().map(|agent| &agent.0))
        })
    }
}

fn requested(interrupt: &Interrupt) -> InputRequestedData {
    InputRequestedData { interrupt_id: interrupt.id, payload: interrupt.value.clone() }
}

/// Every question, then the tasks that stopped at them.
fn interrupted(interrupts: &[Interrupt], emit: &mut Emit) {
    for interrupt in interrupts {
        emit.push_in(&interrupt.namespace, None, Data::Input(requested(interrupt)));
    }
    let mut tasks: BTreeMap<TaskId, Vec<&Interrupt>> = BTreeMap::new();
    for interrupt in interrupts {
        if let Some(task) = interrupt.task_id {
            tasks.entry(task).or_default().push(interrupt);
        }
    }
    for (task, asked) in tasks {
        let Some(first) = asked.first() else { continue };
        let interrupts = asked.iter().map(|interrupt| requested(interrupt)).collect();
        let task = TaskData { interrupts, ..TaskData::new(task, &first.node.as_str().into()) };
        emit.push_in(&first.namespace, None, Data::Tasks(task));
    }
}

/// The message that a change adds.
fn added_message(change: &Change) -> Option<&Arc<Value>> {
    match &change.op {
        Op::Put { value, .. } | Op::Push { value } if &*change.channel == message::CHANNEL => {
            Some(value)
        }
        _ => None,
    }
}

fn cause_of(cause: &Cause) -> LifecycleCause {
    match cause {
        Cause::ToolCall { call_id } => LifecycleCause::ToolCall { tool_call_id: call_id.clone() },
        Cause::Send { from_node } => LifecycleCause::Send { from_node: from_node.clone() },
        Cause::Edge { from_node } => LifecycleCause::Edge { from_node: from_node.clone() },
    }
}

/// The protocol's word for how a nested graph came out.
pub fn status_of(outcome: GraphOutcome) -> AgentStatus {
    match outcome {
        GraphOutcome::Completed => AgentStatus::Completed,
        GraphOutcome::Interrupted => AgentStatus::Interrupted,
        GraphOutcome::Failed => AgentStatus::Failed,
    }
}

/// The protocol's word for how a run stands. As everywhere on this face, what was cancelled was
/// interrupted.
pub fn ended_as(status: RunStatus) -> AgentStatus {
    match status {
        RunStatus::Pending | RunStatus::Running => AgentStatus::Running,
        RunStatus::Success => AgentStatus::Completed,
        RunStatus::Error | RunStatus::Timeout => AgentStatus::Failed,
        RunStatus::Paused | RunStatus::Cancelled => AgentStatus::Interrupted,
    }
}

/// Why what is still open at the end of a run will not be finished.
fn why(status: RunStatus, error: Option<&RunError>) -> RunError {
    let ended = || RunError::new(status.as_str(), format!("the run ended: {}", status.as_str()));
    error.cloned().unwrap_or_else(ended)
}

#[cfg(test)]
mod tests;
