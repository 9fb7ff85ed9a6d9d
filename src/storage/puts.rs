//! What runs leave on their threads, many rows a statement: checkpoints with their changes, task
//! records, the log, the heads.

use uuid::Uuid;

use crate::domain::checkpoint::Put;
use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::executor::port::{Commit, Segment};
use crate::storage::checkpoints::StoredFrontier;
use crate::storage::db::Tx;
use crate::storage::events::column;
use crate::storage::fold;
use crate::storage::rows::{Kind, OverRows};
use crate::storage::types::opaque;

/// What tasks of the step before left is void once there is a checkpoint.
pub(super) static RECORDS_DROP: OverRows = OverRows::new(
    &[("thread", Kind::Big), ("namespace", Kind::Text)],
    "delete from task_records where (thread_key, namespace) in (select thread, namespace from m)",
);
pub(super) static CHECKPOINTS: OverRows = OverRows::new(
    &[
        ("thread_key", Kind::Big),
        ("namespace", Kind::Text),
        ("checkpoint_id", Kind::Id),
        ("parent_id", Kind::Id),
        ("branch", Kind::Int),
        ("step", Kind::Big),
        ("source", Kind::Text),
        ("run_id", Kind::Id),
        ("metadata", Kind::Text),
        ("frontier", Kind::Text),
        ("created_at", Kind::Time),
    ],
    "insert into checkpoints (thread_key, namespace, checkpoint_id, parent_id, branch, step, \
     source, run_id, metadata, frontier, created_at) select * from m",
);
pub(super) static BRANCHES: OverRows = OverRows::new(
    &[
        ("thread_key", Kind::Big),
        ("namespace", Kind::Text),
        ("branch", Kind::Int),
        ("parent_branch", Kind::Int),
        ("parent_step", Kind::Big),
    ],
    "insert into branches (thread_key, namespace, branch, parent_branch, parent_step) \
     select * from m",
);
pub(super) static CHANGES: OverRows = OverRows::new(
    &[
        ("thread_key", Kind::Big),
        ("namespace", Kind::Text),
        ("branch", Kind::Int),
        ("step", Kind::Big),
        ("ordinal", Kind::Int),
        ("channel", Kind::Text),
        ("op", Kind::Text),
        ("key", Kind::Text),
        ("value", Kind::Text),
    ],
    "insert into changes (thread_key, namespace, branch, step, ordinal, channel, op, key, value) \
     select * from m",
);
pub(super) static RECORDS: OverRows = OverRows::new(
    &[
        ("thread_key", Kind::Big),
        ("namespace", Kind::Text),
        ("task_id", Kind::Id),
        ("record", Kind::Text),
    ],
    "insert into task_records (thread_key, namespace, task_id, record) select * from m where true \
     on conflict (thread_key, namespace, task_id) do update set record = excluded.record",
);
pub(super) static LOG: OverRows = OverRows::new(
    &[
        ("thread_key", Kind::Big),
        ("first_seq", Kind::Big),
        ("last_seq", Kind::Big),
        ("run_id", Kind::Id),
        ("lines", Kind::Text),
        ("created_at", Kind::Time),
    ],
    "insert into run_log (thread_key, first_seq, last_seq, run_id, lines, created_at) \
     select * from m",
);
pub(super) static HEADS: OverRows = OverRows::new(
    &[("thread", Kind::Big), ("new_head", Kind::Id), ("at", Kind::Time)],
    "update threads set head = m.new_head, updated_at = m.at from m \
     where threads.thread_key = m.thread",
);

/// Writes checkpoints with their changes, each with the key of its thread.
pub(super) async fn checkpoints(tx: &mut Tx, puts: &[(i64, &Put)]) -> Result<()> {
    let (mut dropped, mut rows) = (RECORDS_DROP.rows(), CHECKPOINTS.rows());
    let (mut branches, mut changes) = (BRANCHES.rows(), CHANGES.rows());
    for (thread, put) in puts {
        let (thread, checkpoint) = (*thread, &put.checkpoint);
        let (place, namespace) = (checkpoint.place, checkpoint.namespace.joined());
        dropped.push([thread.into(), namespace.clone().into()]);
        rows.push([
            thread.into(),
            namespace.clone().into(),
            checkpoint.id.0.into(),
            checkpoint.parent.map(|parent| parent.0).into(),
            place.branch.into(),
            place.step.into(),
            checkpoint.source.as_str().into(),
            checkpoint.run_id.map(|run| run.0).into(),
            opaque(&checkpoint.metadata)?.into(),
            opaque(&StoredFrontier::of(&checkpoint.frontier))?.into(),
            checkpoint.created_at.into(),
        ]);
        if let Some(fork) = put.fork {
            branches.push([
                thread.into(),
                namespace.clone().into(),
                fork.branch.into(),
                fork.from.branch.into(),
                fork.from.step.into(),
            ]);
        }
        for (ordinal, change) in (0_i32..).zip(&put.changes) {
            let (op, key, value) = fold::columns(&change.op);
            changes.push([
                thread.into(),
                namespace.clone().into(),
                place.branch.into(),
                place.step.into(),
                ordinal.into(),
                (&*change.channel).into(),
                op.into(),
                key.into(),
                value.map(opaque).transpose()?.into(),
            ]);
        }
    }
    branches.execute(tx, "cannot write a branch").await?;
    dropped.execute(tx, "cannot forget the step's outcomes").await?;
    rows.execute(tx, "cannot write the checkpoints").await?;
    changes.execute(tx, "cannot write the changes").await
}

/// Writes what tasks of unfinished steps did.
pub(super) async fn records(tx: &mut Tx, commits: &[&Commit]) -> Result<()> {
    let mut rows = RECORDS.rows();
    for commit in commits {
        for (namespace, record) in &commit.tasks {
            rows.push([
                commit.fence.thread_key.0.into(),
                namespace.joined().into(),
                record.task_id.0.into(),
                opaque(record)?.into(),
            ]);
        }
    }
    rows.execute(tx, "cannot write the tasks' outcomes").await
}

/// Writes segments of the log, each with the key of its thread.
pub(super) async fn log(tx: &mut Tx, segments: &[(i64, &Segment, Ts)]) -> Result<()> {
    let mut rows = LOG.rows();
    for (thread, segment, at) in segments {
        rows.push([
            (*thread).into(),
            column(segment.first).into(),
            column(segment.last).into(),
            segment.run_id.0.into(),
            (&segment.lines).into(),
            (*at).into(),
        ]);
    }
    rows.execute(tx, "cannot write the log").await
}

/// Moves the heads of threads.
pub(super) async fn heads(tx: &mut Tx, heads: &[(i64, Uuid, Ts)]) -> Result<()> {
    let mut rows = HEADS.rows();
    for (thread, head, at) in heads {
        rows.push([(*thread).into(), (*head).into(), (*at).into()]);
    }
    rows.execute(tx, "cannot move the threads' heads").await
}
