//! The program's two long tasks: settings become a server that listens, or a migrated database.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;

use crate::agents::registry::Registry;
use crate::app::Keys;
use crate::config::Settings;
use crate::domain::clock::System;
use crate::domain::ids::Owner;
use crate::lifecycle::Lifecycle;
use crate::server::{Server, Setup};
use crate::storage::{self, Store};
use crate::telemetry::Metrics;

/// What the executor may take beyond the grace period to hand unfinished runs back.
const HANDING_BACK: Duration = Duration::from_secs(5);

/// Serves until the process is told to end, then drains.
///
/// # Errors
/// A sentence for the operator: the database, an address.
pub async fn serve(settings: Settings) -> anyhow::Result<()> {
    let grace = Duration::from_secs(settings.limits.shutdown_grace_seconds);
    let lifecycle = Lifecycle::of_process(grace + HANDING_BACK).context("cannot follow signals")?;
    let metrics = Metrics::install()?;
    drop(lifecycle.tasks().spawn(metrics.clone().keep_up(lifecycle.draining().clone())));

    let listeners = listen(&settings.listen).await?;
    let server = Server::assemble(setup(&settings, metrics)).await.context("cannot start")?;
    announce(&listeners)?;
    let drain = lifecycle.draining().clone();
    tokio::select! {
        ended = server.serve(listeners, drain) => ended.context("the server stopped")?,
        () = lifecycle.stopping().cancelled() => tracing::warn!("time is up; not everything ended"),
    }
    lifecycle.finish().await;
    Ok(())
}

/// Brings the schema up to date.
///
/// # Errors
/// A sentence for the operator.
pub async fn migrate(settings: Settings) -> anyhow::Result<()> {
    let options = storage::Options {
        url: settings.database_url.expose().to_owned(),
        max_connections: 1,
        clock: Arc::new(System),
    };
    let store = Store::open(options).await.context("cannot open the database")?;
    store.migrate().await.context("cannot migrate the database")
}

async fn listen(addresses: &[String]) -> anyhow::Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for address in addresses {
        let bound = TcpListener::bind(address).await;
        listeners.push(bound.with_context(|| format!("cannot listen on {address}"))?);
    }
    Ok(listeners)
}

/// Tells on stdout where the server answers; with port 0 nobody else knows.
fn announce(listeners: &[TcpListener]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for listener in listeners {
        writeln!(out, "listening on http://{}", listener.local_addr()?)?;
    }
    out.flush().context("cannot write to stdout")
}

fn setup(settings: &Settings, metrics: Metrics) -> Setup {
    let limits = &settings.limits;
    let mut setup = Setup {
        database_url: settings.database_url.expose().to_owned(),
        agents: if settings.demo_agents { Registry::demo() } else { Registry::new() },
        keys: keys(settings),
        webhook_secret: settings.webhook_secret.clone().map(Arc::new),
        grace: Duration::from_secs(limits.shutdown_grace_seconds),
        ..Setup::default()
    };
    setup.app.allow_private_networks = settings.allow_private_networks;
    setup.app.queued_runs = limits.queued_runs;
    setup.app.queued_runs_per_owner = limits.queued_runs_per_owner;
    setup.executor.workers = settings.workers;
    setup.executor.lease = Duration::from_secs(limits.lease_seconds);
    setup.executor.run_limit = Duration::from_secs(limits.run_seconds);
    setup.executor.max_attempts = limits.max_attempts;
    setup.executor.log_events_per_run = limits.log_events_per_run;
    setup.http.body_bytes = limits.body_bytes;
    setup.http.json_depth = limits.json_depth;
    setup.http.metrics = Arc::new(move || metrics.render());
    setup
}

fn keys(settings: &Settings) -> Keys {
    let mut keys = Keys::default();
    for key in settings.keys.iter() {
        keys.add_hashed(Owner::new(key.owner.as_str()), key.sha256);
    }
    keys
}
