//! Following a run: its stored log, then what happens live, each event once.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use tokio::sync::watch;

use crate::app::{App, Caller};
use crate::domain::error::Result;
use crate::domain::event::{Logged, RunEvent, Seq};
use crate::domain::ids::{CheckpointId, Namespace, RunId, ThreadKey};
use crate::domain::run::{Run, RunStatus};
use crate::domain::state::State;
use crate::executor::port::Segment;
use crate::executor::{Feed, Read};

/// Where a follower comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// What happens after the call.
    Now,
    /// What came after this number; 0 is all.
    After(Seq),
}

/// One thing that a follower sees.
#[derive(Clone, Debug)]
pub enum Followed {
    /// The state that the events from here on are folded onto.
    Base(State),
    /// An event before the place where the follower came in: it is to know it, not to show it.
    Known(Arc<Logged>),
    Event(Arc<Logged>),
    /// Events after `after` are no longer kept; the next one is at `first_available` (`None`:
    /// nothing is).
    Gap {
        after: Seq,
        first_available: Option<Seq>,
    },
    /// The run is over; nothing follows. The run as it ended.
    End(Box<Run>),
}

/// A run with everything that happens in it. Ends after [`Followed::End`].
pub struct Follow {
    pub run: Run,
    pub events: Pin<Box<dyn Stream<Item = Result<Followed>> + Send>>,
}

impl App {
    /// Follows a run from `from` to its end.
    pub async fn run_follow(&self, who: &Caller, id: RunId, from: From) -> Result<Follow> {
        let run = self.run_get(who, id).await?;
        Ok(Follower::new(self.clone(), run, from).follow())
    }

    /// Follows a run that this node just claimed: its first event is the one after `before`.
    pub(super) fn follow_claimed(&self, run: Run, before: Seq) -> Follow {
        let follower = Follower::new(self.clone(), run, From::After(0));
        Follower { cursor: before, started: true, ..follower }.follow()
    }
}

/// Segments a query.
const SEGMENTS: u32 = 64;
/// How often to look at the stored log when no news comes; behind the signals, not instead.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

struct Follower {
    app: App,
    run: Run,
    from: From,
    /// `None` for a run whose thread is gone: only its stored log is left.
    live: Option<Live>,
    cursor: Seq,
    /// Events up to here are known, not shown. `None`: up to the newest that is stored.
    known_until: Option<Seq>,
    queue: VecDeque<Followed>,
    started: bool,
    ended: bool,
}

struct Live {
    feed: Arc<Feed>,
    news: watch::Receiver<u64>,
}

impl Follower {
    fn new(app: App, run: Run, from: From) -> Self {
        // The interest is registered before anything is read, so that nothing falls between.
        let live = run.thread_key.map(|thread| {
            let feed = app.0.executor.feed(thread);
            Live { news: feed.watch_events(), feed }
        });
        let known_until = match from {
            From::After(seq) => Some(seq),
            From::Now => live.as_ref().and_then(|live| live.feed.newest()),
        };
        let queue = VecDeque::new();
        Self { app, run, from, live, cursor: 0, known_until, queue, started: false, ended: false }
    }

    fn follow(self) -> Follow {
        let run = self.run.clone();
        let events = futures::stream::unfold(self, |mut follower| async move {
            let next = follower.next().await.transpose()?;
            Some((next, follower))
        });
        Follow { run, events: Box::pin(events) }
    }

    async fn next(&mut self) -> Result<Option<Followed>> {
        loop {
            if let Some(next) = self.queue.pop_front() {
                return Ok(Some(next));
            }
            if self.ended {
                return Ok(None);
            }
            if !self.started {
                self.start().await?;
                continue;
            }
            self.advance().await?;
        }
    }

    /// Comes in: what is there already is known or shown, as the caller asked.
    async fn start(&mut self) -> Result<()> {
        self.started = true;
        if self.run.status.is_over() && self.from == From::Now {
            return self.end().await;
        }
        let fresh = matches!(self.live.as_ref().map(|live| live.feed.read(0)), Some(Read::Live(_)));
        if fresh {
            return Ok(());
        }
        let mut stored = self.stored().await?;
        self.check_beginning(&stored).await?;
        while !stored.is_empty() && !self.ended {
            self.take(&stored).await?;
            stored = self.stored().await?;
        }
        // From here on everything is news.
        self.known_until = self.known_until.or(Some(self.cursor));
        Ok(())
    }

    /// If the log does not begin where the run did, says so, and gives the state to go on from.
    async fn check_beginning(&mut self, stored: &[Segment]) -> Result<()> {
        let Some(oldest) = stored.first() else {
            if let (Some(after), true) = (self.asked_after(), self.run.status.is_over()) {
                self.queue.push_back(Followed::Gap { after, first_available: None });
            }
            return Ok(());
        };
        if stored.iter().flat_map(events_of).next().is_some_and(|logged| is_beginning(&logged)) {
            return Ok(());
        }
        if let Some(after) = self.asked_after().filter(|after| after + 1 < oldest.first) {
            let first_available = Some(oldest.first);
            self.queue.push_back(Followed::Gap { after, first_available });
        }
        let newest = self.run.head.or(self.run.base);
        let base = self.state_at(first_parent(stored).unwrap_or(newest)).await?;
        self.queue.push_back(Followed::Base(base));
        Ok(())
    }

    /// The number after which everything was asked for, if the run has emitted anything.
    fn asked_after(&self) -> Option<Seq> {
        match self.from {
            From::After(seq) if self.run.attempt > 0 => Some(seq),
            From::After(_) | From::Now => None,
        }
    }

    /// Takes what is new, or waits for news.
    async fn advance(&mut self) -> Result<()> {
        let Some(live) = &self.live else { return self.advance_stored().await };
        match live.feed.read(self.cursor) {
            Read::Live(events) if events.is_empty() => {
                if live.feed.ended(self.run.id).is_some() {
                    return self.end().await;
                }
                self.wait().await;
                Ok(())
            }
            Read::Live(events) => self.take_events(events).await,
            Read::Behind(floor) => {
                let stored = self.stored().await?;
                if stored.is_empty() {
                    self.cursor = floor;
                    return Ok(());
                }
                self.take(&stored).await
            }
            Read::Stored => self.advance_stored().await,
        }
    }

    async fn advance_stored(&mut self) -> Result<()> {
        let stored = self.stored().await?;
        if !stored.is_empty() {
            return self.take(&stored).await;
        }
        match self.app.0.store.run_get(&self.run.owner, self.run.id).await? {
            // Rolled back, or deleted after its end.
            None => self.end().await,
            Some(run) if run.status.is_over() => {
                // What it wrote between the two reads is still to be shown.
                let stored = self.stored().await?;
                if stored.is_empty() { self.end().await } else { self.take(&stored).await }
            }
            Some(_) => {
                self.wait().await;
                Ok(())
            }
        }
    }

    async fn wait(&mut self) {
        match &mut self.live {
            // An error is a time-out or a closed feed: either way, look again.
            Some(live) => drop(tokio::time::timeout(LOOK_AGAIN, live.news.changed()).await),
            None => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }

    async fn stored(&self) -> Result<Vec<Segment>> {
        self.app.0.store.run_log(self.run.id, self.cursor, SEGMENTS).await
    }

    async fn take(&mut self, stored: &[Segment]) -> Result<()> {
        self.take_events(stored.iter().flat_map(events_of).map(Arc::new).collect()).await
    }

    /// Queues the events of this run that are above the cursor.
    async fn take_events(&mut self, events: Vec<Arc<Logged>>) -> Result<()> {
        for logged in events {
            if logged.seq <= self.cursor {
                continue;
            }
            self.cursor = logged.seq;
            if logged.run_id != self.run.id {
                continue;
            }
            if let RunEvent::AttemptStarted { checkpoint_id, .. } = &logged.event {
                self.run.attempt = logged.attempt;
                let base = self.state_at(*checkpoint_id).await?;
                self.queue.push_back(Followed::Base(base));
            }
            let is_end = logged.event.is_end();
            let is_news = self.known_until.is_some_and(|known| logged.seq > known);
            self.queue.push_back(if is_news {
                Followed::Event(logged)
            } else {
                Followed::Known(logged)
            });
            if is_end {
                return self.end().await;
            }
        }
        Ok(())
    }

    async fn state_at(&self, checkpoint: Option<CheckpointId>) -> Result<State> {
        let (Some(thread), Some(checkpoint)) = (self.run.thread_key, checkpoint) else {
            return Ok(State::default());
        };
        match self.live.as_ref().and_then(|live| live.feed.base(checkpoint)) {
            Some(state) => Ok(state),
            None => self.app.state_at(thread, checkpoint).await,
        }
    }

    /// The run is over: tells how, and that nothing follows.
    async fn end(&mut self) -> Result<()> {
        self.ended = true;
        let here = self.live.as_ref().and_then(|live| live.feed.ended(self.run.id));
        let run = match here {
            Some(ended) => ended.run.clone(),
            None => match self.app.0.store.run_get(&self.run.owner, self.run.id).await? {
                Some(run) => run,
                None => Run { status: RunStatus::Cancelled, ..self.run.clone() },
            },
        };
        self.queue.push_back(Followed::End(Box::new(run)));
        Ok(())
    }
}

/// Whether this is a run's very first event.
fn is_beginning(logged: &Logged) -> bool {
    logged.attempt == 1 && matches!(logged.event, RunEvent::AttemptStarted { .. })
}

/// The checkpoint before the first one that the segments tell of.
#[expect(clippy::option_option, reason = "no checkpoint told of, or one without a parent")]
fn first_parent(stored: &[Segment]) -> Option<Option<CheckpointId>> {
    stored.iter().flat_map(events_of).find_map(|logged| match logged.event {
        RunEvent::CheckpointSaved { parent, .. } if logged.namespace.is_root() => Some(parent),
        _ => None,
    })
}

/// The events of a stored segment. A line that cannot be read was written by a newer release.
pub(super) fn events_of(segment: &Segment) -> impl Iterator<Item = Logged> {
    segment.lines.lines().filter_map(|line| {
        serde_json::from_str(line)
            .inspect_err(|error| tracing::warn!(error = %error, "an event could not be read"))
            .ok()
    })
}

impl App {
    /// The state at a checkpoint of the root graph; empty if it is no longer there.
    pub(super) async fn state_at(&self, thread: ThreadKey, at: CheckpointId) -> Result<State> {
        if let Some(hot) = self.0.executor.hot_snapshot(thread, at) {
            return Ok(hot.state.clone());
        }
        let found = self.0.store.snapshot(thread, &Namespace::root(), Some(at)).await?;
        Ok(found.map(|snapshot| snapshot.state).unwrap_or_default())
    }
}
