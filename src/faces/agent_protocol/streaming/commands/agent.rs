//! The tree of graphs. CDDL, section 7.

use uuid::Uuid;

use super::super::error::Refusal;
use super::super::frames::{ended_as, status_of};
use super::super::wire::{
    AgentGetTreeParams, AgentResult, AgentStatus, AgentStatusEntry, AgentTreeNode, ErrorCode,
};
use super::{On, Outcome, written};
use crate::app::{Nested, Tree};
use crate::domain::ids::{Namespace, RunId};
use crate::domain::run::RunStatus;

/// The graphs of a run: of the one that is named, of the one under way, or of the last.
pub(super) async fn get_tree(on: &On, params: AgentGetTreeParams) -> Outcome {
    let run = params.run_id.as_deref().map(run_id).transpose()?;
    let tree = on.app.thread_tree(&on.who, on.thread, run).await?;
    written(&AgentResult { tree: grown(&tree) })
}

/// The run of this id. What cannot be an id names none.
pub fn run_id(text: &str) -> Result<RunId, Refusal> {
    let none = |_| Refusal::new(ErrorCode::NoSuchRun, format!("there is no run {text}"));
    Uuid::try_parse(text).map(RunId).map_err(none)
}

/// Where every graph of a run stands.
pub fn statuses(tree: &Tree) -> Vec<AgentStatusEntry> {
    let root = AgentStatusEntry { namespace: Namespace::root(), status: root_status(tree) };
    let nested = tree.graphs.iter().map(|nested| AgentStatusEntry {
        namespace: nested.namespace.clone(),
        status: nested_status(nested, root.status),
    });
    [root.clone()].into_iter().chain(nested).collect()
}

fn root_status(tree: &Tree) -> AgentStatus {
    match tree.run.status {
        RunStatus::Pending => AgentStatus::Started,
        status => ended_as(status),
    }
}

/// A graph that came to no end shares what became of its run.
fn nested_status(nested: &Nested, root: AgentStatus) -> AgentStatus {
    match (nested.outcome, root) {
        (Some(outcome), _) => status_of(outcome),
        (None, AgentStatus::Started | AgentStatus::Running) => AgentStatus::Running,
        (None, AgentStatus::Completed | AgentStatus::Failed) => AgentStatus::Failed,
        (None, AgentStatus::Interrupted) => AgentStatus::Interrupted,
    }
}

fn grown(tree: &Tree) -> AgentTreeNode {
    let status = root_status(tree);
    let mut root = AgentTreeNode {
        namespace: Namespace::root(),
        status,
        graph_name: tree.run.agent_id.0.clone(),
        children: Vec::new(),
    };
    for nested in &tree.graphs {
        let node = AgentTreeNode {
            namespace: nested.namespace.clone(),
            status: nested_status(nested, status),
            graph_name: nested.graph.clone(),
            children: Vec::new(),
        };
        plant(&mut root, node);
    }
    root
}

/// Puts a graph below the innermost one that it runs in.
fn plant(inside: &mut AgentTreeNode, node: AgentTreeNode) {
    let path = node.namespace.0.clone();
    match inside.children.iter_mut().find(|child| path.starts_with(&child.namespace.0)) {
        Some(host) => plant(host, node),
        None => inside.children.push(node),
    }
}
