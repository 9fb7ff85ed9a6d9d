//! When the process ends: first softly, then for good.
//!
//! The first SIGTERM or SIGINT starts the *drain*: nothing new is begun, and what is under way may
//! end. After the grace period, or at the second signal, comes the *stop*: whatever is left is
//! dropped. This module knows nothing about what drains.

use std::io;
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The two tokens of a shutdown, and the tasks that it waits for. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    draining: CancellationToken,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Lifecycle {
    /// One that follows the process's signals.
    ///
    /// # Errors
    /// The operating system refuses to tell about signals.
    pub fn of_process(grace: Duration) -> io::Result<Self> {
        let terminations = arrivals("SIGTERM", signal(SignalKind::terminate())?);
        let interrupts = arrivals("SIGINT", signal(SignalKind::interrupt())?);
        Ok(Self::following(futures::stream::select(terminations, interrupts).boxed(), grace))
    }

    /// One that follows these signals, each with its name.
    pub fn following(signals: BoxStream<'static, &'static str>, grace: Duration) -> Self {
        let lifecycle = Self::default();
        // Not one of the tasks that the end waits for: it ends with the process.
        let watched = lifecycle.clone();
        drop(TaskTracker::new().spawn(watched.watch(signals, grace)));
        lifecycle
    }

    /// Fires when nothing new should be begun.
    pub fn draining(&self) -> &CancellationToken {
        &self.draining
    }

    /// Fires when time is up.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Tasks spawned here are waited for by [`Lifecycle::finish`]; they end when `draining` fires.
    pub fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Drains, and returns when every task has ended or time is up; says whether all ended.
    pub async fn finish(self) -> bool {
        self.draining.cancel();
        self.tasks.close();
        tokio::select! {
            biased;
            () = self.tasks.wait() => true,
            () = self.stopping.cancelled() => false,
        }
    }

    async fn watch(self, mut signals: BoxStream<'static, &'static str>, grace: Duration) {
        tokio::select! {
            Some(name) = signals.next() => {
                tracing::info!(signal = name, stop_after_s = grace.as_secs(), "shutting down");
            }
            () = self.draining.cancelled() => {}
        }
        self.draining.cancel();
        tokio::select! {
            Some(name) = signals.next() => tracing::warn!(signal = name, "stopping at once"),
            () = tokio::time::sleep(grace) => {}
        }
        self.stopping.cancel();
    }
}

/// A stream of one kind of signal.
fn arrivals(name: &'static str, signal: Signal) -> BoxStream<'static, &'static str> {
    let next = move |mut signal: Signal| async move {
        signal.recv().await?;
        Some((name, signal))
    };
    futures::stream::unfold(signal, next).boxed()
}

#[cfg(test)]
mod tests;
