//! What the server says about itself: log lines on stderr, and numbers for Prometheus.
//!
//! Field names and units are in `docs/LOGGING.md`. Metrics are rendered for a route of our own;
//! nothing here listens or pushes.

use std::time::Duration;

use anyhow::Context;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;

const DEFAULT_FILTER: &str = "info,sqlx=warn";

/// Edges of the histograms of durations, from a cached read to a long run.
const SECONDS: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0,
    3600.0,
];

/// Samples are folded into the histograms this often; unread, they would pile up.
const FOLD_EVERY: Duration = Duration::from_secs(5);

/// Which log lines are written.
///
/// # Errors
/// `RUST_LOG` cannot be read.
pub fn filter(rust_log: Option<&str>) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(rust_log.unwrap_or(DEFAULT_FILTER)).context(
        "RUST_LOG: this is not a filter; give a level such as `info`, or `info,runloom=debug`",
    )
}

/// Sends log lines to stderr from now on.
///
/// # Errors
/// Somebody else already receives them.
pub fn init(format: LogFormat, filter: EnvFilter) -> anyhow::Result<()> {
    let lines = lines(format, std::io::stderr);
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .try_init()
        .context("cannot set up logging")
}

/// Writes each event as one line.
fn lines<W>(format: LogFormat, writer: W) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Pretty => {
            let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            layer.with_ansi(terminal).boxed()
        }
        LogFormat::Json => {
            // The list has every span around the event, and so its request and its run.
            layer.json().flatten_event(true).with_current_span(false).with_span_list(true).boxed()
        }
    }
}

/// Everything that is measured. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Receives what is measured from now on.
    ///
    /// # Errors
    /// Somebody else already receives it.
    pub fn install() -> anyhow::Result<Self> {
        let handle = builder()?.install_recorder().context("cannot set up metrics")?;
        Ok(Self(handle))
    }

    /// In Prometheus' text format.
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Folds samples until `stop` fires.
    pub async fn keep_up(self, stop: CancellationToken) {
        let mut every = tokio::time::interval(FOLD_EVERY);
        loop {
            tokio::select! {
                _ = every.tick() => self.0.run_upkeep(),
                () = stop.cancelled() => return,
            }
        }
    }
}

fn builder() -> anyhow::Result<PrometheusBuilder> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .context("cannot set up the histograms")
}

#[cfg(test)]
mod tests;
