//! Table `threads`, with what is searched of it.

use serde_json::{Map, Value};
use sqlx::FromRow;
use sqlx::types::Json;
use uuid::Uuid;

use crate::domain::clock::Ts;
use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::{AgentId, CheckpointId, Owner, ThreadId, ThreadKey};
use crate::domain::json;
use crate::domain::page::Page;
use crate::domain::thread::{Thread, ThreadStatus};
use crate::executor::port::Signal;
use crate::storage::db::{Tx, in_tx, on_db};
use crate::storage::dialect::{THREAD_LOCK, THREAD_LOCK_KEY};
use crate::storage::docs;
use crate::storage::error::fail;
use crate::storage::filter::{Arg, Search};
use crate::storage::types::read_opaque;
use crate::storage::{NewThread, Store, ThreadFilter};

macro_rules! select_threads {
    ($rest:literal) => {
        concat!(
            "select t.thread_key, t.owner, t.thread_id, t.status, t.head, t.agent_id, t.interrupts, \
             t.created_at, t.updated_at, d.metadata, d.state \
             from threads t left join thread_docs d on d.thread_key = t.thread_key where ",
            $rest
        )
    };
}

const GET: &str = select_threads!("t.owner = $1 and t.thread_id = $2");
const GET_BY_KEY: &str = select_threads!("t.thread_key = $1");
const SEARCH: &str = select_threads!("");
const ORDER: &str = "t.updated_at desc, t.thread_id";
const INSERT: &str = "insert into threads (owner, thread_id, created_at, updated_at) \
     values ($1, $2, $3, $3) on conflict (owner, thread_id) do nothing returning thread_key";
const TOUCH: &str = "update threads set updated_at = $2 where thread_key = $1";
const DELETE: &str = "delete from threads where thread_key = $1";
const DELETE_RUNS: &str = "delete from runs where thread_key = $1";
const DELETE_LOG: &str = "delete from run_log where thread_key = $1";
const UNFINISHED: &str = "select count(*) from runs \
     where thread_key = $1 and status in ('pending', 'running')";

#[derive(FromRow)]
pub(super) struct ThreadRow {
    thread_key: i64,
    owner: String,
    thread_id: Uuid,
    status: String,
    head: Option<Uuid>,
    agent_id: Option<String>,
    interrupts: String,
    created_at: Ts,
    updated_at: Ts,
    metadata: Option<Json<Map<String, Value>>>,
    state: Option<Json<Map<String, Value>>>,
}

impl ThreadRow {
    fn into_thread(self) -> Result<Thread> {
        Ok(Thread {
            id: ThreadId(self.thread_id),
            key: ThreadKey(self.thread_key),
            owner: Owner::new(self.owner),
            metadata: self.metadata.map(|Json(metadata)| metadata).unwrap_or_default(),
            status: read_status(&self.status)?,
            interrupts: read_opaque("threads.interrupts", &self.interrupts)?,
            head: self.head.map(CheckpointId),
            agent_id: self.agent_id.map(AgentId::new),
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

fn read_status(text: &str) -> Result<ThreadStatus> {
    ThreadStatus::parse(text).ok_or_else(|| {
        Error::internal("a stored value could not be read")
            .caused_by(format!("threads.status: {text}"))
    })
}

/// Locks a thread until the end of the transaction.
pub(super) async fn lock(tx: &mut Tx, owner: &Owner, id: ThreadId) -> Result<Option<Thread>> {
    let sql = THREAD_LOCK.in_tx(tx);
    in_tx!(tx, c => sqlx::query_as::<_, ThreadRow>(sql).bind(owner.as_str()).bind(id.0)
        .fetch_optional(c).await)
    .map_err(|error| fail("cannot lock the thread", error))?
    .map(ThreadRow::into_thread)
    .transpose()
}

pub(super) async fn lock_key(tx: &mut Tx, key: i64) -> Result<Option<Thread>> {
    let sql = THREAD_LOCK_KEY.in_tx(tx);
    in_tx!(tx, c => sqlx::query_as::<_, ThreadRow>(sql).bind(key).fetch_optional(c).await)
        .map_err(|error| fail("cannot lock the thread", error))?
        .map(ThreadRow::into_thread)
        .transpose()
}

/// Inserts a thread; `None` if the owner has one of this id.
pub(super) async fn insert(tx: &mut Tx, new: &NewThread) -> Result<Option<i64>> {
    let (owner, id, at) = (new.owner.as_str(), new.id.0, new.created_at);
    let inserted = in_tx!(&mut *tx, c => sqlx::query_scalar::<_, i64>(INSERT)
        .bind(owner).bind(id).bind(at).fetch_optional(c).await)
    .map_err(|error| fail("cannot create the thread", error))?;
    if let Some(key) = inserted.filter(|_| !new.metadata.is_empty()) {
        docs::put_thread_metadata(tx, &[(key, &new.metadata)]).await?;
    }
    Ok(inserted)
}

pub(super) async fn unfinished(tx: &mut Tx, key: i64) -> Result<i64> {
    in_tx!(tx, c => sqlx::query_scalar(UNFINISHED).bind(key).fetch_one(c).await)
        .map_err(|error| fail("cannot count the thread's runs", error))
}

pub(super) async fn get_in(tx: &mut Tx, key: i64) -> Result<Option<Thread>> {
    in_tx!(tx, c => sqlx::query_as::<_, ThreadRow>(GET_BY_KEY).bind(key).fetch_optional(c).await)
        .map_err(|error| fail("cannot read the thread", error))?
        .map(ThreadRow::into_thread)
        .transpose()
}

/// Deletes a thread with all that belongs to it but its runs.
pub(super) async fn delete_in(tx: &mut Tx, key: i64) -> Result<()> {
    docs::unindex(tx, docs::THREAD_METADATA, key).await?;
    docs::unindex(tx, docs::THREAD_STATE, key).await?;
    in_tx!(tx, c => sqlx::query(DELETE).bind(key).execute(c).await.map(drop))
        .map_err(|error| fail("cannot delete the thread", error))
}

impl Store {
    /// `None` if the owner has a thread of this id.
    pub async fn thread_create(&self, new: NewThread) -> Result<Option<Thread>> {
        let mut tx = self.0.db.begin().await?;
        let Some(key) = insert(&mut tx, &new).await? else { return Ok(None) };
        tx.commit().await?;
        Ok(Some(fresh(new, key)))
    }

    pub async fn thread_get(&self, owner: &Owner, id: ThreadId) -> Result<Option<Thread>> {
        on_db!(self.0.db.reader(), c => sqlx::query_as::<_, ThreadRow>(GET)
            .bind(owner.as_str()).bind(id.0).fetch_optional(c).await)
        .map_err(|error| fail("cannot read the thread", error))?
        .map(ThreadRow::into_thread)
        .transpose()
    }

    /// Newest update first, ties by id.
    pub async fn thread_search(
        &self,
        owner: &Owner,
        filter: &ThreadFilter,
        page: Page,
    ) -> Result<Vec<Thread>> {
        let search = self.threads_matching(owner, filter);
        let (metadata, values) =
            (Value::Object(filter.metadata.clone()), Value::Object(filter.values.clone()));
        let keep = |row: ThreadRow| {
            let contained =
                holds(row.metadata.as_ref(), &metadata) && holds(row.state.as_ref(), &values);
            contained.then(|| row.into_thread()).transpose()
        };
        search.page(self.0.db.reader(), "cannot search threads", ORDER, page, keep).await
    }

    fn threads_matching(&self, owner: &Owner, filter: &ThreadFilter) -> Search {
        let mut search = Search::new(&self.0.db, SEARCH, "t.owner", owner);
        if let Some(status) = filter.status {
            search.and("t.status = ?", [Arg::Text(status.as_str().to_owned())]);
        }
        search.containing("d.metadata", docs::THREAD_METADATA, "t.thread_key", &filter.metadata);
        search.containing("d.state", docs::THREAD_STATE, "t.thread_key", &filter.values);
        search
    }

    /// How the database would search: for tests and for whoever wonders.
    #[doc(hidden)]
    pub async fn thread_search_plan(
        &self,
        owner: &Owner,
        filter: &ThreadFilter,
    ) -> Result<Vec<String>> {
        self.threads_matching(owner, filter).plan(self.0.db.reader(), ORDER).await
    }

    /// Shallow merge. `None` if there is no such thread.
    pub async fn thread_patch(
        &self,
        owner: &Owner,
        id: ThreadId,
        metadata: &Map<String, Value>,
        at: Ts,
    ) -> Result<Option<Thread>> {
        let mut tx = self.0.db.begin().await?;
        let Some(locked) = lock(&mut tx, owner, id).await? else { return Ok(None) };
        merge_metadata(&mut tx, locked.key.0, metadata).await?;
        touch(&mut tx, locked.key.0, at).await?;
        let thread = get_in(&mut tx, locked.key.0).await?;
        tx.commit().await?;
        Ok(thread)
    }

    /// Deletes the thread, its history, its log and its runs.
    ///
    /// # Errors
    /// [`Fault::Busy`] while a run of it is unfinished.
    pub async fn thread_delete(&self, owner: &Owner, id: ThreadId) -> Result<bool> {
        let mut tx = self.0.db.begin().await?;
        let Some(locked) = lock(&mut tx, owner, id).await? else { return Ok(false) };
        let key = locked.key.0;
        if unfinished(&mut tx, key).await? > 0 {
            return Err(Error::new(Fault::Busy, "thread_busy", "the thread has an unfinished run"));
        }
        for sql in [DELETE_RUNS, DELETE_LOG] {
            in_tx!(&mut tx, c => sqlx::query(sql).bind(key).execute(c).await.map(drop))
                .map_err(|error| fail("cannot delete the thread's runs", error))?;
        }
        delete_in(&mut tx, key).await?;
        tx.commit().await?;
        self.0.notifier.tell([Signal::Log(ThreadKey(key))]);
        Ok(true)
    }
}

/// Merges members into a thread's metadata.
pub(super) async fn merge_metadata(
    tx: &mut Tx,
    key: i64,
    members: &Map<String, Value>,
) -> Result<()> {
    if members.is_empty() {
        return Ok(());
    }
    let mut metadata = get_in(tx, key).await?.map(|thread| thread.metadata).unwrap_or_default();
    metadata.extend(members.clone());
    docs::put_thread_metadata(tx, &[(key, &metadata)]).await
}

pub(super) async fn touch(tx: &mut Tx, key: i64, at: Ts) -> Result<()> {
    in_tx!(tx, c => sqlx::query(TOUCH).bind(key).bind(at).execute(c).await.map(drop))
        .map_err(|error| fail("cannot update the thread", error))
}

/// A thread that was just inserted.
pub(super) fn fresh(new: NewThread, key: i64) -> Thread {
    Thread {
        id: new.id,
        key: ThreadKey(key),
        owner: new.owner,
        metadata: new.metadata,
        status: ThreadStatus::Idle,
        interrupts: Vec::new(),
        head: None,
        agent_id: None,
        created_at: new.created_at,
        updated_at: new.created_at,
    }
}

fn holds(document: Option<&Json<Map<String, Value>>>, pattern: &Value) -> bool {
    match document {
        Some(Json(document)) => json::contains(&Value::Object(document.clone()), pattern),
        None => pattern.as_object().is_none_or(Map::is_empty),
    }
}
