//! Builds a graph, word by word.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::message;
use crate::domain::state::State;
use crate::engine::channel::Channel;
use crate::engine::check::{BuildError, Writes, check, is_name, is_prefix};
use crate::engine::cx::Cx;
use crate::engine::graph::{Branch, Graph, Join};
use crate::engine::halt::Halt;
use crate::engine::node::{Node, Spec};
use crate::engine::retry::Retry;
use crate::engine::write::{Command, Route};

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
    pub(crate) graph: Graph,
    writes: Writes,
    wrong: Option<BuildError>,
}

impl Graph {
    /// A graph under construction; `name` is shown in drawings and events.
    pub fn builder(name: &str) -> Builder {
        let mut graph = Self::empty(name);
        graph.channels.insert(message::CHANNEL.into(), Channel::messages());
        Builder { graph, writes: Writes::new(), wrong: None }
    }
}

impl Builder {
    /// Declares a channel. Those that nobody declares hold the last value; `messages` is there.
    #[must_use]
    pub fn channel(mut self, name: &str, channel: Channel) -> Self {
        if self.graph.channels.insert(name.into(), channel).is_some() {
            let (graph, channel) = (self.graph.name.clone(), name.into());
            self.refuse(BuildError::DuplicateChannel { graph, channel });
        }
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
        if !is_name(name) {
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
        let (graph, name): (_, Arc<str>) = (self.graph.name.clone(), prefix.into());
        if !is_prefix(prefix) {
            self.refuse(BuildError::BadPrefix { graph, prefix: name });
        } else if self.graph.families.insert(name, Spec::new(run)).is_some() {
            let node = format!("{prefix}*").into();
            self.refuse(BuildError::DuplicateNode { graph, node });
        } else {
            self.graph.declared.push(format!("{prefix}*").into());
        }
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
        check(&graph, &self.writes)?;
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
