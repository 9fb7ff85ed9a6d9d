//! Documents that are searched: JSON columns of their own, and on SQLite their leaves.

use serde_json::{Map, Value};
use sqlx::types::Json;

use crate::domain::error::Result;
use crate::domain::json;
use crate::storage::db::{Tx, in_tx};
use crate::storage::error::fail;

/// What a document belongs to, as `leaves.subject` has it.
pub(super) const THREAD_METADATA: &str = "thread.metadata";
pub(super) const THREAD_STATE: &str = "thread.state";
pub(super) const RUN_METADATA: &str = "run.metadata";
pub(super) const ITEM_VALUE: &str = "item.value";

/// Members of a state beyond this many bytes in all are not searched.
const SEARCHED_BYTES: usize = 64 * 1024;

const METADATA_PUT: &str = "insert into thread_docs (thread_key, metadata) values ($1, $2) \
     on conflict (thread_key) do update set metadata = excluded.metadata";
const STATE_PUT: &str = "insert into thread_docs (thread_key, state) values ($1, $2) \
     on conflict (thread_key) do update set state = excluded.state \
     where thread_docs.state <> excluded.state";
const RUN_PUT: &str = "insert into run_docs (run_key, metadata) values ($1, $2)";
const LEAVES_DROP: &str = "delete from leaves where subject = $1 and row_key = $2";
const LEAF_PUT: &str = "insert into leaves (subject, row_key, path, kind, text) \
     values ($1, $2, $3, $4, $5) on conflict do nothing";

type Object = Map<String, Value>;

pub(super) async fn put_thread_metadata(tx: &mut Tx, key: i64, metadata: &Object) -> Result<()> {
    put(tx, METADATA_PUT, key, metadata).await?;
    index(tx, THREAD_METADATA, key, metadata).await
}

pub(super) async fn put_thread_state(tx: &mut Tx, key: i64, values: &Object) -> Result<()> {
    let searched = searched(values);
    put(tx, STATE_PUT, key, &searched).await?;
    index(tx, THREAD_STATE, key, &searched).await
}

pub(super) async fn put_run_metadata(tx: &mut Tx, key: i64, metadata: &Object) -> Result<()> {
    put(tx, RUN_PUT, key, metadata).await?;
    index(tx, RUN_METADATA, key, metadata).await
}

async fn put(tx: &mut Tx, sql: &'static str, key: i64, document: &Object) -> Result<()> {
    in_tx!(tx, c => sqlx::query(sql).bind(key).bind(Json(document)).execute(c).await.map(drop))
        .map_err(|error| fail("cannot write a document", error))
}

/// Replaces the leaves of a document; Postgres has an index of its own.
pub(super) async fn index(tx: &mut Tx, subject: &str, key: i64, document: &Object) -> Result<()> {
    let Tx::Lite(tx) = tx else { return Ok(()) };
    let failed = |error| fail("cannot index a document", error);
    sqlx::query(LEAVES_DROP).bind(subject).bind(key).execute(&mut **tx).await.map_err(failed)?;
    for leaf in json::leaves(document) {
        let put = sqlx::query(LEAF_PUT).bind(subject).bind(key);
        let put = put.bind(leaf.path).bind(leaf.kind.to_string()).bind(leaf.text);
        put.execute(&mut **tx).await.map_err(failed)?;
    }
    Ok(())
}

/// Forgets the leaves of a document that goes.
pub(super) async fn unindex(tx: &mut Tx, subject: &str, key: i64) -> Result<()> {
    index(tx, subject, key, &Object::new()).await
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
