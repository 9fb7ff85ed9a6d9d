//! Documents that are searched: JSON columns of their own, and on SQLite their leaves.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::domain::error::Result;
use crate::domain::json;
use crate::storage::db::Tx;
use crate::storage::dialect::Both;
use crate::storage::error::fail;
use crate::storage::rows::{Kind, OverRows};
use crate::storage::types::opaque;

/// What a document belongs to, as `leaves.subject` has it.
pub(super) const THREAD_METADATA: &str = "thread.metadata";
pub(super) const THREAD_STATE: &str = "thread.state";
pub(super) const RUN_METADATA: &str = "run.metadata";
pub(super) const ITEM_VALUE: &str = "item.value";

/// Members of a state beyond this many bytes in all are not searched.
const SEARCHED_BYTES: usize = 64 * 1024;

/// Documents, by the key of the row that they belong to.
const DOCUMENTS: &[(&str, Kind)] = &[("row_key", Kind::Big), ("document", Kind::Text)];

pub(super) static METADATA_PUT: OverRows = OverRows::differing(
    DOCUMENTS,
    Both {
        pg: "insert into thread_docs (thread_key, metadata) select row_key, document::jsonb from m \
             on conflict (thread_key) do update set metadata = excluded.metadata",
        lite: "insert into thread_docs (thread_key, metadata) select row_key, document from m \
               where true on conflict (thread_key) do update set metadata = excluded.metadata",
    },
);
pub(super) static STATE_PUT: OverRows = OverRows::differing(
    DOCUMENTS,
    Both {
        pg: "insert into thread_docs (thread_key, state) select row_key, document::jsonb from m \
             on conflict (thread_key) do update set state = excluded.state \
             where thread_docs.state <> excluded.state returning thread_key",
        lite: "insert into thread_docs (thread_key, state) select row_key, document from m \
               where true on conflict (thread_key) do update set state = excluded.state \
               where thread_docs.state <> excluded.state returning thread_key",
    },
);
/// A state without anything to find needs no row; one that is there is emptied.
pub(super) static STATE_EMPTY: OverRows = OverRows::new(
    &[("row_key", Kind::Big)],
    "update thread_docs set state = '{}' from m \
     where thread_docs.thread_key = m.row_key and thread_docs.state <> '{}' returning thread_key",
);
pub(super) static RUN_PUT: OverRows = OverRows::differing(
    DOCUMENTS,
    Both {
        pg: "insert into run_docs (run_key, metadata) select row_key, document::jsonb from m",
        lite: "insert into run_docs (run_key, metadata) select row_key, document from m",
    },
);
/// SQLite's alone.
pub(super) static LEAVES_DROP: OverRows = OverRows::new(
    &[("subject", Kind::Text), ("row_key", Kind::Big)],
    "delete from leaves where (subject, row_key) in (select subject, row_key from m)",
);
pub(super) static LEAVES_PUT: OverRows = OverRows::new(
    &[
        ("subject", Kind::Text),
        ("row_key", Kind::Big),
        ("path", Kind::Text),
        ("kind", Kind::Text),
        ("text", Kind::Text),
    ],
    "insert into leaves (subject, row_key, path, kind, text) select * from m where true \
     on conflict do nothing",
);

type Object = Map<String, Value>;

/// Writes the whole metadata of threads.
pub(super) async fn put_thread_metadata(tx: &mut Tx, documents: &[(i64, &Object)]) -> Result<()> {
    put(tx, &METADATA_PUT, documents).await?;
    reindex(tx, THREAD_METADATA, documents).await
}

/// Writes what searches see of the states of threads. One that is as it was costs a look.
pub(super) async fn put_thread_states(tx: &mut Tx, states: &[(i64, &Object)]) -> Result<()> {
    let searched: Vec<(i64, Object)> =
        states.iter().map(|(key, values)| (*key, searched(values))).collect();
    let (mut full, mut empty) = (STATE_PUT.rows(), STATE_EMPTY.rows());
    for (key, document) in &searched {
        if document.is_empty() {
            empty.push([(*key).into()]);
        } else {
            full.push([(*key).into(), opaque(document)?.into()]);
        }
    }
    let mut changed: Vec<(i64,)> = full.fetch(tx, WRITING).await?;
    changed.extend(empty.fetch::<(i64,)>(tx, WRITING).await?);
    let changed: HashSet<i64> = changed.into_iter().map(|(key,)| key).collect();
    let searched: Vec<(i64, &Object)> = searched
        .iter()
        .filter(|(key, _)| changed.contains(key))
        .map(|(key, document)| (*key, document))
        .collect();
    reindex(tx, THREAD_STATE, &searched).await
}

/// Writes the metadata of new runs.
pub(super) async fn put_run_metadata(tx: &mut Tx, documents: &[(i64, &Object)]) -> Result<()> {
    put(tx, &RUN_PUT, documents).await?;
    index(tx, RUN_METADATA, documents).await
}

const WRITING: &str = "cannot write documents";
const INDEXING: &str = "cannot index documents";

async fn put(tx: &mut Tx, over: &'static OverRows, documents: &[(i64, &Object)]) -> Result<()> {
    let mut rows = over.rows();
    for (key, document) in documents {
        rows.push([(*key).into(), opaque(document)?.into()]);
    }
    rows.execute(tx, WRITING).await
}

/// Replaces the leaves of documents; Postgres has an index of its own.
pub(super) async fn reindex(
    tx: &mut Tx,
    subject: &'static str,
    documents: &[(i64, &Object)],
) -> Result<()> {
    if matches!(tx, Tx::Pg(_)) {
        return Ok(());
    }
    let mut dropped = LEAVES_DROP.rows();
    for (key, _) in documents {
        dropped.push([subject.into(), (*key).into()]);
    }
    dropped.execute(tx, INDEXING).await?;
    index(tx, subject, documents).await
}

/// Adds the leaves of documents that have none yet.
async fn index(tx: &mut Tx, subject: &'static str, documents: &[(i64, &Object)]) -> Result<()> {
    if matches!(tx, Tx::Pg(_)) {
        return Ok(());
    }
    let mut rows = LEAVES_PUT.rows();
    for (key, document) in documents {
        for leaf in json::leaves(document) {
            rows.push([
                subject.into(),
                (*key).into(),
                leaf.path.into(),
                leaf.kind.to_string().into(),
                leaf.text.into(),
            ]);
        }
    }
    rows.execute(tx, INDEXING).await
}

/// Forgets the leaves of a document that goes.
pub(super) async fn unindex(tx: &mut Tx, subject: &'static str, key: i64) -> Result<()> {
    reindex(tx, subject, &[(key, &Object::new())]).await
}

/// The part of a state that searches see: what a JSON column can hold, up to a size.
fn searched(values: &Object) -> Object {
    let mut room = SEARCHED_BYTES;
    values
        .iter()
        .filter(|(name, value)| {
            let size = value.to_string().len();
            let fits =
                size <= room && json::refuse_nul(name, value).is_ok() && !name.contains('\0');
            room -= if fits { size } else { 0 };
            fits
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

const LEAVES_COPY: &str = "insert into leaves (subject, row_key, path, kind, text) \
     select subject, $2, path, kind, text from leaves where subject = $3 and row_key = $1";

/// Gives a copied thread the leaves of the old one.
pub(super) async fn copy_leaves(tx: &mut Tx, old: i64, new: i64) -> Result<()> {
    let Tx::Lite(tx) = tx else { return Ok(()) };
    for subject in [THREAD_METADATA, THREAD_STATE] {
        let copy = sqlx::query(LEAVES_COPY).bind(old).bind(new).bind(subject);
        copy.execute(&mut **tx).await.map_err(|error| fail("cannot index a document", error))?;
    }
    Ok(())
}
