//! A graph that is being run: whose run it is, and where in the tree of graphs.

use std::sync::Arc;

use crate::domain::checkpoint::Answers;
use crate::domain::event::RunEvent;
use crate::domain::ids::Namespace;
use crate::engine::port::RunContext;

/// What all tasks of one running graph share.
pub(crate) struct Scope {
    pub(crate) run: RunContext,
    pub(crate) namespace: Namespace,
    pub(crate) answers: Arc<Answers>,
}

impl Scope {
    pub(crate) fn root(run: &RunContext, answers: Answers) -> Self {
        Self { run: run.clone(), namespace: Namespace::root(), answers: Arc::new(answers) }
    }

    /// The scope of a graph that `segment` of this one runs.
    pub(crate) fn child(&self, segment: &str) -> Self {
        let namespace = self.namespace.child(segment);
        Self { run: self.run.clone(), namespace, answers: self.answers.clone() }
    }

    /// Emits an event of this graph. A node that emits without end gives way to others here.
    pub(crate) async fn emit(&self, event: RunEvent) {
        self.run.emitter.emit(&self.namespace, event).await;
        tokio::task::coop::consume_budget().await;
    }
}
