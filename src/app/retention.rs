//! Deletes what is no longer kept, a little at a time.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::domain::clock::Ts;

/// How long things are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// A log, after its run's end; and the run, where its thread went with it.
    pub log: Duration,
    /// How often to look.
    pub every: Duration,
}

/// Rows a table and a statement: few enough that nobody waits for it.
const BATCH: u32 = 500;

impl Retention {
    /// Looks until `drain` fires.
    pub async fn run(self, app: App, drain: CancellationToken) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = drain.cancelled() => return,
            }
            self.sweep(&app, &drain).await;
        }
    }

    async fn sweep(self, app: &App, drain: &CancellationToken) {
        let now = app.0.clock.now();
        let kept = i64::try_from(self.log.as_micros()).unwrap_or(i64::MAX);
        let before = Ts(now.0.saturating_sub(kept));
        while !drain.is_cancelled() {
            match app.0.store.sweep(before, now, BATCH).await {
                Ok(0) => return,
                Ok(rows) => tracing::debug!(rows, "deleted what is no longer kept"),
                Err(error) => {
                    tracing::warn!(error = ?error, "cannot delete what is no longer kept");
                    return;
                }
            }
        }
    }
}
