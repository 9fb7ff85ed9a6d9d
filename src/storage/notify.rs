//! Signals between nodes: LISTEN and NOTIFY on Postgres, and within this process on both.

use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{broadcast, mpsc};
use uuid::Uuid;

use crate::domain::ids::{RunKey, ThreadKey};
use crate::executor::port::Signal;
use crate::storage::db::Db;

const CHANNEL: &str = "runloom";
const NOTIFY: &str = "select pg_notify($1, $2)";
/// A notification holds less than 8000 bytes.
const PAYLOAD: usize = 7000;
const KEPT: usize = 4096;
const RECONNECT: Duration = Duration::from_secs(1);

/// Says what happened, here and to the other nodes.
#[derive(Clone)]
pub(super) struct Notifier {
    here: broadcast::Sender<Signal>,
    /// `None` on SQLite: there are no others.
    there: Option<mpsc::UnboundedSender<Signal>>,
}

impl Notifier {
    /// Starts listening and telling. Both end when the last sender is gone.
    pub(super) fn start(db: &Db) -> Self {
        let here = broadcast::Sender::new(KEPT);
        let there = match db {
            Db::Lite(_) => None,
            Db::Pg(pool) => {
                let (sender, receiver) = mpsc::unbounded_channel();
                let node = node();
                spawn(keep_telling(pool.clone(), node.clone(), receiver));
                spawn(keep_listening(pool.clone(), node, here.clone(), sender.downgrade()));
                Some(sender)
            }
        };
        Self { here, there }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Signal> {
        self.here.subscribe()
    }

    /// Tells everybody, after the commit that made it true.
    pub(super) fn tell(&self, signals: impl IntoIterator<Item = Signal>) {
        for signal in signals {
            // Nobody listens to a store on its own.
            let _unheard = self.here.send(signal);
            self.tell_others(signal);
        }
    }

    /// Tells the other nodes only: this one knows.
    pub(super) fn tell_others(&self, signal: Signal) {
        if let Some(there) = &self.there {
            let _closed = there.send(signal);
        }
    }
}

/// Names this process among those that share the database, so that it does not hear itself.
#[expect(clippy::disallowed_methods, reason = "a name for one process, never stored")]
fn node() -> String {
    Uuid::new_v4().simple().to_string()
}

#[expect(clippy::disallowed_methods, reason = "ends with the store that started it")]
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(work);
}

/// Sends what gathers while the notification before is under way as one.
async fn keep_telling(pool: PgPool, node: String, mut signals: mpsc::UnboundedReceiver<Signal>) {
    while let Some(first) = signals.recv().await {
        let mut words = vec![word(first)];
        let mut length = node.len() + 1;
        while length < PAYLOAD
            && let Ok(signal) = signals.try_recv()
        {
            let word = word(signal);
            if !words.contains(&word) {
                length += word.len() + 1;
                words.push(word);
            }
        }
        let payload = format!("{node} {}", words.join(" "));
        if let Err(error) = sqlx::query(NOTIFY).bind(CHANNEL).bind(payload).execute(&pool).await {
            tracing::warn!(error = %error, "other nodes could not be told; they will look by themselves");
        }
    }
}

/// Hears the other nodes, on a connection of its own. After a break, everybody looks at everything.
async fn keep_listening(
    pool: PgPool,
    node: String,
    here: broadcast::Sender<Signal>,
    alive: mpsc::WeakUnboundedSender<Signal>,
) {
    while alive.strong_count() > 0 {
        if let Err(error) = listen(&pool, &node, &here, &alive).await {
            tracing::warn!(error = %error, "signals of other nodes are not heard; trying again");
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn listen(
    pool: &PgPool,
    node: &str,
    here: &broadcast::Sender<Signal>,
    alive: &mpsc::WeakUnboundedSender<Signal>,
) -> Result<(), sqlx::Error> {
    let options = (*pool.connect_options()).clone();
    let own = sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_with(options).await?;
    let mut listener = PgListener::connect_with(&own).await?;
    listener.listen(CHANNEL).await?;
    let _unheard = here.send(Signal::Resync);
    while alive.strong_count() > 0 {
        let heard = tokio::time::timeout(RECONNECT, listener.try_recv()).await;
        let Ok(heard) = heard else { continue };
        let Some(notification) = heard? else { return Ok(()) };
        let mut words = notification.payload().split(' ');
        if words.next() == Some(node) {
            continue;
        }
        for signal in words.filter_map(read) {
            let _unheard = here.send(signal);
        }
    }
    Ok(())
}

fn word(signal: Signal) -> String {
    match signal {
        Signal::Due => "due".to_owned(),
        Signal::Log(thread) => format!("log:{}", thread.0),
        Signal::Cancel(run) => format!("cancel:{}", run.0),
        Signal::Delivery => "delivery".to_owned(),
        Signal::Resync => "resync".to_owned(),
    }
}

/// The signal behind a word; a newer release may say more than this one knows.
fn read(word: &str) -> Option<Signal> {
    match word.split_once(':') {
        None => match word {
            "due" => Some(Signal::Due),
            "delivery" => Some(Signal::Delivery),
            "resync" => Some(Signal::Resync),
            _ => None,
        },
        Some(("log", thread)) => Some(Signal::Log(ThreadKey(thread.parse().ok()?))),
        Some(("cancel", run)) => Some(Signal::Cancel(RunKey(run.parse().ok()?))),
        Some(_) => None,
    }
}
