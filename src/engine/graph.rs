//! A compiled graph: nodes, channels, and what follows what. Immutable, shared by all its runs.
//!
//! Graphs are made by the [`Builder`](crate::engine::Builder).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::domain::state::State;
use crate::engine::channel::Channel;
use crate::engine::node::Spec;
use crate::engine::schema::Schemas;
use crate::engine::write::Route;

/// Where a graph begins: its edges lead to what an input starts.
pub const START: &str = "__start__";
/// Where a graph ends: a target that is no node.
pub const END: &str = "__end__";

/// A condition on the state that chooses what follows a node.
pub(crate) type Choose = Arc<dyn Fn(&State) -> Route + Send + Sync>;

/// An edge whose target is chosen when it is followed.
#[derive(Clone)]
pub(crate) struct Branch {
    /// Where it may lead, for checks and drawings.
    pub(crate) targets: Vec<Arc<str>>,
    pub(crate) choose: Choose,
}

/// An edge from several nodes: its target is due when all of them have run.
#[derive(Clone)]
pub(crate) struct Join {
    /// Names it in a frontier.
    pub(crate) key: String,
    pub(crate) sources: BTreeSet<Arc<str>>,
    pub(crate) target: Arc<str>,
}

/// A compiled graph.
pub struct Graph {
    pub(crate) name: Arc<str>,
    pub(crate) channels: BTreeMap<Arc<str>, Channel>,
    pub(crate) nodes: BTreeMap<Arc<str>, Spec>,
    /// Nodes that differ only in the number at the end of their names.
    pub(crate) families: BTreeMap<Arc<str>, Spec>,
    /// Names in the order in which they were declared; a family as `NAME*`.
    pub(crate) declared: Vec<Arc<str>>,
    pub(crate) edges: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    pub(crate) branches: BTreeMap<Arc<str>, Vec<Branch>>,
    pub(crate) joins: Vec<Join>,
    pub(crate) schemas: Schemas,
    undeclared: Channel,
}

impl Graph {
    pub(crate) fn empty(name: &str) -> Self {
        Self {
            name: name.into(),
            channels: BTreeMap::new(),
            nodes: BTreeMap::new(),
            families: BTreeMap::new(),
            declared: Vec::new(),
            edges: BTreeMap::new(),
            branches: BTreeMap::new(),
            joins: Vec::new(),
            schemas: Schemas::default(),
            undeclared: Channel::last_value(),
        }
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The names of the nodes as they were declared; a family of nodes is `NAME*`.
    pub fn node_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.declared.iter()
    }

    pub fn has_node(&self, name: &str) -> bool {
        self.spec(name).is_some()
    }

    /// The channel of this name; one that nobody declared holds the last value.
    pub fn channel(&self, name: &str) -> &Channel {
        self.channels.get(name).unwrap_or(&self.undeclared)
    }

    pub(crate) fn spec(&self, name: &str) -> Option<&Spec> {
        self.nodes.get(name).or_else(|| self.families.get(family_of(name)?))
    }

    /// The family of numbered nodes that `name` belongs to, if it is no node of its own.
    pub(crate) fn family<'a>(&self, name: &'a str) -> Option<&'a str> {
        let family = family_of(name).filter(|family| self.families.contains_key(*family));
        family.filter(|_| !self.nodes.contains_key(name))
    }

    /// Everything that may follow `node`.
    pub(crate) fn targets_of(&self, node: &str) -> Vec<Arc<str>> {
        let edges = self.edges_from(node).iter();
        let branches = self.branches_from(node).iter().flat_map(|branch| &branch.targets);
        let joins = self.joins.iter().filter(|join| join.sources.contains(node));
        let commands = self.spec(node).into_iter().flat_map(|spec| &spec.goes_to);
        let joined = joins.map(|join| &join.target);
        edges.chain(branches).chain(joined).chain(commands).cloned().collect()
    }

    /// The plain edges that leave `node`.
    pub(crate) fn edges_from(&self, node: &str) -> &[Arc<str>] {
        self.edges.get(node).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn branches_from(&self, node: &str) -> &[Branch] {
        self.branches.get(node).map_or(&[], Vec::as_slice)
    }
}

/// The family that a node named `name` may belong to: what comes before the number at its end.
fn family_of(name: &str) -> Option<&str> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (prefix.len() < name.len()).then_some(prefix)
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("name", &self.name)
            .field("nodes", &self.declared)
            .field("channels", &self.channels)
            .finish_non_exhaustive()
    }
}
