//! One store over two databases: SQL text shared, the differences side by side in `dialect`.

mod checkpoints;
mod claim;
mod commit;
mod copy;
mod db;
mod dialect;
mod docs;
mod end;
mod ends;
mod error;
mod events;
mod filter;
mod fold;
mod interrupts;
mod items;
mod notify;
mod outbox;
mod puts;
mod queue;
mod retention;
mod rows;
mod run_create;
mod runs;
mod threads;
mod types;
mod update;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::broadcast;

use crate::domain::checkpoint::Put;
use crate::domain::clock::{Clock, Ts};
use crate::domain::error::{Error, Result};
use crate::domain::ids::{AgentId, DeliveryId, Owner, RunId, ThreadId};
use crate::domain::run::{Run, RunSpec, RunStatus};
use crate::domain::thread::{Thread, ThreadStatus};
use crate::executor::port::{Claim, Signal};
use crate::storage::db::{Db, on_db};
use crate::storage::error::fail;
use crate::storage::notify::Notifier;
use crate::storage::queue::Writes;

/// How to reach the database.
#[derive(Clone)]
pub struct Options {
    /// `sqlite://FILE`, `sqlite::memory:` or `postgres://…`.
    pub url: String,
    pub max_connections: u32,
    pub clock: Arc<dyn Clock>,
}

/// The store. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<Parts>);

struct Parts {
    db: Db,
    clock: Arc<dyn Clock>,
    notifier: Notifier,
    writes: Writes,
    /// Held as long as the store lives: nobody else opens the file.
    _lock: Option<File>,
}

impl Store {
    /// Connects; does not migrate. A second process on one SQLite file is refused.
    ///
    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid) for a URL that is neither SQLite's nor
    /// Postgres', [`Fault::Unavailable`](crate::domain::Fault::Unavailable) for a database that
    /// does not answer or is in use.
    pub async fn open(options: Options) -> Result<Self> {
        let (db, lock) = Db::open(&options.url, options.max_connections).await?;
        let notifier = Notifier::start(&db);
        let writes = Writes::start(db.clone(), notifier.clone());
        Ok(Self(Arc::new(Parts { db, clock: options.clock, notifier, writes, _lock: lock })))
    }

    /// Brings the schema up to date, under a lock.
    pub async fn migrate(&self) -> Result<()> {
        let migrated = match &self.0.db {
            Db::Pg(pool) => sqlx::migrate!("migrations/postgres").run(pool).await,
            Db::Lite(lite) => sqlx::migrate!("migrations/sqlite").run(&lite.write).await,
        };
        migrated
            .map_err(|error| Error::internal("the database cannot be migrated").caused_by(error))?;
        self.release_leases().await
    }

    /// On SQLite this process is the only one: whatever ran is lost with the one before.
    async fn release_leases(&self) -> Result<()> {
        let Db::Lite(lite) = &self.0.db else { return Ok(()) };
        let released = sqlx::query(RELEASE).execute(&lite.write).await;
        released.map(drop).map_err(|error| fail("cannot look for lost runs", error))
    }

    /// Whether the database answers and has this program's schema.
    pub async fn ping(&self) -> Result<()> {
        let found = on_db!(self.0.db.reader(), c => sqlx::query(PING).execute(c).await.map(drop));
        found.map_err(|error| fail("the database does not answer", error))
    }

    /// What happens from here on, from this node and (on Postgres) from the others.
    pub fn signals(&self) -> broadcast::Receiver<Signal> {
        self.0.notifier.subscribe()
    }
}

const RELEASE: &str = "update runs set lease_until = 0 where status = 'running'";
const PING: &str = "select 1 from threads where false";

#[derive(Clone)]
pub struct NewThread {
    pub id: ThreadId,
    pub owner: Owner,
    pub metadata: Map<String, Value>,
    pub created_at: Ts,
}

#[derive(Default)]
pub struct ThreadFilter {
    /// Contained in the thread's metadata.
    pub metadata: Map<String, Value>,
    /// Contained in the values of its head.
    pub values: Map<String, Value>,
    pub status: Option<ThreadStatus>,
}

#[derive(Default)]
pub struct RunFilter {
    pub metadata: Map<String, Value>,
    /// Any of these; empty: all.
    pub status: Vec<RunStatus>,
    pub thread_id: Option<ThreadId>,
    pub agent_id: Option<AgentId>,
}

/// The thread that a new run goes to.
#[derive(Clone)]
pub enum Target {
    /// It must be there.
    Existing(ThreadId),
    /// It is made if it is missing.
    Ensured(NewThread),
}

/// What a new run does about interrupts that are open on its thread.
#[derive(Clone)]
pub enum OnPause {
    /// They are answered, as far as this value answers them ([`crate::domain::interrupt::resolve`]); nothing
    /// open is a conflict, and so is a thread with an unfinished run.
    Resume(Value),
    /// They are withdrawn.
    Withdraw,
    /// The run is refused (`Fault::Conflict`, code `thread_interrupted`).
    Refuse,
    /// They stay open: the run goes on from where the thread stands.
    Keep,
}

#[derive(Clone)]
pub struct NewRun {
    pub id: RunId,
    pub owner: Owner,
    pub target: Target,
    pub agent_id: AgentId,
    pub spec: RunSpec,
    pub metadata: Map<String, Value>,
    pub on_pause: OnPause,
    /// A second run with the same key and fingerprint is the first; with another fingerprint it
    /// is a conflict (`idempotency_conflict`).
    pub idempotency: Option<(String, String)>,
    pub queued_runs_per_owner: Option<u32>,
    pub queued_runs: Option<u32>,
    pub created_at: Ts,
    pub due_at: Ts,
    /// Claim it at once for this worker, if nothing else is unfinished on the thread and it is due.
    pub claim_for: Option<(String, Duration)>,
}

pub struct Created {
    pub run: Run,
    pub thread: Thread,
    pub claim: Option<Claim>,
    /// It was there already, by its idempotency key.
    pub existing: bool,
}

/// What became of a request to cancel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelOutcome {
    NotFound,
    /// It was over; nothing changed.
    AlreadyOver,
    /// It is cancelled: it was pending or paused.
    Cancelled,
    /// Its node was told.
    Requested,
}

/// A change of a thread's state by its caller (not by a run).
pub struct StateUpdate {
    pub put: Put,
    /// Of the new head, for searches.
    pub values: Map<String, Value>,
    /// Metadata to merge in the same transaction.
    pub metadata: Map<String, Value>,
    pub at: Ts,
}

/// A webhook that is due.
pub struct Delivery {
    pub id: DeliveryId,
    pub run: Run,
    pub url: String,
    pub attempts: u32,
}
