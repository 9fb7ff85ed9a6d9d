//! Builds a graph and checks it: what is wrong with one is found here, with what to do about it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::domain::message;
use crate::domain::state::State;
use crate::engine::channel::Channel;
use crate::engine::cx::Cx;
use crate::engine::graph::{Branch, END, Graph, Join, START};
use crate::engine::halt::Halt;
use crate::engine::node::{Node, Spec};
use crate::engine::retry::Retry;
use crate::engine::write::{Command, Route};

/// Why a graph cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BuildError {
    #[error("there are two nodes named `{node}` in graph `{graph}`; give one of them another name")]
    DuplicateNode { graph: Arc<str>, node: Arc<str> },
    #[error(
        "`{node}` is no name for a node of graph `{graph}`: names are not empty, hold no `|` and \
         no `:`, and do not begin with `__`"
    )]
    BadName { graph: Arc<str>, node: Arc<str> },
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
        "no edge leads to node `{node}` of graph `{graph}`; add one, name it among the targets of \
         a condition, or declare with `.goes_to(…)` which node's command goes there"
    )]
    Unreachable { graph: Arc<str>, node: Arc<str> },
    #[error("an edge of graph `{graph}` {why}")]
    BadEdge { graph: Arc<str>, why: &'static str },
    #[error(
        "node `{node}` of graph `{graph}` declares that it writes channel `{channel}`, which is \
         not declared; add `.channel(\"{channel}\", …)` or correct the name"
    )]
    UnknownChannel { graph: Arc<str>, node: Arc<str>, channel: Arc<str> },
}

/// Builds a [`Graph`].
///
/// ```
/// use runloom::engine::{END, Graph, START, Update};
///
/// let graph = Graph::builder("greeter")
///     .node("greet", |state, _cx| async move {
///         let name: String = state.get_as("name").unwrap_or_default();
///         Ok(Update::new().set("greeting", format!("Hello, {name}!")))
///     })
///     .edge(START, "greet")
///     .edge("greet", END)
///     .build()?;
/// # Ok::<(), runloom::engine::BuildError>(())
/// ```
pub struct Builder {
    graph: Graph,
    writes: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    wrong: Option<BuildError>,
}

impl Graph {
    /// A graph under construction; `name` is shown in drawings and events.
    pub fn builder(name: &str) -> Builder {
        let mut graph = Self::empty(name);
        graph.channels.insert(message::CHANNEL.into(), Channel::messages());
        Builder { graph, writes: BTreeMap::new(), wrong: None }
    }
}

impl Builder {
    /// Declares a channel. Those that nobody declares hold the last value; `messages` is there.
    #[must_use]
    pub fn channel(mut self, name: &str, channel: Channel) -> Self {
        self.graph.channels.insert(name.into(), channel);
        self
    }

    /// Adds a node that runs an async closure: `|state, cx| async move { … }`.
    #[must_use]
    pub fn node<F, Fut, C>(self, name: &str, run: F) -> Self
    where
        F: Fn(State, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<C, Halt>> + Send + 'static,
        C: Into<Command> + 'static,
    {
        self.node_of(name, run)
    }

    /// Adds a node of any kind.
    #[must_use]
    pub fn node_of(self, name: &str, node: impl Node) -> Self {
        self.with_spec(name, Spec::new(node))
    }

    pub(crate) fn with_spec(mut self, name: &str, spec: Spec) -> Self {
        let graph = self.graph.name.clone();
        let node_name: Arc<str> = name.into();
        if name.is_empty() || name.starts_with("__") || name.contains(['|', ':', '*']) {
            self.refuse(BuildError::BadName { graph, node: node_name });
        } else if self.graph.nodes.insert(node_name.clone(), spec).is_some() {
            self.refuse(BuildError::DuplicateNode { graph, node: node_name });
        } else {
            self.graph.declared.push(node_name);
        }
        self
    }

    /// Adds nodes that differ only in the number at the end of their names: `prefix` is what
    /// comes before it. `cx.node()` tells which one runs.
    #[must_use]
    pub fn nodes_numbered<F, Fut, C>(mut self, prefix: &str, run: F) -> Self
    where
        F: Fn(State, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<C, Halt>> + Send + 'static,
        C: Into<Command> + 'static,
    {
        self.graph.families.insert(prefix.into(), Spec::new(run));
        self.graph.declared.push(format!("{prefix}*").into());
        self
    }

    /// Tries `node` again when it fails.
    #[must_use]
    pub fn retry(self, node: &str, retry: Retry) -> Self {
        self.with_node(node, "a retry policy", |spec| spec.retry = Some(retry))
    }

    /// Lets every attempt of `node` take this long at most (code `node_timeout`).
    #[must_use]
    pub fn time_limit(self, node: &str, limit: Duration) -> Self {
        self.with_node(node, "a time limit", |spec| spec.time_limit = Some(limit))
    }

    /// Declares where the commands of `node` may go: for the check that every node can be
    /// reached, and for drawings.
    #[must_use]
    pub fn goes_to<'a>(self, node: &str, targets: impl IntoIterator<Item = &'a str>) -> Self {
        let targets: Vec<Arc<str>> = targets.into_iter().map(Arc::from).collect();
        self.with_node(node, "a `.goes_to`", |spec| spec.goes_to.extend(targets))
    }

    /// Declares which channels `node` writes: each must be declared too.
    #[must_use]
    pub fn writes<'a>(mut self, node: &str, channels: impl IntoIterator<Item = &'a str>) -> Self {
        let written = self.writes.entry(node.into()).or_default();
        written.extend(channels.into_iter().map(Arc::from));
        self
    }

    /// Runs `to` after `from`. Several edges from one node run their targets side by side.
    #[must_use]
    pub fn edge(mut self, from: &str, to: &str) -> Self {
        self.graph.edges.entry(from.into()).or_default().push(to.into());
        self
    }

    /// Runs `to` once all of `from` have run, in whichever steps.
    #[must_use]
    pub fn join<'a>(mut self, from: impl IntoIterator<Item = &'a str>, to: &str) -> Self {
        let sources: BTreeSet<Arc<str>> = from.into_iter().map(Arc::from).collect();
        let taken = self.graph.joins.iter().any(|join| &*join.target == to);
        let key = if taken {
            let names: Vec<&str> = sources.iter().map(|source| &**source).collect();
            format!("{to} after {}", names.join(", "))
        } else {
            to.to_owned()
        };
        self.graph.joins.push(Join { key, sources, target: to.into() });
        self
    }

    /// After `from`, runs what `choose` says, which is among `targets`. It sees the state after
    /// the step, and may fan out: several targets, each with an input of its own
    /// ([`send`](crate::engine::send)).
    #[must_use]
    pub fn branch<'a, R: Into<Route>>(
        mut self,
        from: &str,
        targets: impl IntoIterator<Item = &'a str>,
        choose: impl Fn(&State) -> R + Send + Sync + 'static,
    ) -> Self {
        let targets = targets.into_iter().map(Arc::from).collect();
        let choose = Arc::new(move |state: &State| choose(state).into());
        self.graph.branches.entry(from.into()).or_default().push(Branch { targets, choose });
        self
    }

    /// Checks the graph.
    ///
    /// # Errors
    /// What is wrong, and what to do about it.
    pub fn build(self) -> Result<Arc<Graph>, BuildError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let graph = self.graph;
        check_names(&graph)?;
        check_written(&graph, &self.writes)?;
        check_reachable(&graph)?;
        Ok(Arc::new(graph))
    }

    fn with_node(mut self, node: &str, what: &str, set: impl FnOnce(&mut Spec)) -> Self {
        let nodes = &mut self.graph.nodes;
        if let Some(spec) = nodes.get_mut(node).or_else(|| self.graph.families.get_mut(node)) {
            set(spec);
        } else {
            let (graph, what) = (self.graph.name.clone(), what.to_owned());
            self.refuse(BuildError::UnknownNode { graph, what, node: node.into() });
        }
        self
    }

    /// Keeps the first thing that is wrong.
    fn refuse(&mut self, wrong: BuildError) {
        self.wrong.get_or_insert(wrong);
    }
}

/// Every name that an edge, a condition, a join or a declaration uses is that of a node.
fn check_names(graph: &Graph) -> Result<(), BuildError> {
    let name = || graph.name.clone();
    let known = |what: String, node: &Arc<str>, special: &str| {
        if graph.has_node(node) || &**node == special {
            return Ok(());
        }
        match &**node {
            START => Err(BuildError::BadEdge { graph: name(), why: "leads back to START" }),
            END => Err(BuildError::BadEdge { graph: name(), why: "comes from END" }),
            _ => Err(BuildError::UnknownNode { graph: name(), what, node: node.clone() }),
        }
    };
    for (from, targets) in &graph.edges {
        for to in targets {
            known(format!("the edge `{from}` → `{to}`"), from, START)?;
            known(format!("the edge `{from}` → `{to}`"), to, END)?;
        }
    }
    for (from, branches) in &graph.branches {
        known(format!("the condition after `{from}`"), from, START)?;
        for target in branches.iter().flat_map(|branch| &branch.targets) {
            known(format!("the condition after `{from}`"), target, END)?;
        }
    }
    for join in &graph.joins {
        known(format!("the join into `{}`", join.target), &join.target, END)?;
        for source in &join.sources {
            known(format!("the join into `{}`", join.target), source, "")?;
        }
    }
    for (node, spec) in graph.nodes.iter().chain(&graph.families) {
        for target in &spec.goes_to {
            known(format!("the `.goes_to` of `{node}`"), target, END)?;
        }
    }
    Ok(())
}

/// Declared writes go to declared channels.
fn check_written(
    graph: &Graph,
    writes: &BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
) -> Result<(), BuildError> {
    for (node, channels) in writes {
        if !graph.has_node(node) {
            let what = "a `.writes`".to_owned();
            let (graph, node) = (graph.name.clone(), node.clone());
            return Err(BuildError::UnknownNode { graph, what, node });
        }
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
    let mut open = targets(graph, START);
    if open.is_empty() {
        return Err(BuildError::NoEntry { graph: graph.name.clone() });
    }
    while let Some(node) = open.pop() {
        if reached.insert(node.clone()) {
            open.extend(targets(graph, &node));
        }
    }
    match graph.nodes.keys().find(|node| !reached.contains(*node)) {
        None => Ok(()),
        Some(node) => {
            Err(BuildError::Unreachable { graph: graph.name.clone(), node: node.clone() })
        }
    }
}

/// Everything that may follow `node`.
fn targets(graph: &Graph, node: &str) -> Vec<Arc<str>> {
    let edges = graph.edges_from(node).iter();
    let branches = graph.branches_from(node).iter().flat_map(|branch| &branch.targets);
    let joins = graph.joins.iter().filter(|join| join.sources.contains(node));
    let commands = graph.spec(node).into_iter().flat_map(|spec| &spec.goes_to);
    edges.chain(branches).chain(joins.map(|join| &join.target)).chain(commands).cloned().collect()
}
