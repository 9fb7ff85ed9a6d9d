//! The only wiring: settings become a store, agents, an executor, use cases and routers.

mod listen;
mod resolve;
mod setup;

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use resolve::PublicOnly;
pub use setup::{Builder, Setup};

use crate::agents::intake;
use crate::agents::registry::{Agent, Registry};
use crate::app::{App, Courier, Parts, Retention, StoredMemories};
use crate::domain::error::Result;
use crate::domain::ids::AgentId;
use crate::domain::run::Run;
use crate::engine::Graph;
use crate::executor::port::{Graphs, Intake, Memories, RunLedger, Runnable};
use crate::executor::{Ports, Service};
use crate::storage::Store;
use crate::{faces, http};

/// A server that is put together and not yet listening.
pub struct Server {
    pub app: App,
    pub router: axum::Router,
    service: Service,
    courier: Courier,
    retention: Retention,
    draining: http::Draining,
    grace: Duration,
}

impl Server {
    /// A builder with the demo agents and an embedded database in memory.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens the store, brings its schema up to date, and puts everything together.
    ///
    /// # Errors
    /// What opening or migrating the database answers.
    pub async fn assemble(setup: Setup) -> Result<Self> {
        let store = Store::open(setup.storage()).await?;
        store.migrate().await?;
        // Subscribed to before anything can happen, so that no signal is missed.
        let signals = store.signals();
        let agents = Arc::new(setup.agents);
        let memories = StoredMemories { store: store.clone(), clock: setup.clock.clone() };
        let ports = Ports {
            ledger: Arc::new(store.clone()) as Arc<dyn RunLedger>,
            graphs: Arc::new(AgentGraphs(agents.clone())),
            memories: Arc::new(memories) as Arc<dyn Memories>,
            timer: setup.timer.clone(),
            clock: setup.clock.clone(),
            ids: setup.ids.clone(),
        };
        let (service, executor) = Service::new(setup.executor, ports, signals);
        let app = App::new(Parts {
            store,
            agents,
            executor,
            clock: setup.clock,
            ids: setup.ids,
            keys: setup.keys,
            options: setup.app,
        });
        let draining = setup.http.draining.clone();
        let router = faces::router(app.clone(), setup.http);
        let courier = Courier {
            client: setup.webhook_client,
            secret: setup.webhook_secret,
            body: faces::agent_protocol::webhook_body,
            poll: setup.webhook_poll,
        };
        let (retention, grace) = (setup.retention, setup.grace);
        Ok(Self { app, router, service, courier, retention, draining, grace })
    }

    /// Serves on these sockets until `drain` fires; then finishes what it can within the grace
    /// period, hands the rest back, and returns.
    ///
    /// # Errors
    /// What accepting connections answers.
    pub async fn serve(
        self,
        listeners: Vec<TcpListener>,
        drain: CancellationToken,
    ) -> std::io::Result<()> {
        let Self { app, router, service, courier, retention, draining, grace } = self;
        let closed = CancellationToken::new();
        let doors = listeners.into_iter().map(|listener| {
            let served = listen::serve(listener, router.clone(), drain.clone());
            let closed = closed.clone();
            async move {
                tokio::select! {
                    served = served.into_future() => served,
                    // Streams that outlive their runs do not keep the process alive.
                    () = closed.cancelled() => Ok(()),
                }
            }
        });
        let work = async {
            tokio::join!(
                service.run(drain.clone(), grace),
                courier.run(app.clone(), drain.clone()),
                retention.run(app, drain.clone()),
                async {
                    drain.cancelled().await;
                    draining.begin();
                }
            );
            tokio::time::sleep(listen::LAST_WORDS).await;
            closed.cancel();
            Ok(())
        };
        tokio::try_join!(futures::future::try_join_all(doors), work).map(|_| ())
    }
}

/// The registry as the executor sees it.
struct AgentGraphs(Arc<Registry>);

impl Graphs for AgentGraphs {
    fn ids(&self) -> Vec<AgentId> {
        self.0
            .iter()
            .filter(|agent| agent.unavailable.is_none())
            .map(|agent| agent.id.clone())
            .collect()
    }

    fn get(&self, id: &AgentId) -> Option<Arc<dyn Runnable>> {
        let agent = self.0.get(id.as_str()).filter(|agent| agent.unavailable.is_none())?;
        Some(Arc::new(AgentGraph(agent)))
    }
}

struct AgentGraph(Arc<Agent>);

impl Runnable for AgentGraph {
    fn graph(&self) -> &Arc<Graph> {
        &self.0.graph
    }

    fn intake(&self, run: &Run) -> Result<Intake> {
        Ok(Intake {
            input: intake::update(&self.0, &run.spec, run.id)?,
            update: intake::command_update(&run.spec, run.id)?,
        })
    }
}
