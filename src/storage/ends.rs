//! Ends that only set statuses, which is what most are: many a statement.

use std::collections::HashSet;

use crate::domain::error::Result;
use crate::domain::ids::ThreadKey;
use crate::domain::run::RunEnd;
use crate::domain::thread::ThreadStatus;
use crate::executor::port::{Commit, End};
use crate::storage::db::Tx;
use crate::storage::docs;
use crate::storage::end::Meaning;
use crate::storage::rows::{Kind, OverRows};
use crate::storage::types::opaque;

pub(super) static ENDS: OverRows = OverRows::new(
    &[
        ("run", Kind::Big),
        ("new_status", Kind::Text),
        ("new_error", Kind::Text),
        ("new_head", Kind::Id),
        ("new_result", Kind::Text),
        ("at", Kind::Time),
    ],
    "update runs set status = m.new_status, error = m.new_error, interrupts = '[]', \
     head = m.new_head, result = m.new_result, worker = null, lease_until = null, \
     updated_at = m.at from m where runs.run_key = m.run",
);
pub(super) static WITHDRAW: OverRows = OverRows::new(
    &[("thread", Kind::Big), ("run", Kind::Id), ("at", Kind::Time)],
    "update interrupts set state = 'withdrawn', settled_by = m.run, settled_at = m.at from m \
     where interrupts.thread_key = m.thread and interrupts.state = 'open'",
);
pub(super) static THREADS: OverRows = OverRows::new(
    &[("thread", Kind::Big), ("rest", Kind::Text), ("at", Kind::Time)],
    "update threads set interrupts = '[]', updated_at = m.at, \
     status = case when exists (select 1 from runs o where o.thread_key = threads.thread_key \
       and o.status in ('pending', 'running')) then 'busy' else m.rest end \
     from m where threads.thread_key = m.thread returning thread_key, status",
);

/// Whether an end only sets statuses.
pub(super) fn is_plain(end: &End) -> bool {
    let sets_status =
        !matches!(end.how, RunEnd::Paused(_) | RunEnd::HandedBack | RunEnd::RolledBack);
    sets_status && end.webhook.is_none() && !end.deletes_thread
}

/// Writes those of these commits' ends that are plain; answers the threads on which others wait.
pub(super) async fn write(tx: &mut Tx, commits: &[&Commit]) -> Result<HashSet<ThreadKey>> {
    let (mut ends, mut withdrawn) = (ENDS.rows(), WITHDRAW.rows());
    let (mut threads, mut states) = (THREADS.rows(), Vec::new());
    for commit in commits {
        let Some(end) = commit.end.as_ref().filter(|end| is_plain(end)) else { continue };
        let meaning = Meaning::of(&end.how);
        let thread = commit.fence.thread_key.0;
        ends.push([
            commit.fence.run_key.0.into(),
            meaning.status.as_str().into(),
            meaning.error.as_ref().map(opaque).transpose()?.into(),
            end.head.map(|head| head.0).into(),
            end.result.as_ref().map(opaque).transpose()?.into(),
            commit.at.into(),
        ]);
        withdrawn.push([thread.into(), commit.run_id.0.into(), commit.at.into()]);
        threads.push([thread.into(), meaning.thread.as_str().into(), commit.at.into()]);
        states.extend(end.values.as_ref().map(|values| (thread, values)));
    }
    ends.execute(tx, "cannot end the runs").await?;
    withdrawn.execute(tx, "cannot withdraw interrupts").await?;
    docs::put_thread_states(tx, &states).await?;
    let settled: Vec<(i64, String)> = threads.fetch(tx, "cannot update the threads").await?;
    let busy = settled.into_iter().filter(|(_, status)| status == ThreadStatus::Busy.as_str());
    Ok(busy.map(|(thread, _)| ThreadKey(thread)).collect())
}
