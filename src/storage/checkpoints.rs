//! Tables `checkpoints`, `branches` and `task_records`: reading a thread's history.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sqlx::FromRow;
use uuid::Uuid;

use crate::domain::checkpoint::{Checkpoint, Fork, Frontier, Place, Snapshot, Source, TaskRecord};
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::ids::{CheckpointId, Namespace, RunId, ThreadKey};
use crate::storage::Store;
use crate::storage::db::{Pool, on_db};
use crate::storage::error::fail;
use crate::storage::fold::{self, Of, Stretch};
use crate::storage::types::read_opaque;

macro_rules! select_checkpoints {
    ($rest:literal) => {
        concat!(
            "select c.checkpoint_key, c.checkpoint_id, c.parent_id, c.branch, c.step, c.source, \
             c.run_id, c.metadata, c.frontier, c.created_at from checkpoints c ",
            $rest
        )
    };
}

const AT: &str =
    select_checkpoints!("where c.thread_key = $1 and c.namespace = $2 and c.checkpoint_id = $3");
const HEAD: &str = select_checkpoints!(
    "join threads t on t.thread_key = c.thread_key and t.head = c.checkpoint_id \
     where c.thread_key = $1 and c.namespace = $2"
);
const NEWEST: &str = select_checkpoints!(
    "where c.thread_key = $1 and c.namespace = $2 order by c.checkpoint_key desc limit 1"
);
const PAGE: &str = select_checkpoints!(
    "where c.thread_key = $1 and c.namespace = $2 and c.checkpoint_key < $3 \
     order by c.checkpoint_key desc limit $4"
);
const BRANCHES: &str = "select branch, parent_branch, parent_step from branches \
     where thread_key = $1 and namespace = $2 order by branch";
const TAKEN: &str = "select branch, step from checkpoints \
     where thread_key = $1 and namespace = $2 and branch = $3 and step = $4";
const RECORDS: &str = "select record from task_records where thread_key = $1 and namespace = $2";
const IS_HEAD: &str = "select 1 from threads where thread_key = $1 and head = $2";

/// A frontier as it is kept: a newer form gets another number, and an upgrade here.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredFrontier {
    v: u32,
    #[serde(flatten)]
    frontier: Frontier,
}

impl StoredFrontier {
    const VERSION: u32 = 1;

    pub(super) fn of(frontier: &Frontier) -> Self {
        Self { v: Self::VERSION, frontier: frontier.clone() }
    }
}

#[derive(FromRow)]
struct CheckpointRow {
    checkpoint_key: i64,
    checkpoint_id: Uuid,
    parent_id: Option<Uuid>,
    branch: i32,
    step: i64,
    source: String,
    run_id: Option<Uuid>,
    metadata: String,
    frontier: String,
    created_at: Ts,
}

#[derive(FromRow, Clone, Copy)]
struct BranchRow {
    branch: i32,
    parent_branch: i32,
    parent_step: i64,
}

impl CheckpointRow {
    fn into_checkpoint(self, namespace: &Namespace) -> Result<Checkpoint> {
        let stored: StoredFrontier = read_opaque("checkpoints.frontier", &self.frontier)?;
        Ok(Checkpoint {
            id: CheckpointId(self.checkpoint_id),
            parent: self.parent_id.map(CheckpointId),
            namespace: namespace.clone(),
            place: Place { branch: self.branch, step: self.step },
            source: read_source(&self.source)?,
            run_id: self.run_id.map(RunId),
            created_at: self.created_at,
            metadata: read_opaque("checkpoints.metadata", &self.metadata)?,
            frontier: stored.frontier,
        })
    }
}

fn read_source(text: &str) -> Result<Source> {
    [Source::Input, Source::Loop, Source::Update, Source::Fork]
        .into_iter()
        .find(|source| source.as_str() == text)
        .ok_or_else(|| {
            Error::internal("a stored value could not be read")
                .caused_by(format!("checkpoints.source: {text}"))
        })
}

impl Store {
    /// A checkpoint (`None`: the newest; of the root graph, the thread's head) with its state.
    pub async fn snapshot(
        &self,
        key: ThreadKey,
        namespace: &Namespace,
        at: Option<CheckpointId>,
    ) -> Result<Option<Snapshot>> {
        let pool = self.0.db.reader();
        let joined = namespace.joined();
        let of = Of { thread: key.0, namespace: &joined };
        let newest = if namespace.is_root() { HEAD } else { NEWEST };
        let row: Option<CheckpointRow> = match at {
            Some(at) => on_db!(&pool, c => sqlx::query_as(AT).bind(of.thread).bind(of.namespace)
                .bind(at.0).fetch_optional(*c).await),
            None => on_db!(&pool, c => sqlx::query_as(newest).bind(of.thread).bind(of.namespace)
                .fetch_optional(*c).await),
        }
        .map_err(|error| fail("cannot read the checkpoint", error))?;
        let Some(row) = row else { return Ok(None) };
        let checkpoint = row.into_checkpoint(namespace)?;
        let branches = branches(&pool, of).await?;
        let state = fold::state(&pool, of, &lineage(&branches, checkpoint.place)).await?;
        let (next, fork) = following(&pool, of, &branches, checkpoint.place).await?;
        let is_newest =
            fork.is_none() && (at.is_none() || is_head(&pool, of, checkpoint.id).await?);
        let tasks = if is_newest { records(&pool, of).await? } else { Vec::new() };
        Ok(Some(Snapshot { checkpoint, state, tasks, next, fork }))
    }

    /// Newest first over all branches, in the order in which they were written; from before
    /// `before` if that is given.
    ///
    /// # Errors
    /// `checkpoint_not_found` if there is no `before`.
    pub async fn history(
        &self,
        key: ThreadKey,
        namespace: &Namespace,
        before: Option<CheckpointId>,
        limit: u32,
    ) -> Result<Vec<Snapshot>> {
        let pool = self.0.db.reader();
        let joined = namespace.joined();
        let of = Of { thread: key.0, namespace: &joined };
        let below = match before {
            Some(before) => key_of(&pool, of, before).await?,
            None => i64::MAX,
        };
        let rows: Vec<CheckpointRow> = on_db!(&pool, c => sqlx::query_as(PAGE).bind(of.thread)
            .bind(of.namespace).bind(below).bind(i64::from(limit)).fetch_all(*c).await)
        .map_err(|error| fail("cannot read the history", error))?;
        let branches = branches(&pool, of).await?;
        let records = records(&pool, of).await?;
        let states = states(&pool, of, &branches, &rows).await?;
        let mut past = Vec::with_capacity(rows.len());
        for (row, state) in rows.into_iter().zip(states) {
            let checkpoint = row.into_checkpoint(namespace)?;
            let next = checkpoint.place.following();
            let newest = past.is_empty() && before.is_none();
            let tasks = if newest { records.clone() } else { Vec::new() };
            past.push(Snapshot { checkpoint, state, tasks, next, fork: None });
        }
        Ok(past)
    }
}

/// The states of a page's rows, each stretch of neighbours folded once.
async fn states(
    pool: &Pool<'_>,
    of: Of<'_>,
    branches: &HashMap<i32, BranchRow>,
    rows: &[CheckpointRow],
) -> Result<Vec<crate::domain::state::State>> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let place = |at: &usize| rows.get(*at).map(|row| (row.branch, row.step));
    order.sort_by_key(place);
    let mut states = vec![crate::domain::state::State::default(); rows.len()];
    let places: Vec<(usize, i32, i64)> =
        order.iter().filter_map(|at| place(at).map(|(branch, step)| (*at, branch, step))).collect();
    for group in places.chunk_by(|left, right| left.1 == right.1) {
        let (Some(&(_, branch, first)), Some(&(_, _, last))) = (group.first(), group.last()) else {
            continue;
        };
        let mut state =
            fold::state(pool, of, &lineage(branches, Place { branch, step: first })).await?;
        let mut changes =
            fold::between(pool, of, branch, first, last).await?.into_iter().peekable();
        for (at, _, step) in group {
            while let Some(change) = changes.next_if(|change| change.step <= *step) {
                state.apply(&change.into_change()?);
            }
            if let Some(slot) = states.get_mut(*at) {
                *slot = state.clone();
            }
        }
    }
    Ok(states)
}

async fn branches(pool: &Pool<'_>, of: Of<'_>) -> Result<HashMap<i32, BranchRow>> {
    let rows: Vec<BranchRow> = on_db!(pool, c => sqlx::query_as(BRANCHES).bind(of.thread)
        .bind(of.namespace).fetch_all(*c).await)
    .map_err(|error| fail("cannot read the thread's branches", error))?;
    Ok(rows.into_iter().map(|row| (row.branch, row)).collect())
}

/// The stretches that lead to a place, oldest first.
fn lineage(branches: &HashMap<i32, BranchRow>, place: Place) -> Vec<Stretch> {
    let mut stretches = vec![Stretch { branch: place.branch, until: place.step }];
    let mut branch = place.branch;
    while let Some(row) = branches.get(&branch).filter(|row| row.parent_branch < branch) {
        stretches.push(Stretch { branch: row.parent_branch, until: row.parent_step });
        branch = row.parent_branch;
    }
    stretches.reverse();
    stretches
}

/// Where a checkpoint after `place` goes: behind it, or on a new branch if something is there.
async fn following(
    pool: &Pool<'_>,
    of: Of<'_>,
    branches: &HashMap<i32, BranchRow>,
    place: Place,
) -> Result<(Place, Option<Fork>)> {
    let next = place.following();
    let taken = on_db!(pool, c => sqlx::query(TAKEN).bind(of.thread).bind(of.namespace)
        .bind(next.branch).bind(next.step).fetch_optional(*c).await.map(|row| row.is_some()))
    .map_err(|error| fail("cannot read the thread's branches", error))?;
    if !taken {
        return Ok((next, None));
    }
    let branch = branches.keys().max().copied().unwrap_or(0) + 1;
    Ok((Place { branch, step: next.step }, Some(Fork { branch, from: place })))
}

async fn records(pool: &Pool<'_>, of: Of<'_>) -> Result<Vec<TaskRecord>> {
    let rows: Vec<String> = on_db!(pool, c => sqlx::query_scalar(RECORDS).bind(of.thread)
        .bind(of.namespace).fetch_all(*c).await)
    .map_err(|error| fail("cannot read the thread's tasks", error))?;
    rows.iter().map(|record| read_opaque("task_records.record", record)).collect()
}

async fn is_head(pool: &Pool<'_>, of: Of<'_>, id: CheckpointId) -> Result<bool> {
    if !of.namespace.is_empty() {
        return Ok(true);
    }
    on_db!(pool, c => sqlx::query(IS_HEAD).bind(of.thread).bind(id.0)
        .fetch_optional(*c).await.map(|row| row.is_some()))
    .map_err(|error| fail("cannot read the thread", error))
}

async fn key_of(pool: &Pool<'_>, of: Of<'_>, id: CheckpointId) -> Result<i64> {
    let row: Option<CheckpointRow> = on_db!(pool, c => sqlx::query_as(AT).bind(of.thread)
        .bind(of.namespace).bind(id.0).fetch_optional(*c).await)
    .map_err(|error| fail("cannot read the checkpoint", error))?;
    row.map(|row| row.checkpoint_key).ok_or_else(|| {
        Error::not_found("checkpoint_not_found", format!("the thread has no checkpoint {id}"))
    })
}
