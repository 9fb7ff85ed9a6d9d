//! Waiting for a run's end.

use std::time::Duration;

use crate::app::{App, Caller, Finished};
use crate::domain::error::{Error, Result};
use crate::domain::ids::RunId;
use crate::domain::run::{Run, RunResult};
use crate::executor::{self, Ends};

/// How often to look at the stored run when no news comes; behind the signals, not instead.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

impl App {
    /// Waits for the end; answers at once if the run is over.
    pub async fn run_wait(&self, who: &Caller, id: RunId) -> Result<Finished> {
        let run = self.run_get(who, id).await?;
        self.wait_for(run).await
    }

    /// [`App::run_wait`] for a run that was just read.
    pub(super) async fn wait_for(&self, run: Run) -> Result<Finished> {
        let Some(thread) = run.thread_key.filter(|_| !run.status.is_over()) else {
            return self.finished(run).await;
        };
        // The interest is registered before the row is read again, so that no end is missed.
        let feed = self.0.executor.feed(thread);
        let mut ends = feed.watch_ends();
        let mut seen = *ends.borrow_and_update();
        let mut look = !self.0.executor.is_active(run.key);
        loop {
            if let Some(ended) = feed.ended(run.id) {
                let result = executor::result(&ended.state);
                return Ok(Finished { run: ended.run.clone(), result });
            }
            if look {
                let stored = self.0.store.run_get(&run.owner, run.id).await?;
                let stored = stored.ok_or_else(|| gone(run.id))?;
                if stored.status.is_over() {
                    return self.finished(stored).await;
                }
            }
            let news = tokio::time::timeout(LOOK_AGAIN, ends.changed()).await;
            let now = *ends.borrow_and_update();
            look = news.is_err()
                || now.elsewhere != seen.elsewhere
                || now.here - seen.here > Ends::KEPT;
            seen = now;
        }
    }

    /// What a run that is over left.
    pub(super) async fn finished(&self, run: Run) -> Result<Finished> {
        if let Some(result) = run.result.clone() {
            return Ok(Finished { run, result });
        }
        let result = match (run.thread_key, run.head.or(run.base)) {
            (Some(thread), Some(head)) => executor::result(&self.state_at(thread, head).await?),
            (None, _) | (_, None) => RunResult::default(),
        };
        Ok(Finished { run, result })
    }
}

fn gone(id: RunId) -> Error {
    Error::not_found("run_not_found", format!("run {id} is gone"))
}
