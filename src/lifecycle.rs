//! From the signal to stop until the process may end.

use tokio_util::sync::CancellationToken;

/// A token that fires at SIGTERM or SIGINT.
///
/// # Errors
/// The operating system refuses to deliver signals.
pub fn stop_on_signal() -> std::io::Result<CancellationToken> {
    let drain = CancellationToken::new();
    let fires = drain.clone();
    let mut signals = Signals::new()?;
    #[expect(clippy::disallowed_methods, reason = "lives as long as the process")]
    tokio::spawn(async move {
        signals.next().await;
        tracing::info!("shutting down: no new runs; waiting for those at work");
        fires.cancel();
    });
    Ok(drain)
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        let _error = tokio::signal::ctrl_c().await;
    }
}
