//! What the program says of itself: logs on stderr, and metrics for Prometheus.

use std::sync::Arc;

use anyhow::{Context, Result};
use metrics_exporter_prometheus::PrometheusBuilder;
use tracing_subscriber::EnvFilter;

use crate::config::{Environment, LogFormat};

/// What is logged where `RUST_LOG` says nothing.
const DEFAULT_FILTER: &str = "info,sqlx=warn";

/// Sends logs to stderr. The first call of a process counts.
pub fn log_to_stderr(format: LogFormat, environment: &Environment) {
    let filter = environment.get("RUST_LOG").unwrap_or(DEFAULT_FILTER);
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _earlier = match format {
        LogFormat::Pretty => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}

/// Renders the metrics in Prometheus' text format.
pub type RenderMetrics = Arc<dyn Fn() -> String + Send + Sync>;

/// Latencies from a millisecond to a minute.
const SECONDS: &[f64] =
    &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Starts to collect metrics. Once a process.
///
/// # Errors
/// Somebody else collects them already.
pub fn collect_metrics() -> Result<RenderMetrics> {
    let builder = PrometheusBuilder::new().set_buckets(SECONDS).context("wrong buckets")?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).context("metrics are collected already")?;
    Ok(Arc::new(move || {
        handle.run_upkeep();
        handle.render()
    }))
}
