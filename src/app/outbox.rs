//! Delivers webhooks: at least once, signed, with growing pauses, over restarts.

use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use sha2::Sha256;
use tokio_util::sync::CancellationToken;

use crate::app::{App, Finished};
use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::storage::Delivery;

/// How webhooks are sent.
#[derive(Clone)]
pub struct Courier {
    /// Resolves no private address, unless that is allowed.
    pub client: reqwest::Client,
    /// Signs deliveries; without it they are unsigned.
    pub secret: Option<Arc<SecretString>>,
    /// The body that tells how a run ended, in the words of the face that webhooks belong to.
    pub body: fn(&Finished) -> Value,
    pub poll: Duration,
}

/// Deliveries a query, and at a time.
const BATCH: u32 = 16;
/// A delivery that was taken is tried by others after this time.
const LEASE: Duration = Duration::from_mins(1);
/// It is given up after this many attempts, about a day after the first.
const ATTEMPTS: u32 = 16;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(4);

impl Courier {
    /// Delivers what is due until `drain` fires.
    pub async fn run(self, app: App, drain: CancellationToken) {
        loop {
            let more = self.deliver_due(&app).await.unwrap_or_else(|error| {
                tracing::warn!(error = ?error, "cannot look for webhooks");
                false
            });
            if more {
                continue;
            }
            tokio::select! {
                () = app.0.executor.delivery_due() => {}
                () = tokio::time::sleep(self.poll) => {}
                () = drain.cancelled() => return,
            }
        }
    }

    /// Delivers once; answers whether there may be more.
    async fn deliver_due(&self, app: &App) -> Result<bool> {
        let now = app.0.clock.now();
        let due = app.0.store.delivery_take(BATCH, LEASE, now).await?;
        let more = due.len() == BATCH as usize;
        futures::future::join_all(due.into_iter().map(|delivery| self.deliver(app, delivery)))
            .await
            .into_iter()
            .collect::<Result<Vec<()>>>()?;
        Ok(more)
    }

    async fn deliver(&self, app: &App, delivery: Delivery) -> Result<()> {
        let finished = app.finished(delivery.run.clone()).await?;
        let body = (self.body)(&finished).to_string();
        let now = app.0.clock.now();
        let store = &app.0.store;
        match self.send(&delivery, body, now).await {
            Ok(()) => store.delivery_finish(delivery.id, None, now).await,
            Err(why) if delivery.attempts + 1 >= ATTEMPTS => {
                store.delivery_finish(delivery.id, Some(&why), now).await
            }
            Err(why) => {
                let next = now.plus(pause_after(delivery.attempts));
                store.delivery_retry(delivery.id, next, &why).await
            }
        }
    }

    /// Sends once; answers why it did not arrive.
    async fn send(&self, delivery: &Delivery, body: String, now: Ts) -> Result<(), String> {
        let seconds = now.0.div_euclid(1_000_000);
        let mut request = self
            .client
            .post(&delivery.url)
            .header("content-type", "application/json")
            .header("runloom-delivery", delivery.id.to_string());
        if let Some(secret) = &self.secret {
            let signature = sign(secret, seconds, &body);
            request = request.header("runloom-signature", format!("t={seconds},v1={signature}"));
        }
        let answer =
            request.body(body).send().await.map_err(|error| error.without_url().to_string())?;
        if answer.status().is_success() {
            return Ok(());
        }
        Err(format!("the receiver answered {}", answer.status().as_u16()))
    }
}

/// `HMAC_SHA256(secret, t + "." + body)` in hex.
fn sign(secret: &SecretString, seconds: i64, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else {
        // HMAC takes keys of any length.
        return String::new();
    };
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

/// Doubles from the first pause to the longest.
fn pause_after(attempts: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(attempts)).min(LONGEST_PAUSE)
}
