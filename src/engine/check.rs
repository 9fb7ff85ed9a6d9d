//! Checks a graph before it is built: what is wrong with it, and what to do about it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use crate::engine::graph::{END, Graph, START};

/// Why a graph cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BuildError {
    #[error("there are two nodes named `{node}` in graph `{graph}`; give one of them another name")]
    DuplicateNode { graph: Arc<str>, node: Arc<str> },
    #[error(
        "`{node}` is no name for a node of graph `{graph}`: names are not empty, hold no `|`, `:` \
         or `*`, and do not begin with `__`"
    )]
    BadName { graph: Arc<str>, node: Arc<str> },
    #[error(
        "`{prefix}` is no prefix for numbered nodes of graph `{graph}`: it holds no `|`, `:` or \
         `*`, does not begin with `__`, and does not end with a digit"
    )]
    BadPrefix { graph: Arc<str>, prefix: Arc<str> },
    #[error(
        "there are two channels named `{channel}` in graph `{graph}` (`messages` is always \
         there); give one of them another name"
    )]
    DuplicateChannel { graph: Arc<str>, channel: Arc<str> },
    #[error(
        "{what} of graph `{graph}` names `{node}`, which is no node; add `.node(\"{node}\", …)` or \
         correct the name"
    )]
    UnknownNode { graph: Arc<str>, what: String, node: Arc<str> },
    #[error(
        "nothing follows the start of graph `{graph}`; add `.edge(START, …)` to its first node"
    )]
    NoEntry { graph: Arc<str> },
    #[error(
        "nothing leads from the start to node `{node}` of graph `{graph}`; add an edge, name it \
         among the targets of a condition, or declare with `.goes_to(…)` which node's command \
         goes there"
    )]
    Unreachable { graph: Arc<str>, node: Arc<str> },
    #[error("{what} of graph `{graph}` {why}")]
    BadEdge { graph: Arc<str>, what: String, why: &'static str },
    #[error(
        "node `{node}` of graph `{graph}` declares that it writes channel `{channel}`, which is \
         not declared; add `.channel(\"{channel}\", …)` or correct the name"
    )]
    UnknownChannel { graph: Arc<str>, node: Arc<str>, channel: Arc<str> },
}

/// The channels that nodes declare to write.
pub(crate) type Writes = BTreeMap<Arc<str>, BTreeSet<Arc<str>>>;

/// Checks the graph as a whole.
pub(crate) fn check(graph: &Graph, writes: &Writes) -> Result<(), BuildError> {
    check_edges(graph)?;
    check_joins(graph)?;
    check_commands(graph)?;
    check_written(graph, writes)?;
    check_reachable(graph)
}

/// Whether a node may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with("__") && !name.contains(['|', ':', '*'])
}

/// Whether numbered nodes may have this before their numbers.
pub(crate) fn is_prefix(prefix: &str) -> bool {
    (prefix.is_empty() || is_name(prefix)) && !prefix.ends_with(|c: char| c.is_ascii_digit())
}

fn check_edges(graph: &Graph) -> Result<(), BuildError> {
    for (from, targets) in &graph.edges {
        for to in targets {
            let what = || format!("the edge `{from}` → `{to}`");
            check_source(graph, what, from)?;
            check_target(graph, what, to)?;
        }
    }
    for (from, branches) in &graph.branches {
        let what = || format!("the condition after `{from}`");
        check_source(graph, what, from)?;
        for target in branches.iter().flat_map(|branch| &branch.targets) {
            check_target(graph, what, target)?;
        }
    }
    Ok(())
}

fn check_joins(graph: &Graph) -> Result<(), BuildError> {
    for join in &graph.joins {
        let what = || format!("the join into `{}`", join.target);
        if join.sources.is_empty() {
            return Err(bad_edge(graph, what, "waits for nothing; name the nodes it waits for"));
        }
        check_target(graph, what, &join.target)?;
        for source in &join.sources {
            if &**source == START {
                let why = "waits for the start; use `.edge(START, …)` instead";
                return Err(bad_edge(graph, what, why));
            }
            check_source(graph, what, source)?;
        }
    }
    Ok(())
}

fn check_commands(graph: &Graph) -> Result<(), BuildError> {
    for (node, spec) in graph.nodes.iter().chain(&graph.families) {
        for target in &spec.goes_to {
            check_target(graph, || format!("the `.goes_to` of `{node}`"), target)?;
        }
    }
    Ok(())
}

fn check_source(
    graph: &Graph,
    what: impl Fn() -> String,
    node: &Arc<str>,
) -> Result<(), BuildError> {
    match &**node {
        START => Ok(()),
        END => Err(bad_edge(graph, what, "comes from the end, where nothing goes on; drop it")),
        _ => check_node(graph, what, node),
    }
}

fn check_target(
    graph: &Graph,
    what: impl Fn() -> String,
    node: &Arc<str>,
) -> Result<(), BuildError> {
    match &**node {
        START => Err(bad_edge(graph, what, "leads back to the start; name the first node instead")),
        END => Ok(()),
        _ => check_node(graph, what, node),
    }
}

fn check_node(graph: &Graph, what: impl Fn() -> String, node: &Arc<str>) -> Result<(), BuildError> {
    if graph.has_node(node) {
        return Ok(());
    }
    let (graph, what) = (graph.name.clone(), what());
    Err(BuildError::UnknownNode { graph, what, node: node.clone() })
}

fn bad_edge(graph: &Graph, what: impl Fn() -> String, why: &'static str) -> BuildError {
    BuildError::BadEdge { graph: graph.name.clone(), what: what(), why }
}

/// Declared writes go to declared channels.
fn check_written(graph: &Graph, writes: &Writes) -> Result<(), BuildError> {
    for (node, channels) in writes {
        check_node(graph, || "a `.writes`".to_owned(), node)?;
        for channel in channels {
            if !graph.channels.contains_key(channel) {
                let (graph, node, channel) = (graph.name.clone(), node.clone(), channel.clone());
                return Err(BuildError::UnknownChannel { graph, node, channel });
            }
        }
    }
    Ok(())
}

/// There is an entry, and every node can be reached from it.
fn check_reachable(graph: &Graph) -> Result<(), BuildError> {
    let mut reached: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut open = graph.targets_of(START);
    if open.is_empty() {
        return Err(BuildError::NoEntry { graph: graph.name.clone() });
    }
    while let Some(node) = open.pop() {
        if reached.insert(node.clone()) {
            open.extend(graph.targets_of(&node));
        }
    }
    let families: BTreeSet<&str> = reached.iter().filter_map(|node| graph.family(node)).collect();
    let unreached = graph.declared.iter().find(|name| match name.strip_suffix('*') {
        Some(family) => !families.contains(family),
        None => !reached.contains(*name),
    });
    match unreached.cloned() {
        None => Ok(()),
        Some(node) => Err(BuildError::Unreachable { graph: graph.name.clone(), node }),
    }
}
