//! The graphs of a run: which ran inside which, and how they came out.

use std::sync::Arc;

use crate::app::follow::events_of;
use crate::app::{App, Caller};
use crate::domain::error::{Error, Result};
use crate::domain::event::{GraphOutcome, Logged, RunEvent, Seq};
use crate::domain::ids::{Namespace, RunId, ThreadId};
use crate::domain::page::Page;
use crate::domain::run::{Run, RunStatus};
use crate::executor::Read;
use crate::storage::RunFilter;

/// A run with the graphs nested in it.
#[derive(Clone, Debug)]
pub struct Tree {
    pub run: Run,
    /// In the order in which they started: a graph comes after the one it runs in.
    pub graphs: Vec<Nested>,
}

/// A graph inside a task.
#[derive(Clone, PartialEq, Debug)]
pub struct Nested {
    pub namespace: Namespace,
    pub graph: Arc<str>,
    /// `None`: it did not come to an end, or not yet.
    pub outcome: Option<GraphOutcome>,
}

/// Segments a query.
const SEGMENTS: u32 = 64;
/// How many of a thread's newest runs are looked at for one that ran.
const NEWEST: u32 = 20;

impl App {
    /// The graphs of a run of this thread (`run_not_found`); without one, of the run under way or
    /// else the last.
    pub async fn thread_tree(
        &self,
        who: &Caller,
        id: ThreadId,
        run: Option<RunId>,
    ) -> Result<Tree> {
        self.thread(who, id).await?;
        let run = match run {
            Some(run) => self.run_get(who, run).await.ok().filter(|run| run.thread_id == id),
            None => self.newest_run(who, id).await?,
        };
        let run = run.ok_or_else(|| {
            Error::not_found("run_not_found", format!("there is no such run on thread {id}"))
        })?;
        let graphs = self.nested(&run).await?;
        Ok(Tree { run, graphs })
    }

    async fn newest_run(&self, who: &Caller, id: ThreadId) -> Result<Option<Run>> {
        let filter = RunFilter { thread_id: Some(id), ..RunFilter::default() };
        let page = Page { limit: NEWEST, offset: 0 };
        let runs = self.0.store.run_search(&who.owner, &filter, page).await?;
        let running = runs.iter().position(|run| run.status == RunStatus::Running);
        let ran = running.or_else(|| runs.iter().position(|run| run.attempt > 0));
        Ok(runs.into_iter().nth(ran.unwrap_or(0)))
    }

    /// What its log tells: stored, then what is not stored yet.
    async fn nested(&self, run: &Run) -> Result<Vec<Nested>> {
        let mut graphs = Vec::new();
        let mut read: Seq = 0;
        loop {
            let segments = self.0.store.run_log(run.id, read, SEGMENTS).await?;
            let Some(newest) = segments.last() else { break };
            read = newest.last;
            segments.iter().flat_map(events_of).for_each(|logged| note(&mut graphs, &logged));
        }
        if let Some(thread) = run.thread_key
            && let Read::Live(events) = self.0.executor.feed(thread).read(read)
        {
            let of_run = events.iter().filter(|logged| logged.run_id == run.id);
            of_run.for_each(|logged| note(&mut graphs, logged));
        }
        Ok(graphs)
    }
}

fn note(graphs: &mut Vec<Nested>, logged: &Logged) {
    match &logged.event {
        // What the attempt before left open is void.
        RunEvent::AttemptStarted { .. } => graphs.retain(|nested| nested.outcome.is_some()),
        RunEvent::GraphStarted { graph, .. } => {
            graphs.retain(|nested| nested.namespace != logged.namespace);
            let (namespace, graph) = (logged.namespace.clone(), graph.clone());
            graphs.push(Nested { namespace, graph, outcome: None });
        }
        RunEvent::GraphEnded { outcome } => {
            let ended = graphs.iter_mut().find(|nested| nested.namespace == logged.namespace);
            if let Some(ended) = ended {
                ended.outcome = Some(*outcome);
            }
        }
        _ => {}
    }
}
