//! States, rebuilt from the changes along a lineage.

use std::sync::Arc;

use serde_json::Value;
use sqlx::FromRow;

use crate::domain::error::{Error, Result};
use crate::domain::state::{Change, Op, State};
use crate::storage::db::{Pool, on_db};
use crate::storage::error::fail;
use crate::storage::types::read_opaque;

/// A stretch of a branch: its changes up to this step belong to the lineage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stretch {
    pub(super) branch: i32,
    pub(super) until: i64,
}

/// Which graph of which thread.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) thread: i64,
    pub(super) namespace: &'a str,
}

/// The newest value of each channel that holds one, found channel by channel in the index, so
/// that what it replaced is never read.
const VALUES: &str = "with recursive names (channel) as ( \
       select min(channel) from changes where thread_key = $1 and namespace = $2 \
         and op in ('set', 'unset', 'clear') \
       union all \
       select (select min(c.channel) from changes c where c.thread_key = $1 and c.namespace = $2 \
         and c.op in ('set', 'unset', 'clear') and c.channel > names.channel) \
       from names where names.channel is not null \
     ) \
     select c.step, c.ordinal, c.channel, c.op, c.key, c.value \
     from names join changes c on c.thread_key = $1 and c.namespace = $2 \
       and c.channel = names.channel and c.branch = $3 and c.op in ('set', 'unset', 'clear') \
       and (c.step, c.ordinal) = (select n.step, n.ordinal from changes n \
         where n.thread_key = $1 and n.namespace = $2 and n.channel = names.channel \
         and n.branch = $3 and n.step <= $4 and n.op in ('set', 'unset', 'clear') \
         order by n.step desc, n.ordinal desc limit 1)";

/// All changes of lists.
const LISTS: &str = "select step, ordinal, channel, op, key, value from changes \
     where thread_key = $1 and namespace = $2 and branch = $3 and step <= $4 \
     and op in ('push', 'put', 'drop', 'clear') order by step, ordinal";

/// Everything that changed within a stretch.
const BETWEEN: &str = "select step, ordinal, channel, op, key, value from changes \
     where thread_key = $1 and namespace = $2 and branch = $3 and step > $4 and step <= $5 \
     order by step, ordinal";

#[derive(FromRow)]
pub(super) struct ChangeRow {
    pub(super) step: i64,
    ordinal: i32,
    channel: String,
    op: String,
    key: Option<String>,
    value: Option<String>,
}

impl ChangeRow {
    pub(super) fn into_change(self) -> Result<Change> {
        let value = |text: Option<String>| -> Result<Arc<Value>> {
            read_opaque("changes.value", text.as_deref().unwrap_or("null")).map(Arc::new)
        };
        let key = self.key.map_or_else(|| Arc::from(""), Arc::from);
        let op = match self.op.as_str() {
            "set" => Op::Set { value: value(self.value)? },
            "unset" => Op::Unset,
            "push" => Op::Push { value: value(self.value)? },
            "put" => Op::Put { key, value: value(self.value)? },
            "drop" => Op::Drop { key },
            "clear" => Op::Clear,
            other => {
                return Err(Error::internal("a stored value could not be read")
                    .caused_by(format!("changes.op: {other}")));
            }
        };
        Ok(Change { channel: self.channel.into(), op })
    }
}

/// A change's columns: op, key, value.
pub(super) fn columns(op: &Op) -> (&'static str, Option<&str>, Option<&Value>) {
    match op {
        Op::Set { value } => ("set", None, Some(value)),
        Op::Unset => ("unset", None, None),
        Op::Push { value } => ("push", None, Some(value)),
        Op::Put { key, value } => ("put", Some(key), Some(value)),
        Op::Drop { key } => ("drop", Some(key), None),
        Op::Clear => ("clear", None, None),
    }
}

/// The state at the end of a lineage, its stretches oldest first.
pub(super) async fn state(pool: &Pool<'_>, of: Of<'_>, lineage: &[Stretch]) -> Result<State> {
    let mut state = State::default();
    for stretch in lineage {
        let mut rows = fetch(pool, VALUES, of, *stretch).await?;
        rows.retain(|row| row.op != "clear");
        rows.extend(fetch(pool, LISTS, of, *stretch).await?);
        rows.sort_by_key(|row| (row.step, row.ordinal));
        for row in rows {
            state.apply(&row.into_change()?);
        }
    }
    Ok(state)
}

async fn fetch(
    pool: &Pool<'_>,
    sql: &'static str,
    of: Of<'_>,
    stretch: Stretch,
) -> Result<Vec<ChangeRow>> {
    on_db!(pool, c => sqlx::query_as(sql).bind(of.thread).bind(of.namespace)
        .bind(stretch.branch).bind(stretch.until).fetch_all(*c).await)
    .map_err(|error| fail("cannot read the thread's state", error))
}

/// The changes of a branch after one step and up to another.
pub(super) async fn between(
    pool: &Pool<'_>,
    of: Of<'_>,
    branch: i32,
    after: i64,
    until: i64,
) -> Result<Vec<ChangeRow>> {
    on_db!(pool, c => sqlx::query_as(BETWEEN).bind(of.thread).bind(of.namespace)
        .bind(branch).bind(after).bind(until).fetch_all(*c).await)
    .map_err(|error| fail("cannot read the thread's history", error))
}
