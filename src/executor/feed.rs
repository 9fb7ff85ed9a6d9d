//! What happens live on this node's threads, for whoever follows them.
//!
//! A feed holds the newest events of one thread in a ring, shared by all its readers: each has
//! only a cursor, so a slow one costs nothing and slows nobody. An event leaves the ring only
//! when it is in the stored log, where a reader that fell behind finds it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;

use crate::domain::event::{Logged, Seq};
use crate::domain::ids::{CheckpointId, RunId, ThreadKey};
use crate::domain::run::Run;
use crate::domain::state::State;

/// The feeds of all threads that somebody follows or runs.
#[derive(Default)]
pub(super) struct Hub {
    feeds: Mutex<Feeds>,
}

#[derive(Default)]
struct Feeds {
    by_thread: HashMap<ThreadKey, Weak<Feed>>,
    /// When the map has grown to this, the dead are cleared away.
    sweep_at: usize,
}

/// One thread's live events.
pub struct Feed {
    ring: Mutex<Ring>,
    events: watch::Sender<u64>,
    ends: watch::Sender<Ends>,
}

/// How often runs ended, as far as this node can tell.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ends {
    /// Runs of this node: [`Feed::ended`] has the newest [`Ends::KEPT`] of them.
    pub here: u64,
    /// News from other nodes: only the stored rows tell what.
    pub elsewhere: u64,
}

impl Ends {
    pub const KEPT: u64 = 32;
}

#[derive(Default)]
struct Ring {
    /// Every event above this that this node's run emitted is in `events`. `None`: the thread is
    /// not written here, the stored log is all there is.
    floor: Option<Seq>,
    committed: Seq,
    /// How many stored events are kept for readers that are a little slow.
    kept: usize,
    events: VecDeque<Arc<Logged>>,
    writing: bool,
    /// What the run that writes here started from.
    base: Option<(CheckpointId, State)>,
    /// The newest ends, for waiters.
    ended: VecDeque<Arc<EndedRun>>,
}

/// A run that ended on this node: what a waiter is told.
#[derive(Debug)]
pub struct EndedRun {
    pub run: Run,
    pub state: State,
}

/// What a reader finds above its cursor.
pub enum Read {
    Live(Vec<Arc<Logged>>),
    /// First read the stored log up to here.
    Behind(Seq),
    /// Everything is in the stored log.
    Stored,
}

impl Hub {
    /// The feed of a thread; it lives as long as somebody holds it.
    pub(super) fn feed(&self, thread: ThreadKey) -> Arc<Feed> {
        let mut feeds = lock(&self.feeds);
        if let Some(feed) = feeds.by_thread.get(&thread).and_then(Weak::upgrade) {
            return feed;
        }
        if feeds.by_thread.len() >= feeds.sweep_at {
            feeds.by_thread.retain(|_, feed| feed.strong_count() > 0);
            feeds.sweep_at = (feeds.by_thread.len() * 2).max(64);
        }
        let feed = Arc::new(Feed::new());
        feeds.by_thread.insert(thread, Arc::downgrade(&feed));
        feed
    }

    /// Another node wrote to the thread.
    pub(super) fn written_elsewhere(&self, thread: ThreadKey) {
        let feed = lock(&self.feeds).by_thread.get(&thread).and_then(Weak::upgrade);
        if let Some(feed) = feed {
            feed.written_elsewhere();
        }
    }

    /// News may have been missed: everybody looks again.
    pub(super) fn resync(&self) {
        let feeds: Vec<_> =
            lock(&self.feeds).by_thread.values().filter_map(Weak::upgrade).collect();
        for feed in feeds {
            feed.written_elsewhere();
        }
    }
}

impl Feed {
    fn new() -> Self {
        Self {
            ring: Mutex::default(),
            events: watch::Sender::new(0),
            ends: watch::Sender::new(Ends::default()),
        }
    }

    /// Wakes its holder for every event from here on.
    pub fn watch_events(&self) -> watch::Receiver<u64> {
        self.events.subscribe()
    }

    /// Wakes its holder for every end of a run from here on, and when news came from elsewhere.
    pub fn watch_ends(&self) -> watch::Receiver<Ends> {
        self.ends.subscribe()
    }

    /// The number of the newest event that is shown here.
    pub fn newest(&self) -> Option<Seq> {
        let ring = lock(&self.ring);
        ring.events.back().map(|logged| logged.seq).or(ring.floor)
    }

    /// The events above `after`.
    pub fn read(&self, after: Seq) -> Read {
        let ring = lock(&self.ring);
        match ring.floor {
            None => Read::Stored,
            Some(floor) if after < floor => Read::Behind(floor),
            Some(_) => {
                let from = ring.events.partition_point(|logged| logged.seq <= after);
                Read::Live(ring.events.range(from..).cloned().collect())
            }
        }
    }

    /// The state at `checkpoint`, if that is where the newest run here started.
    pub fn base(&self, checkpoint: CheckpointId) -> Option<State> {
        let ring = lock(&self.ring);
        ring.base.as_ref().filter(|(at, _)| *at == checkpoint).map(|(_, state)| state.clone())
    }

    /// The end of `run`, if it ended here a short while ago.
    pub fn ended(&self, run: RunId) -> Option<Arc<EndedRun>> {
        lock(&self.ring).ended.iter().find(|ended| ended.run.id == run).cloned()
    }

    /// A run starts to write here; what came before it is in the stored log.
    pub(super) fn open(&self, first: Seq, kept: usize) {
        let mut ring = lock(&self.ring);
        ring.kept = kept;
        ring.events.clear();
        ring.floor = Some(first.saturating_sub(1));
        ring.committed = first.saturating_sub(1);
        ring.writing = true;
    }

    pub(super) fn publish(&self, logged: Arc<Logged>) {
        let mut ring = lock(&self.ring);
        ring.events.push_back(logged);
        ring.trim();
        drop(ring);
        self.wake_readers();
    }

    /// The run starts from here.
    pub(super) fn set_base(&self, checkpoint: CheckpointId, state: State) {
        lock(&self.ring).base = Some((checkpoint, state));
    }

    /// Everything up to `seq` is stored.
    pub(super) fn committed(&self, seq: Seq) {
        let mut ring = lock(&self.ring);
        ring.committed = ring.committed.max(seq);
        ring.trim();
    }

    /// The run's end is stored.
    pub(super) fn close(&self, ended: EndedRun) {
        let mut ring = lock(&self.ring);
        ring.writing = false;
        ring.ended.push_back(Arc::new(ended));
        if ring.ended.len() as u64 > Ends::KEPT {
            ring.ended.pop_front();
        }
        drop(ring);
        self.wake_readers();
        self.ends.send_modify(|ends| ends.here += 1);
    }

    /// The run is not this node's any more; its end will come from elsewhere.
    pub(super) fn abandon(&self) {
        lock(&self.ring).writing = false;
        self.written_elsewhere();
    }

    fn written_elsewhere(&self) {
        let mut ring = lock(&self.ring);
        if !ring.writing {
            ring.floor = None;
            ring.events.clear();
        }
        drop(ring);
        self.wake_readers();
        self.ends.send_modify(|ends| ends.elsewhere += 1);
    }

    fn wake_readers(&self) {
        self.events.send_modify(|version| *version += 1);
    }
}

impl Ring {
    /// Drops the oldest stored events beyond those to be kept.
    fn trim(&mut self) {
        while self.events.len() > self.kept {
            match self.events.front() {
                Some(oldest) if oldest.seq <= self.committed => {
                    self.floor = Some(oldest.seq);
                    self.events.pop_front();
                }
                Some(_) | None => return,
            }
        }
    }
}

/// The data behind these locks is whole at every moment, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
