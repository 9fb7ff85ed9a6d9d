//! Table `outbox`: webhooks to be delivered.

use std::time::Duration;

use sqlx::FromRow;
use uuid::Uuid;

use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::ids::DeliveryId;
use crate::storage::db::{Tx, in_tx, on_db};
use crate::storage::dialect::DELIVERIES;
use crate::storage::error::fail;
use crate::storage::{Delivery, Store};

const INSERT: &str = "insert into outbox (delivery_id, run_id, url, next_at, created_at) \
     values ($1, $2, $3, $4, $4)";
const PUT_OFF: &str = "update outbox set next_at = $2 where delivery_id = $1";
const FINISH: &str = "update outbox set state = $2, error = $3, attempts = attempts + 1, \
     settled_at = $4 where delivery_id = $1";
const RETRY: &str = "update outbox set next_at = $2, error = $3, attempts = attempts + 1 \
     where delivery_id = $1";

#[derive(FromRow)]
struct DueRow {
    delivery_id: Uuid,
    run_id: Uuid,
    url: String,
    attempts: i32,
}

/// Leaves a delivery to whoever delivers next. Its id derives from the run and the moment, so
/// that a run that pauses and ends has two.
pub(super) async fn insert(tx: &mut Tx, run: Uuid, url: &str, at: Ts) -> Result<()> {
    let id = Uuid::new_v5(&run, format!("delivery:{}", at.0).as_bytes());
    in_tx!(tx, c => sqlx::query(INSERT).bind(id).bind(run).bind(url).bind(at).execute(c).await.map(drop))
        .map_err(|error| fail("cannot leave a webhook to be delivered", error))
}

impl Store {
    /// Takes up to `max` deliveries that are due, and puts them off by `lease`, so that nobody
    /// else takes them meanwhile. Those whose run is gone are given up.
    pub async fn delivery_take(&self, max: u32, lease: Duration, at: Ts) -> Result<Vec<Delivery>> {
        let failed = |error| fail("cannot take webhooks to deliver", error);
        let sql = DELIVERIES.of(&self.0.db);
        let mut tx = self.0.db.begin().await?;
        let due: Vec<DueRow> = in_tx!(&mut tx, c => sqlx::query_as(sql).bind(at)
            .bind(i64::from(max)).fetch_all(c).await)
        .map_err(failed)?;
        for row in &due {
            in_tx!(&mut tx, c => sqlx::query(PUT_OFF).bind(row.delivery_id).bind(at.plus(lease))
                .execute(c).await.map(drop))
            .map_err(failed)?;
        }
        tx.commit().await?;
        let mut deliveries = Vec::with_capacity(due.len());
        for row in due {
            let id = DeliveryId(row.delivery_id);
            match self.run_of_id(row.run_id).await? {
                Some(run) => {
                    let attempts = row.attempts.unsigned_abs();
                    deliveries.push(Delivery { id, run, url: row.url, attempts });
                }
                None => self.delivery_finish(id, Some("the run is gone"), at).await?,
            }
        }
        Ok(deliveries)
    }

    /// Records that it is delivered, or (`error`) given up.
    pub async fn delivery_finish(&self, id: DeliveryId, error: Option<&str>, at: Ts) -> Result<()> {
        let state = if error.is_none() { "delivered" } else { "failed" };
        on_db!(self.0.db.writer(), c => sqlx::query(FINISH).bind(id.0).bind(state).bind(error)
            .bind(at).execute(c).await.map(drop))
        .map_err(|error| fail("cannot record a delivery", error))
    }

    /// It will be tried again at `next`.
    pub async fn delivery_retry(&self, id: DeliveryId, next: Ts, error: &str) -> Result<()> {
        on_db!(self.0.db.writer(), c => sqlx::query(RETRY).bind(id.0).bind(next).bind(error)
            .execute(c).await.map(drop))
        .map_err(|error| fail("cannot record a delivery", error))
    }
}
