//! Copies a thread: its rows, a statement a table.

use uuid::Uuid;

use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::ids::{Owner, ThreadId};
use crate::domain::thread::Thread;
use crate::storage::Store;
use crate::storage::db::in_tx;
use crate::storage::error::fail;
use crate::storage::{docs, threads};

const THREAD: &str = "insert into threads \
     (owner, thread_id, status, head, agent_id, interrupts, created_at, updated_at) \
     select owner, $2, case when interrupts <> '[]' then 'interrupted' \
       when status = 'error' then 'error' else 'idle' end, \
       head, agent_id, interrupts, $3, $3 from threads where thread_key = $1 returning thread_key";
const ROWS: &[&str] = &[
    "insert into thread_docs (thread_key, metadata, state) \
     select $2, metadata, state from thread_docs where thread_key = $1",
    "insert into branches (thread_key, namespace, branch, parent_branch, parent_step) \
     select $2, namespace, branch, parent_branch, parent_step from branches where thread_key = $1",
    "insert into checkpoints (thread_key, namespace, checkpoint_id, parent_id, branch, step, \
       source, run_id, metadata, frontier, created_at) \
     select $2, namespace, checkpoint_id, parent_id, branch, step, source, run_id, metadata, \
       frontier, created_at from checkpoints where thread_key = $1 order by checkpoint_key",
    "insert into changes (thread_key, namespace, branch, step, ordinal, channel, op, key, value) \
     select $2, namespace, branch, step, ordinal, channel, op, key, value \
     from changes where thread_key = $1",
    "insert into task_records (thread_key, namespace, task_id, record) \
     select $2, namespace, task_id, record from task_records where thread_key = $1",
    "insert into interrupts (thread_key, interrupt_id, interrupt, state, answer, asked_by, \
       settled_by, asked_at, settled_at) \
     select $2, interrupt_id, interrupt, state, answer, asked_by, settled_by, asked_at, \
       settled_at from interrupts where thread_key = $1",
];

impl Store {
    /// An independent thread with the same history; runs are not copied. `None` if there is no
    /// such thread.
    pub async fn thread_copy(
        &self,
        owner: &Owner,
        id: ThreadId,
        new_id: ThreadId,
        at: Ts,
    ) -> Result<Option<Thread>> {
        let failed = |error| fail("cannot copy the thread", error);
        let mut tx = self.0.db.begin().await?;
        let Some(locked) = threads::lock(&mut tx, owner, id).await? else { return Ok(None) };
        let (old, new_id): (i64, Uuid) = (locked.key.0, new_id.0);
        let key: i64 = in_tx!(&mut tx, c => sqlx::query_scalar(THREAD).bind(old).bind(new_id)
            .bind(at).fetch_one(c).await)
        .map_err(failed)?;
        for sql in ROWS {
            in_tx!(&mut tx, c => sqlx::query(*sql).bind(old).bind(key).execute(c).await.map(drop))
                .map_err(failed)?;
        }
        docs::copy_leaves(&mut tx, old, key).await?;
        let thread = threads::get_in(&mut tx, key).await?;
        tx.commit().await?;
        Ok(thread)
    }
}
