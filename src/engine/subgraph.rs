//! Graphs inside tasks: each in a namespace and with checkpoints of its own, so that it goes on
//! where it stood when its task runs again.

use std::sync::Arc;

use serde::Deserialize;

use crate::domain::event::{Cause, GraphOutcome, RunEvent};
use crate::domain::ports::BoxFuture;
use crate::domain::state::State;
use crate::engine::Ended;
use crate::engine::build::Builder;
use crate::engine::cx::Cx;
use crate::engine::drive::Exit;
use crate::engine::graph::Graph;
use crate::engine::halt::{Halt, Why};
use crate::engine::node::{Node, Spec};
use crate::engine::stand::Stand;
use crate::engine::walk::{TO_PARENT, Walk};
use crate::engine::write::{Command, Update};

/// How a nested graph came to its end.
struct Left {
    state: State,
    /// What it commands the graph above.
    command: Option<Command>,
}

impl Cx {
    /// Runs `graph` inside this task. Several graphs in one task need a `key` each.
    ///
    /// Its checkpoints are its own: when the task runs again after a pause or a crash, the graph
    /// goes on where it stood, and one that has come to its end is not run again. What it asks is
    /// asked by this task too. A command that it gives to its parent is written with what this
    /// task returns.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use runloom::engine::{Cx, Graph, Halt, Update};
    /// async fn research(cx: Cx, graph: Arc<Graph>) -> Result<Update, Halt> {
    ///     let state = cx.run_subgraph(&graph, None, Update::new().set("topic", "cats"), None).await?;
    ///     Ok(Update::new().set("report", state.get("report").unwrap_or_default()))
    /// }
    /// ```
    ///
    /// # Errors
    /// The [`Halt`] to return: the graph asks, has failed (with its code), or is to stop.
    pub async fn run_subgraph(
        &self,
        graph: &Arc<Graph>,
        key: impl Into<Option<&str>>,
        input: Update,
        cause: impl Into<Option<Cause>>,
    ) -> Result<State, Halt> {
        let left = self.run_nested(graph, key.into(), input, cause.into()).await?;
        self.notes().from_below.extend(left.command);
        Ok(left.state)
    }

    async fn run_nested(
        &self,
        graph: &Arc<Graph>,
        key: Option<&str>,
        input: Update,
        cause: Option<Cause>,
    ) -> Result<Left, Halt> {
        let scope = Arc::new(self.scope().child(&segment(self, key)));
        let namespace = scope.namespace.clone();
        if !self.notes().graphs.insert(namespace.clone()) {
            let (node, key) = (self.node(), key.unwrap_or_default());
            let message = format!(
                "node `{node}` runs two graphs under the key `{key}`; give each a key of its own"
            );
            return Err(Halt::fail(message));
        }
        let run = &scope.run;
        let at = run.saver.load(&namespace).await.map_err(|lost| Halt(Why::Port(lost)))?;
        let stand = Stand::new(namespace, at);
        // An end that a crashed attempt came to may not have been shown.
        let shows = !stand.is_over() || run.attempt > 1 && stand.written_by(run.run_id).is_some();
        if shows {
            scope.emit(RunEvent::GraphStarted { graph: graph.name().clone(), cause }).await;
        }
        let mut walk = Walk::new(graph, scope.clone(), stand);
        let came = walk.run_nested(input).await;
        let outcome = match &came {
            Ok(Ended::Paused(_)) => Some(GraphOutcome::Interrupted),
            Ok(_) => Some(GraphOutcome::Completed),
            Err(Exit::Failed(_)) => Some(GraphOutcome::Failed),
            Err(Exit::Port(_) | Exit::Stopped) => None,
        };
        if let Some(outcome) = outcome.filter(|_| shows) {
            scope.emit(RunEvent::GraphEnded { outcome }).await;
        }
        match came {
            Ok(Ended::Paused(interrupts)) => {
                self.notes().asked.extend(interrupts);
                Err(Halt::asks())
            }
            Ok(Ended::Done) => Ok(Left::from(walk.into_stand())),
            Ok(Ended::Stopped) | Err(Exit::Stopped) => Err(Halt(Why::Stopped)),
            Ok(Ended::Failed(error)) | Err(Exit::Failed(error)) => Err(error.into()),
            Err(Exit::Port(lost)) => Err(Halt(Why::Port(lost))),
        }
    }
}

/// `node:task` or `node:task:key`, without the character that joins segments.
fn segment(cx: &Cx, key: Option<&str>) -> String {
    let (node, task) = (cx.node(), cx.task_id());
    match key {
        None => format!("{node}:{task}"),
        Some(key) => format!("{node}:{task}:{}", key.replace('%', "%25").replace('|', "%7C")),
    }
}

impl From<Stand> for Left {
    fn from(stand: Stand) -> Self {
        let metadata = stand.checkpoint.as_ref().map(|checkpoint| &checkpoint.metadata);
        let command = metadata.and_then(|metadata| metadata.get(TO_PARENT));
        let command = command.and_then(|command| Command::deserialize(command).ok());
        Self { command, state: stand.state }
    }
}

impl Builder {
    /// Adds a node that runs a graph of its own: `map_in` makes its input of this graph's state,
    /// `map_out` makes this graph's update of its last state.
    ///
    /// A command that the graph gives to its parent takes the place of what `map_out` makes.
    #[must_use]
    pub fn subgraph<I, O, C>(self, name: &str, graph: Arc<Graph>, map_in: I, map_out: O) -> Self
    where
        I: Fn(&State, &Cx) -> Update + Send + Sync + 'static,
        O: Fn(&State) -> C + Send + Sync + 'static,
        C: Into<Command>,
    {
        let map_out = Arc::new(move |state: &State| map_out(state).into());
        let nested = Nested { graph: graph.clone(), map_in, map_out };
        self.with_spec(name, Spec { graph: Some(graph), ..Spec::new(nested) })
    }
}

/// A node that runs a graph.
struct Nested<I> {
    graph: Arc<Graph>,
    map_in: I,
    map_out: Arc<dyn Fn(&State) -> Command + Send + Sync>,
}

impl<I: Fn(&State, &Cx) -> Update + Send + Sync + 'static> Node for Nested<I> {
    fn run(&self, state: State, cx: Cx) -> BoxFuture<'static, Result<Command, Halt>> {
        let (graph, map_out) = (self.graph.clone(), self.map_out.clone());
        let input = (self.map_in)(&state, &cx);
        Box::pin(async move {
            let cause = cx.came_from().cloned().map(|from_node| match cx.input() {
                Some(_) => Cause::Send { from_node },
                None => Cause::Edge { from_node },
            });
            let left = cx.run_nested(&graph, None, input, cause).await?;
            Ok(left.command.unwrap_or_else(|| map_out(&left.state)))
        })
    }
}
