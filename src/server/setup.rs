//! What a server is made of, with a builder for those who embed it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use crate::agents::registry::{Agent, Registry};
use crate::app::{self, Keys, Retention};
use crate::domain::clock::{Clock, IdGen, System};
use crate::domain::error::Result;
use crate::domain::ids::Owner;
use crate::domain::ports::Timer;
use crate::executor::{self, SystemTimer};
use crate::server::Server;
use crate::{http, storage};

/// Everything that [`Server::assemble`] needs.
pub struct Setup {
    pub database_url: String,
    pub max_connections: u32,
    pub agents: Registry,
    pub keys: Keys,
    pub app: app::Options,
    pub executor: executor::Options,
    pub http: http::Options,
    pub webhook_client: reqwest::Client,
    pub webhook_secret: Option<Arc<SecretString>>,
    pub webhook_poll: Duration,
    pub retention: Retention,
    /// How long a shut-down lets runs go on.
    pub grace: Duration,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdGen>,
    pub timer: Arc<dyn Timer>,
}

impl Setup {
    pub(super) fn storage(&self) -> storage::Options {
        storage::Options {
            url: self.database_url.clone(),
            max_connections: self.max_connections,
            clock: self.clock.clone(),
        }
    }
}

impl Default for Setup {
    fn default() -> Self {
        let (clock, ids) = (Arc::new(System), Arc::new(System));
        Self {
            database_url: "sqlite::memory:".to_owned(),
            max_connections: 16,
            agents: Registry::demo(),
            keys: Keys::default(),
            app: app::Options::default(),
            executor: executor::Options {
                worker: ids.uuid().to_string(),
                ..executor::Options::default()
            },
            http: http::Options::default(),
            webhook_client: reqwest::Client::default(),
            webhook_secret: None,
            webhook_poll: Duration::from_secs(5),
            retention: Retention { log: Duration::from_hours(24), every: Duration::from_mins(1) },
            grace: Duration::from_secs(25),
            clock,
            ids,
            timer: Arc::new(SystemTimer),
        }
    }
}

/// Puts a server together step by step.
///
/// ```no_run
/// # async fn run(graph: runloom::agents::registry::Agent) -> Result<(), Box<dyn std::error::Error>> {
/// use runloom::Server;
///
/// let server = Server::builder().database_url("sqlite://runloom.db").agent(graph).build().await?;
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// server.serve(vec![listener], Default::default()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Builder {
    setup: Setup,
}

impl Builder {
    /// `sqlite://FILE`, `sqlite::memory:` (the default) or `postgres://…`.
    #[must_use]
    pub fn database_url(mut self, url: impl Into<String>) -> Self {
        self.setup.database_url = url.into();
        self
    }

    /// Adds an agent after those that are there.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<Agent>) -> Self {
        self.setup.agents = std::mem::take(&mut self.setup.agents).with(agent.into());
        self
    }

    /// Replaces all agents.
    #[must_use]
    pub fn agents(mut self, agents: Registry) -> Self {
        self.setup.agents = agents;
        self
    }

    /// A key that opens `owner`'s data; with the first one the server is closed to others.
    #[must_use]
    pub fn key(mut self, owner: &str, key: &str) -> Self {
        self.setup.keys.add(Owner::new(owner), key);
        self
    }

    /// Runs at a time.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.setup.executor.workers = workers;
        self
    }

    /// Changes anything else.
    #[must_use]
    pub fn setup(mut self, change: impl FnOnce(&mut Setup)) -> Self {
        change(&mut self.setup);
        self
    }

    /// # Errors
    /// What opening or migrating the database answers.
    pub async fn build(self) -> Result<Server> {
        Server::assemble(self.setup).await
    }
}

impl Default for executor::Options {
    fn default() -> Self {
        Self {
            worker: "local".to_owned(),
            workers: 64,
            lease: Duration::from_secs(15),
            run_limit: Duration::from_hours(1),
            max_attempts: 3,
            recursion_limit: 10_000,
            log_events_per_run: 10_000,
            poll: Duration::from_secs(2),
            hot_threads: NonZeroUsize::MIN.saturating_add(1023),
        }
    }
}
