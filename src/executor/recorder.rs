//! What a run writes on its way: events, checkpoints and task records, gathered and committed
//! together a few times a second, shown live at once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, Notify};

use crate::domain::checkpoint::{Checkpoint, Put, Snapshot, TaskRecord};
use crate::domain::clock::{Clock, Ts};
use crate::domain::error::{Error, Fault, Result};
use crate::domain::event::{Logged, RunEvent, Seq};
use crate::domain::ids::{Namespace, RunId, TaskId};
use crate::domain::ports::{BoxFuture, Emitter};
use crate::domain::run::Durability;
use crate::domain::state::State;
use crate::engine::port::Checkpointer;
use crate::executor::feed::Feed;
use crate::executor::port::{Claim, Commit, End, Fence, RunLedger, Segment};

/// How long an event may wait for others to be stored with it.
const GATHER: Duration = Duration::from_millis(20);
/// Beyond this many events that are not stored yet, whoever emits waits.
const BACKLOG: usize = 4096;
/// Pauses between attempts to write while the database is away.
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LONGEST: Duration = Duration::from_secs(2);

/// The writing side of one attempt of a run.
pub(super) struct Recorder {
    fence: Fence,
    run_id: RunId,
    attempt: u32,
    durability: Durability,
    /// `None`: the run lives in memory only.
    ledger: Option<Arc<dyn RunLedger>>,
    feed: Arc<Feed>,
    clock: Arc<dyn Clock>,
    log_cap: usize,
    gathered: Mutex<Gathered>,
    /// Commits are made one after the other, in the order of what they hold.
    committing: AsyncMutex<()>,
    due: Notify,
    room: Notify,
}

struct Gathered {
    next_seq: Seq,
    seq_end: Seq,
    events: Vec<Arc<Logged>>,
    puts: Vec<Put>,
    tasks: Vec<(Namespace, TaskRecord)>,
    /// Stored segments: last number and how many events.
    stored: VecDeque<(Seq, usize)>,
    stored_events: usize,
    newest: Option<Checkpoint>,
    records: HashMap<TaskId, TaskRecord>,
    wrote: bool,
}

impl Recorder {
    pub(super) fn new(
        claim: &Claim,
        ledger: Option<Arc<dyn RunLedger>>,
        feed: Arc<Feed>,
        clock: Arc<dyn Clock>,
        log_cap: usize,
    ) -> Self {
        if ledger.is_some() {
            feed.open(claim.first_seq, KEPT_LIVE);
        } else {
            // Nothing will be stored: the ring is all there is, and may drop its oldest.
            feed.open(claim.first_seq, log_cap);
            feed.committed(Seq::MAX);
        }
        Self {
            fence: claim.fence,
            run_id: claim.run.id,
            attempt: claim.fence.attempt,
            durability: claim.run.spec.durability,
            ledger,
            feed,
            clock,
            log_cap,
            gathered: Mutex::new(Gathered {
                next_seq: claim.first_seq,
                seq_end: claim.first_seq + Claim::SEQ_ROOM,
                events: Vec::new(),
                puts: Vec::new(),
                tasks: Vec::new(),
                stored: VecDeque::new(),
                stored_events: 0,
                newest: None,
                records: HashMap::new(),
                wrote: false,
            }),
            committing: AsyncMutex::new(()),
            due: Notify::new(),
            room: Notify::new(),
        }
    }

    pub(super) fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Numbers the event, shows it, and leaves it to the next commit.
    pub(super) fn record(&self, namespace: &Namespace, event: RunEvent) {
        match self.number(namespace.clone(), event) {
            Some(logged) => self.feed.publish(logged),
            None => self.due.notify_one(),
        }
    }

    fn number(&self, namespace: Namespace, event: RunEvent) -> Option<Arc<Logged>> {
        let at = self.clock.now();
        let mut gathered = self.lock();
        if gathered.next_seq >= gathered.seq_end {
            return None;
        }
        let logged = Arc::new(Logged {
            seq: gathered.next_seq,
            at,
            run_id: self.run_id,
            attempt: self.attempt,
            namespace,
            event,
        });
        gathered.next_seq += 1;
        if self.ledger.is_some() {
            gathered.events.push(logged.clone());
        }
        let first = gathered.events.len() == 1;
        drop(gathered);
        if first {
            self.due.notify_one();
        }
        Some(logged)
    }

    /// Commits what gathers, until that fails. Run beside the graph.
    pub(super) async fn keep_flushing(&self) -> Error {
        loop {
            self.due.notified().await;
            tokio::time::sleep(GATHER).await;
            if let Err(error) = self.flush().await {
                return error;
            }
            if self.is_full() {
                let public = format!("a run may emit at most {} events", Claim::SEQ_ROOM);
                return Error::new(Fault::Limited, "event_limit", public);
            }
        }
    }

    fn is_full(&self) -> bool {
        let gathered = self.lock();
        gathered.next_seq >= gathered.seq_end
    }

    /// Commits what has gathered.
    pub(super) async fn flush(&self) -> Result<()> {
        self.commit(None, self.durability == Durability::Exit).await
    }

    /// Commits all of it, whatever the durability.
    pub(super) async fn flush_all(&self) -> Result<()> {
        self.commit(None, false).await
    }

    /// Writes the run's end, as of `at`, together with all that is left, and then shows it.
    pub(super) async fn finish(&self, end: End, event: Option<RunEvent>, at: Ts) -> Result<()> {
        let ending = event.and_then(|event| self.number(Namespace::root(), event));
        self.commit(Some((end, at)), false).await?;
        if let Some(ending) = ending {
            self.feed.publish(ending);
        }
        Ok(())
    }

    async fn commit(&self, end: Option<(End, Ts)>, only_events: bool) -> Result<()> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let _turn = self.committing.lock().await;
        let Some((commit, last)) = self.take(end, only_events) else { return Ok(()) };
        let mut pause = RETRY_FIRST;
        while let Err(error) = ledger.commit(commit.clone()).await {
            if error.fault != Fault::Unavailable {
                return Err(error);
            }
            tracing::warn!(run.id = %self.run_id, error = ?error, "the run waits for the database");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_LONGEST);
        }
        if let Some(last) = last {
            self.feed.committed(last);
        }
        self.room.notify_waiters();
        Ok(())
    }

    /// What has gathered, as one commit; `None` if that is nothing.
    fn take(&self, end: Option<(End, Ts)>, only_events: bool) -> Option<(Commit, Option<Seq>)> {
        let mut gathered = self.lock();
        let events = std::mem::take(&mut gathered.events);
        let (puts, tasks) = if only_events {
            (Vec::new(), Vec::new())
        } else {
            (std::mem::take(&mut gathered.puts), std::mem::take(&mut gathered.tasks))
        };
        if events.is_empty() && puts.is_empty() && tasks.is_empty() && end.is_none() {
            return None;
        }
        let last = events.last().map(|logged| logged.seq);
        let trim_log_below = gathered.trim(events.len(), last, self.log_cap);
        drop(gathered);
        let (end, at) = end.unzip();
        let commit = Commit {
            fence: self.fence,
            run_id: self.run_id,
            puts,
            tasks,
            segment: segment(self.run_id, &events),
            trim_log_below,
            end,
            at: at.unwrap_or_else(|| self.clock.now()),
        };
        Some((commit, last))
    }

    /// The thread's newest snapshot after what this attempt wrote, if it wrote a checkpoint.
    pub(super) fn newest(&self, state: &State) -> Option<Snapshot> {
        let mut gathered = self.lock();
        let checkpoint = gathered.newest.take()?;
        let next = checkpoint.place.following();
        let tasks = std::mem::take(&mut gathered.records).into_values().collect();
        Some(Snapshot { checkpoint, state: state.clone(), tasks, next, fork: None })
    }

    /// Whether this attempt wrote a checkpoint of the root graph.
    pub(super) fn wrote(&self) -> bool {
        self.lock().wrote
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many events a durable run's feed keeps once they are stored.
const KEPT_LIVE: usize = 512;

impl Gathered {
    /// Counts the segment about to be stored; answers below which number the log is to be cut.
    fn trim(&mut self, events: usize, last: Option<Seq>, cap: usize) -> Option<Seq> {
        self.stored.push_back((last?, events));
        self.stored_events += events;
        let mut cut = None;
        while self.stored_events > cap && self.stored.len() > 1 {
            let (oldest, count) = self.stored.pop_front()?;
            self.stored_events -= count;
            cut = Some(oldest + 1);
        }
        cut
    }
}

fn segment(run_id: RunId, events: &[Arc<Logged>]) -> Option<Segment> {
    let (first, last) = (events.first()?.seq, events.last()?.seq);
    let mut lines = String::with_capacity(events.len() * 128);
    for logged in events {
        lines.push_str(&serde_json::to_string(logged).unwrap_or_default());
        lines.push('\n');
    }
    Some(Segment { run_id, first, last, lines })
}

impl Emitter for Recorder {
    fn emit<'a>(&'a self, namespace: &'a Namespace, event: RunEvent) -> BoxFuture<'a, ()> {
        self.record(namespace, event);
        Box::pin(async {
            loop {
                let room = self.room.notified();
                if self.lock().events.len() < BACKLOG {
                    return;
                }
                room.await;
            }
        })
    }
}

impl Checkpointer for Recorder {
    fn load<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Option<Snapshot>>> {
        Box::pin(async move {
            match &self.ledger {
                Some(ledger) => {
                    // What this attempt wrote there must be found.
                    self.flush_all().await?;
                    ledger.snapshot(self.fence.thread_key, namespace, None).await
                }
                None => Ok(None),
            }
        })
    }

    fn put(&self, put: Put) -> BoxFuture<'_, Result<()>> {
        let mut gathered = self.lock();
        if put.checkpoint.namespace.is_root() {
            gathered.newest = Some(put.checkpoint.clone());
            gathered.records.clear();
            gathered.wrote = true;
        }
        if self.ledger.is_some() {
            let gone = put.checkpoint.namespace.clone();
            gathered.tasks.retain(|(namespace, _)| *namespace != gone);
            gathered.puts.push(put);
        }
        drop(gathered);
        self.written()
    }

    fn put_task<'a>(
        &'a self,
        namespace: &'a Namespace,
        record: TaskRecord,
    ) -> BoxFuture<'a, Result<()>> {
        let mut gathered = self.lock();
        if namespace.is_root() {
            gathered.records.insert(record.task_id, record.clone());
        }
        if self.ledger.is_some() {
            gathered.tasks.push((namespace.clone(), record));
        }
        drop(gathered);
        self.written()
    }
}

impl Recorder {
    fn written(&self) -> BoxFuture<'_, Result<()>> {
        if self.durability == Durability::Sync {
            return Box::pin(self.flush());
        }
        self.due.notify_one();
        Box::pin(std::future::ready(Ok(())))
    }
}
