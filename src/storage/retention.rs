//! What is not kept for ever: logs of runs that are long over, the runs themselves where their
//! thread went with them, and items that have expired.

use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::storage::Store;
use crate::storage::db::on_db;
use crate::storage::error::fail;

/// Logs of runs that ended before, and what is left of runs that are gone.
const LOGS: &str = "delete from run_log where (thread_key, first_seq) in ( \
     select l.thread_key, l.first_seq from run_log l \
     left join runs r on r.run_id = l.run_id \
     where l.created_at < $1 and (r.run_key is null \
       or (r.status not in ('pending', 'running') and r.updated_at < $1)) \
     order by l.created_at limit $2)";
/// Runs whose thread was deleted with them: their result was promised, for a while.
const RUNS: &str = "delete from runs where run_key in ( \
     select run_key from runs where thread_key is null and updated_at < $1 \
     and status not in ('pending', 'running') order by updated_at limit $2)";
const ITEMS: &str = "delete from items where item_key in ( \
     select item_key from items where expires_at < $1 limit $2)";

impl Store {
    /// Deletes at most `max` rows a table of what ended before `before` or expired by `now`;
    /// answers how many.
    pub async fn sweep(&self, before: Ts, now: Ts, max: u32) -> Result<u64> {
        let mut swept = 0;
        for (sql, at) in [(LOGS, before), (RUNS, before), (ITEMS, now)] {
            swept += on_db!(self.0.db.writer(), c => sqlx::query(sql).bind(at)
                .bind(i64::from(max)).execute(c).await.map(|done| done.rows_affected()))
            .map_err(|error| fail("cannot delete what is no longer kept", error))?;
        }
        Ok(swept)
    }
}
