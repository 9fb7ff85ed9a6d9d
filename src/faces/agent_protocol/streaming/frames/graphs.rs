//! Which graphs run, and how they come out: the channel `lifecycle`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::wire::{AgentStatus, CheckpointRef, Data, LifecycleCause, LifecycleData};
use super::emit::Emit;
use crate::domain::event::{Cause, GraphOutcome};
use crate::domain::ids::{AgentId, CheckpointId, Namespace};
use crate::domain::run::{RunError, RunStatus};

/// The root graph and those that run inside it.
#[derive(Default)]
pub(super) struct Graphs {
    pub(super) agent: Option<AgentId>,
    /// The newest checkpoint of the root graph.
    pub(super) head: Option<CheckpointId>,
    nested: BTreeMap<Namespace, Arc<str>>,
}

impl Graphs {
    /// The root graph's status.
    pub(super) fn root(&self, event: AgentStatus, error: Option<&RunError>) -> Data {
        let over = !matches!(event, AgentStatus::Started | AgentStatus::Running);
        let head = self.head.filter(|_| over);
        Data::Lifecycle(LifecycleData {
            error: error.map(|error| error.message.clone()),
            checkpoint: head.map(|id| CheckpointRef::new(id, &Namespace::root())),
            ..LifecycleData::new(event, self.agent.as_ref().map(|agent| &agent.0))
        })
    }

    pub(super) fn started(
        &mut self,
        namespace: &Namespace,
        graph: &Arc<str>,
        cause: Option<&Cause>,
        emit: &mut Emit,
    ) {
        self.nested.insert(namespace.clone(), graph.clone());
        let started = LifecycleData::new(AgentStatus::Started, Some(graph));
        let cause = cause.map(cause_of);
        emit.push(Data::Lifecycle(LifecycleData { cause, ..started }));
    }

    pub(super) fn ended(&mut self, namespace: &Namespace, outcome: GraphOutcome, emit: &mut Emit) {
        let graph = self.nested.remove(namespace);
        emit.push(Data::Lifecycle(LifecycleData::new(status_of(outcome), graph.as_ref())));
    }

    /// Nested graphs that are still open share what became of the run, the innermost first.
    pub(super) fn close(&mut self, status: AgentStatus, emit: &mut Emit) {
        for (namespace, graph) in std::mem::take(&mut self.nested).into_iter().rev() {
            let data = Data::Lifecycle(LifecycleData::new(status, Some(&graph)));
            emit.push_in(&namespace, None, data);
        }
    }

    /// Forgets the nested graphs.
    pub(super) fn lose(&mut self) {
        self.nested.clear();
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
