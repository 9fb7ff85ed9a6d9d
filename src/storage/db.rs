//! The two databases behind one name, and the macros that pick one.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use crate::domain::error::{Error, Fault, Result};
use crate::storage::error::fail;

/// A database that is open.
#[derive(Clone)]
pub(super) enum Db {
    Pg(PgPool),
    Lite(Lite),
}

/// SQLite takes one writer at a time: it has a pool of its own, of one connection.
#[derive(Clone)]
pub(super) struct Lite {
    pub(super) write: SqlitePool,
    pub(super) read: SqlitePool,
}

/// One of the pools.
pub(super) enum Pool<'a> {
    Pg(&'a PgPool),
    Lite(&'a SqlitePool),
}

/// A transaction. Dropped, it is undone.
pub(super) enum Tx {
    Pg(Transaction<'static, Postgres>),
    Lite(Transaction<'static, Sqlite>),
}

/// Runs the same query on whichever pool it is.
macro_rules! on_db {
    ($pool:expr, $c:ident => $query:expr) => {
        match $pool {
            $crate::storage::db::Pool::Pg($c) => $query,
            $crate::storage::db::Pool::Lite($c) => $query,
        }
    };
}

/// Runs the same query in whichever transaction it is.
macro_rules! in_tx {
    ($tx:expr, $c:ident => $query:expr) => {
        match $tx {
            $crate::storage::db::Tx::Pg(tx) => {
                let $c = &mut **tx;
                $query
            }
            $crate::storage::db::Tx::Lite(tx) => {
                let $c = &mut **tx;
                $query
            }
        }
    };
}

pub(super) use {in_tx, on_db};

/// How long a statement waits for another one's lock on SQLite.
const BUSY: Duration = Duration::from_secs(10);
/// How long a request waits for a free connection.
const ACQUIRE: Duration = Duration::from_secs(10);
const READERS: u32 = 8;

impl Db {
    pub(super) async fn open(url: &str, max_connections: u32) -> Result<(Self, Option<File>)> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok((Self::open_postgres(url, max_connections).await?, None));
        }
        if url.starts_with("sqlite:") {
            return Self::open_sqlite(url).await;
        }
        let public = "the database URL must begin with sqlite: or postgres://";
        Err(Error::invalid("database_url", public))
    }

    async fn open_postgres(url: &str, max_connections: u32) -> Result<Self> {
        let options = PgConnectOptions::from_str(url).map_err(unreadable)?;
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(ACQUIRE)
            .connect_with(options.application_name("runloom"));
        Ok(Self::Pg(pool.await.map_err(|error| fail("cannot connect to the database", error))?))
    }

    async fn open_sqlite(url: &str) -> Result<(Self, Option<File>)> {
        let options = SqliteConnectOptions::from_str(url)
            .map_err(unreadable)?
            .create_if_missing(true)
            .foreign_keys(true)
            .busy_timeout(BUSY)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .optimize_on_close(true, None);
        let connect = |pool: SqlitePoolOptions| {
            let connected = pool.acquire_timeout(ACQUIRE).connect_with(options.clone());
            async { connected.await.map_err(|error| fail("cannot open the database file", error)) }
        };
        // A connection that is closed takes a database in memory with it.
        let forever =
            || SqlitePoolOptions::new().min_connections(1).idle_timeout(None).max_lifetime(None);
        if is_memory(url) {
            let one = connect(forever().max_connections(1)).await?;
            return Ok((Self::Lite(Lite { write: one.clone(), read: one }), None));
        }
        let lock = lock(&options.get_filename().with_extension("lock"))?;
        let write = connect(forever().max_connections(1)).await?;
        let read = connect(SqlitePoolOptions::new().max_connections(READERS)).await?;
        Ok((Self::Lite(Lite { write, read }), Some(lock)))
    }

    pub(super) fn reader(&self) -> Pool<'_> {
        match self {
            Self::Pg(pool) => Pool::Pg(pool),
            Self::Lite(lite) => Pool::Lite(&lite.read),
        }
    }

    pub(super) fn writer(&self) -> Pool<'_> {
        match self {
            Self::Pg(pool) => Pool::Pg(pool),
            Self::Lite(lite) => Pool::Lite(&lite.write),
        }
    }

    /// Begins a transaction that writes.
    pub(super) async fn begin(&self) -> Result<Tx> {
        let begun = match self {
            Self::Pg(pool) => pool.begin().await.map(Tx::Pg),
            Self::Lite(lite) => lite.write.begin_with("begin immediate").await.map(Tx::Lite),
        };
        begun.map_err(|error| fail("cannot begin a transaction", error))
    }

    pub(super) fn is_postgres(&self) -> bool {
        matches!(self, Self::Pg(_))
    }
}

impl Tx {
    pub(super) async fn commit(self) -> Result<()> {
        let committed = match self {
            Self::Pg(tx) => tx.commit().await,
            Self::Lite(tx) => tx.commit().await,
        };
        committed.map_err(|error| fail("cannot commit", error))
    }
}

/// Two processes on one file would each believe that the other's runs are lost. The lock goes
/// with the process, however it ends.
fn lock(path: &Path) -> Result<File> {
    let opened = File::create(path).map_err(|error| {
        Error::unavailable("the database's folder cannot be written to").caused_by(error)
    })?;
    match opened.try_lock() {
        Ok(()) => Ok(opened),
        Err(TryLockError::WouldBlock) => {
            let public = "another process has this database file open; \
                          stop it, or use Postgres to run several servers";
            Err(Error::new(Fault::Unavailable, "database_in_use", public))
        }
        Err(TryLockError::Error(error)) => {
            Err(Error::unavailable("the database file cannot be locked").caused_by(error))
        }
    }
}

fn is_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

fn unreadable(error: sqlx::Error) -> Error {
    Error::invalid("database_url", "the database URL cannot be read").caused_by(error)
}
