//! The program: settings become a server that listens.

mod agents;
mod models;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tokio::net::TcpListener;

use crate::app::Keys;
use crate::config::Settings;
use crate::domain::clock::System;
use crate::domain::error::Error;
use crate::domain::ids::Owner;
use crate::lifecycle::Lifecycle;
use crate::server::{PublicOnly, Server, Setup};
use crate::storage::{self, Store};
use crate::telemetry::Metrics;

/// What handing unfinished runs back may take beyond the grace period.
const HANDING_BACK: Duration = Duration::from_secs(5);

/// Serves until SIGTERM or SIGINT, then drains.
///
/// # Errors
/// A sentence for the operator: the database, an address.
pub async fn serve(settings: Settings) -> Result<()> {
    let grace = Duration::from_secs(settings.limits.shutdown_grace_seconds);
    let lifecycle = Lifecycle::of_process(grace + HANDING_BACK).context("cannot follow signals")?;
    let metrics = Metrics::install()?;
    drop(lifecycle.tasks().spawn(metrics.clone().keep_up(lifecycle.draining().clone())));
    let listeners = listen(&settings).await?;
    let mut setup = setup(&settings)?;
    setup.http.metrics = Arc::new(move || metrics.render());
    let server = Server::assemble(setup).await.map_err(explain)?;
    for listener in &listeners {
        let address = listener.local_addr()?;
        let mut stdout = std::io::stdout();
        writeln!(stdout, "listening on http://{address}")?;
        stdout.flush()?;
    }
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
pub async fn migrate(settings: &Settings) -> Result<()> {
    let options = storage::Options {
        url: settings.database_url.expose().to_owned(),
        max_connections: 1,
        clock: Arc::new(System),
    };
    let store = Store::open(options).await.map_err(explain)?;
    store.migrate().await.map_err(explain)
}

/// Puts everything together that can be without a database.
///
/// # Errors
/// A sentence for the operator.
pub fn check(settings: &Settings) -> Result<()> {
    setup(settings).map(drop)
}

async fn listen(settings: &Settings) -> Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(settings.listen.len());
    for address in &settings.listen {
        let bound = TcpListener::bind(address).await;
        listeners.push(bound.with_context(|| format!("cannot listen on {address}"))?);
    }
    Ok(listeners)
}

fn setup(settings: &Settings) -> Result<Setup> {
    let limits = &settings.limits;
    let mut setup = Setup {
        database_url: settings.database_url.expose().to_owned(),
        agents: agents::agents(settings)?,
        keys: keys(settings),
        webhook_client: webhook_client(settings)?,
        webhook_secret: settings.webhook_secret.clone().map(Arc::new),
        grace: Duration::from_secs(limits.shutdown_grace_seconds),
        ..Setup::default()
    };
    setup.app.allow_private_networks = settings.allow_private_networks;
    setup.app.queued_runs = limits.queued_runs;
    setup.app.queued_runs_per_owner = limits.queued_runs_per_owner;
    setup.retention.log = Duration::from_secs(limits.log_seconds);
    setup.executor.workers = settings.workers;
    setup.executor.lease = Duration::from_secs(limits.lease_seconds);
    setup.executor.run_limit = Duration::from_secs(limits.run_seconds);
    setup.executor.max_attempts = limits.max_attempts;
    setup.executor.log_events_per_run = limits.log_events_per_run;
    setup.http.body_bytes = limits.body_bytes;
    setup.http.json_depth = limits.json_depth;
    if settings.playground.enabled {
        setup.http.origins = settings.playground.origins.clone().into();
    }
    Ok(setup)
}

fn keys(settings: &Settings) -> Keys {
    let mut keys = Keys::default();
    for key in settings.keys.iter() {
        keys.add_hashed(Owner::new(key.owner.as_str()), key.sha256);
    }
    keys
}

/// How long a webhook's receiver may take.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);

fn webhook_client(settings: &Settings) -> Result<reqwest::Client> {
    let builder = reqwest::Client::builder()
        .timeout(WEBHOOK_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("runloom/", env!("CARGO_PKG_VERSION")));
    let builder = if settings.allow_private_networks {
        builder
    } else {
        builder.dns_resolver(Arc::new(PublicOnly))
    };
    builder.build().context("the client for webhooks cannot be built")
}

/// The operator reads the cause too.
#[expect(clippy::needless_pass_by_value, reason = "what `map_err` calls")]
fn explain(error: Error) -> anyhow::Error {
    match std::error::Error::source(&error) {
        Some(cause) => anyhow!("{error}: {cause}"),
        None => anyhow!("{error}"),
    }
}
