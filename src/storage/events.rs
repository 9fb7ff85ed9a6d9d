//! Table `run_log`: the stored log, a segment a row.

use sqlx::FromRow;
use uuid::Uuid;

use crate::domain::error::Result;
use crate::domain::event::Seq;
use crate::domain::ids::{RunId, ThreadKey};
use crate::executor::port::Segment;
use crate::storage::Store;
use crate::storage::db::on_db;
use crate::storage::error::fail;

const OF_RUN: &str = "select run_id, first_seq, last_seq, lines from run_log \
     where run_id = $1 and last_seq > $2 order by first_seq limit $3";
const OF_THREAD: &str = "select run_id, first_seq, last_seq, lines from run_log \
     where thread_key = $1 and last_seq > $2 order by first_seq limit $3";
const SEQ: &str = "select seq from threads where thread_key = $1";

#[derive(FromRow)]
struct SegmentRow {
    run_id: Uuid,
    first_seq: i64,
    last_seq: i64,
    lines: String,
}

impl From<SegmentRow> for Segment {
    fn from(row: SegmentRow) -> Self {
        Self {
            run_id: RunId(row.run_id),
            first: row.first_seq.unsigned_abs(),
            last: row.last_seq.unsigned_abs(),
            lines: row.lines,
        }
    }
}

impl Store {
    /// Stored segments of a run that end after `after`, oldest first, at most `max`.
    pub async fn run_log(&self, run: RunId, after: Seq, max: u32) -> Result<Vec<Segment>> {
        segments(on_db!(self.0.db.reader(), c => sqlx::query_as(OF_RUN).bind(run.0)
            .bind(column(after)).bind(i64::from(max)).fetch_all(c).await))
    }

    /// The same for everything on a thread.
    pub async fn thread_log(&self, key: ThreadKey, after: Seq, max: u32) -> Result<Vec<Segment>> {
        segments(on_db!(self.0.db.reader(), c => sqlx::query_as(OF_THREAD).bind(key.0)
            .bind(column(after)).bind(i64::from(max)).fetch_all(c).await))
    }

    /// The highest number that may have been handed out on the thread.
    pub async fn thread_seq(&self, key: ThreadKey) -> Result<Seq> {
        let seq: Option<i64> = on_db!(self.0.db.reader(), c =>
            sqlx::query_scalar(SEQ).bind(key.0).fetch_optional(c).await)
        .map_err(|error| fail("cannot read the thread", error))?;
        Ok(seq.unwrap_or(0).unsigned_abs())
    }
}

fn segments(rows: Result<Vec<SegmentRow>, sqlx::Error>) -> Result<Vec<Segment>> {
    let rows = rows.map_err(|error| fail("cannot read the log", error))?;
    Ok(rows.into_iter().map(Segment::from).collect())
}

/// A number as its column has it; one beyond every number stays beyond.
pub(super) fn column(seq: Seq) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
