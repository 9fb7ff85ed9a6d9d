//! The log as the protocol shows it: a pure function from what a watcher sees to events.
//!
//! All channels are made alike, whoever subscribed to what: numbers must not depend on filters.
//! It knows no connection, no clock and no storage.

mod blocks;
mod emit;
mod graphs;
mod lanes;
mod tools;
mod whole;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use self::graphs::{ended_as, status_of};

use self::emit::Emit;
use self::graphs::Graphs;
use self::lanes::Lanes;
use self::tools::Tools;
use self::whole::Whole;
use super::wire::{
    AgentStatus, Checkpoint, CustomData, Data, Event, InputRequestedData, ResumeGap, TaskData,
    UpdatesData,
};
use crate::app::{Gap, Opening, Watched};
use crate::domain::checkpoint::Source;
use crate::domain::clock::Ts;
use crate::domain::event::{Logged, RunEvent};
use crate::domain::ids::{Namespace, TaskId};
use crate::domain::interrupt::Interrupt;
use crate::domain::message;
use crate::domain::run::{RunError, RunStatus};
use crate::domain::state::{Change, Op, State};

/// What must be remembered to show the next event.
#[derive(Default)]
pub struct Frames {
    at: Ts,
    states: BTreeMap<Namespace, State>,
    graphs: Graphs,
    lanes: Lanes,
    tools: Tools,
    /// What the run asks, to be told when the pause is stored: not before that can it be answered.
    asked: Vec<Interrupt>,
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
        *self = Self { at: opening.at, ..Self::default() };
        self.graphs.head = opening.head;
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
                self.graphs.agent = Some(running.agent_id.clone());
                emit.push(self.graphs.root(AgentStatus::Running, None));
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
        self.tools = Tools::default();
        self.graphs.lose();
    }

    fn event(&mut self, logged: &Logged, out: &mut Vec<Event>) {
        self.at = logged.at;
        let mut emit = Emit::of(logged, out);
        match &logged.event {
            RunEvent::AttemptStarted { agent_id, checkpoint_id } => {
                self.asked.clear();
                let lost = RunError::new("attempt_lost", "the server that ran this was lost");
                self.close(&lost, AgentStatus::Failed, false, &mut emit);
                self.graphs.agent = Some(agent_id.clone());
                self.graphs.head = *checkpoint_id;
                if logged.attempt == 1 {
                    emit.push(self.graphs.root(AgentStatus::Started, None));
                }
                emit.push(self.graphs.root(AgentStatus::Running, None));
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
                    self.graphs.head = Some(*checkpoint_id);
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
            RunEvent::Interrupted { interrupts } => {
                stopped(interrupts, &mut emit);
                self.asked.clone_from(interrupts);
            }
            RunEvent::Custom { name, payload, .. } => {
                emit.push(Data::Custom(CustomData {
                    name: name.clone(),
                    payload: payload.clone(),
                }));
            }
            RunEvent::GraphStarted { graph, cause } => {
                self.graphs.started(&logged.namespace, graph, cause.as_ref(), &mut emit);
            }
            RunEvent::GraphEnded { outcome } => {
                self.states.remove(&logged.namespace);
                self.graphs.ended(&logged.namespace, *outcome, &mut emit);
            }
            RunEvent::RunEnded { status, error } => {
                let waits = *status == RunStatus::Paused;
                for asked in std::mem::take(&mut self.asked).iter().filter(|_| waits) {
                    emit.push_in(&asked.namespace, None, Data::Input(requested(asked)));
                }
                let (why, status) = (why(*status, error.as_ref()), ended_as(*status));
                self.close(&why, status, waits, &mut emit);
                self.states.retain(|namespace, _| namespace.is_root());
                emit.push(self.graphs.root(status, error.as_ref()));
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
            | RunEvent::ToolFinished { .. } => self.tools.feed(logged, &mut emit),
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

    /// Nothing that is open will be finished: says so, the innermost first.
    fn close(&mut self, why: &RunError, status: AgentStatus, waits: bool, emit: &mut Emit) {
        self.lanes.close(why, emit);
        self.tools.close(why, waits, emit);
        self.graphs.close(status, emit);
    }
}

fn requested(interrupt: &Interrupt) -> InputRequestedData {
    InputRequestedData { interrupt_id: interrupt.id, payload: interrupt.value.clone() }
}

/// The tasks that stopped at questions.
fn stopped(interrupts: &[Interrupt], emit: &mut Emit) {
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

/// Why what is still open at the end of a run will not be finished.
fn why(status: RunStatus, error: Option<&RunError>) -> RunError {
    let ended = || RunError::new(status.as_str(), format!("the run ended: {}", status.as_str()));
    error.cloned().unwrap_or_else(ended)
}

#[cfg(test)]
mod tests;
