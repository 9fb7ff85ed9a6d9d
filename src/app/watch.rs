//! Watching a thread: everything that happens on it, across its runs, for as long as it is there.
//!
//! Like [`crate::app::Follow`], but not of one run and without an end. A watcher comes in at a
//! place where nothing is open but a run, learns how things stand there ([`Opening`]), and then
//! sees every event once, in order: from the stored log as far as that is needed, then live.
//! All it holds is a cursor and what it has read but not handed out, so a slow one costs nothing.

mod arrival;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::app::follow::{From, events_of};
use crate::app::{App, Caller};
use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::event::{Logged, RunEvent, Seq};
use crate::domain::ids::{AgentId, CheckpointId, Namespace, RunId, ThreadId};
use crate::domain::interrupt::Interrupt;
use crate::domain::state::State;
use crate::domain::thread::Thread;
use crate::executor::{Feed, Read};

/// One thing that a watcher sees.
#[derive(Clone, Debug)]
pub enum Watched {
    /// How things stand where the watcher comes in; the first thing it sees.
    Opening(Box<Opening>),
    /// The state that the next checkpoint of this namespace is folded onto; `None` if it is no
    /// longer known. Only for watchers that fold.
    Base {
        namespace: Namespace,
        state: Option<State>,
    },
    Event(Arc<Logged>),
    /// Events are missing before the next one.
    Gap(Gap),
}

/// Events after `after` are no longer kept; the next one is at `first_available` (`None`: there
/// is none yet).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    pub after: Seq,
    pub first_available: Option<Seq>,
}

/// How a thread stands at a place of its log where nothing is open but a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Opening {
    /// The place: after the event of this number.
    pub seq: Seq,
    pub at: Ts,
    /// What it asked to come in after; a number that is not reached yet is taken for the newest.
    /// Events up to there are shown only to lead up to it.
    pub after: Option<Seq>,
    /// What the watcher asked for and cannot have.
    pub gap: Option<Gap>,
    /// The state of the root graph; `None` if it is not known, or the watcher does not fold.
    pub state: Option<State>,
    pub head: Option<CheckpointId>,
    /// The run that is under way, if its beginning lies before this place.
    pub running: Option<Running>,
    /// What is asked here.
    pub interrupts: Vec<Interrupt>,
}

/// A run under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    pub run_id: RunId,
    pub agent_id: AgentId,
}

/// How often to make sure that the thread is still there; news comes through signals.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Segments a query.
const SEGMENTS: u32 = 16;

/// A watcher of one thread. It does nothing unless it is asked.
pub struct Watch {
    app: App,
    who: Caller,
    thread: Thread,
    folds: bool,
    feed: Arc<Feed>,
    news: watch::Receiver<u64>,
    cursor: Seq,
    /// The newest event that was handed out.
    last: Option<Last>,
    /// The checkpoints up to which the watcher has folded.
    heads: HashMap<Namespace, Option<CheckpointId>>,
    unread: VecDeque<Arc<Logged>>,
    queue: VecDeque<Watched>,
}

/// The place of an event, as far as it says what comes next.
#[derive(Clone, Copy)]
struct Last {
    run: RunId,
    attempt: u32,
    seq: Seq,
}

impl App {
    /// Watches a thread: once this answers, nothing that happens is missed. `folds`: the watcher wants the states that checkpoints
    /// are folded onto.
    ///
    /// [`From::Now`] comes in where the thread's newest state was reached, so that what is open
    /// right now (a message that is being written, a tool at work) is seen from its beginning.
    pub async fn thread_watch(
        &self,
        who: &Caller,
        id: ThreadId,
        from: From,
        folds: bool,
    ) -> Result<Watch> {
        let thread = self.thread(who, id).await?;
        // The interest is registered before anything is read, so that nothing falls between.
        let feed = self.0.executor.feed(thread.key);
        let mut watch = Watch {
            app: self.clone(),
            who: who.clone(),
            thread,
            folds,
            news: feed.watch_events(),
            feed,
            cursor: 0,
            last: None,
            heads: HashMap::new(),
            unread: VecDeque::new(),
            queue: VecDeque::new(),
        };
        watch.come_in(from).await?;
        Ok(watch)
    }
}

impl Watch {
    /// The next thing; waits for it. `None`: the thread is gone.
    ///
    /// Dropping the future loses nothing: the next call goes on.
    pub async fn next(&mut self) -> Result<Option<Watched>> {
        loop {
            if let Some(watched) = self.ready().await? {
                return Ok(Some(watched));
            }
            if !self.wait().await? {
                return Ok(None);
            }
        }
    }

    /// Whether it tells the states that checkpoints are folded onto.
    pub fn folds(&self) -> bool {
        self.folds
    }

    /// From here on, tells the states that checkpoints are folded onto.
    pub fn fold(&mut self) {
        if !self.folds {
            self.folds = true;
            // None of them was told, so each is told before the next checkpoint.
            self.heads.clear();
        }
    }

    /// The next thing that has happened already. `None`: there is nothing yet.
    pub async fn ready(&mut self) -> Result<Option<Watched>> {
        loop {
            if let Some(watched) = self.queue.pop_front() {
                return Ok(Some(watched));
            }
            match self.unread.front().cloned() {
                Some(logged) => self.hand_out(logged).await?,
                None if self.read().await? => {}
                None => return Ok(None),
            }
        }
    }

    /// Waits for news. `false`: the thread is gone.
    async fn wait(&mut self) -> Result<bool> {
        if tokio::time::timeout(LOOK_AGAIN, self.news.changed()).await.is_ok() {
            return Ok(true);
        }
        Ok(self.app.0.store.thread_get(&self.who.owner, self.thread.id).await?.is_some())
    }

    /// Reads what is above the cursor. `false`: nothing is.
    async fn read(&mut self) -> Result<bool> {
        let found = match self.feed.read(self.cursor) {
            Read::Live(events) => events,
            Read::Behind(floor) => {
                let stored = self.stored().await?;
                if stored.is_empty() {
                    self.cursor = floor;
                    return Ok(true);
                }
                stored
            }
            Read::Stored => self.stored().await?,
        };
        let Some(newest) = found.last() else { return Ok(false) };
        let above = self.cursor;
        self.cursor = newest.seq;
        self.unread.extend(found.into_iter().filter(|logged| logged.seq > above));
        Ok(true)
    }

    async fn stored(&self) -> Result<Vec<Arc<Logged>>> {
        let segments = self.app.0.store.thread_log(self.thread.key, self.cursor, SEGMENTS).await?;
        Ok(segments.iter().flat_map(events_of).map(Arc::new).collect())
    }

    /// Queues the oldest unread event, and before it what the watcher must know first.
    async fn hand_out(&mut self, logged: Arc<Logged>) -> Result<()> {
        let namespace = logged.namespace.clone();
        let folded_onto = match &logged.event {
            RunEvent::AttemptStarted { checkpoint_id, .. } => Some(*checkpoint_id),
            RunEvent::CheckpointSaved { parent, .. } => Some(*parent),
            _ => None,
        };
        let unknown = folded_onto.filter(|onto| self.heads.get(&namespace) != Some(onto));
        let base = match unknown {
            Some(onto) if self.folds => Some(self.state_at(&namespace, onto).await?),
            Some(_) | None => None,
        };
        // Nothing is awaited from here on: a dropped future leaves all or nothing of it.
        self.unread.pop_front();
        if let Some(last) = self.last.filter(|last| !follows(*last, &logged)) {
            let first_available = Some(logged.seq);
            self.queue.push_back(Watched::Gap(Gap { after: last.seq, first_available }));
        }
        if let Some(state) = base {
            self.queue.push_back(Watched::Base { namespace, state });
        }
        self.note(&logged);
        self.queue.push_back(Watched::Event(logged));
        Ok(())
    }

    /// Keeps in mind how far the watcher has come.
    fn note(&mut self, logged: &Logged) {
        let Logged { seq, run_id, attempt, namespace, event, .. } = logged;
        self.last = Some(Last { run: *run_id, attempt: *attempt, seq: *seq });
        match event {
            RunEvent::AttemptStarted { checkpoint_id, .. } => {
                self.heads.clear();
                self.heads.insert(Namespace::root(), *checkpoint_id);
            }
            RunEvent::CheckpointSaved { checkpoint_id, .. } => {
                self.heads.insert(namespace.clone(), Some(*checkpoint_id));
            }
            RunEvent::GraphEnded { .. } => drop(self.heads.remove(namespace)),
            RunEvent::RunEnded { .. } => self.heads.retain(|namespace, _| namespace.is_root()),
            _ => {}
        }
    }

    async fn state_at(
        &self,
        namespace: &Namespace,
        at: Option<CheckpointId>,
    ) -> Result<Option<State>> {
        let Some(at) = at else { return Ok(Some(State::default())) };
        if namespace.is_root() {
            let hot = || self.app.0.executor.hot_snapshot(self.thread.key, at);
            let live = self.feed.base(at);
            if let Some(state) = live.or_else(|| hot().map(|snapshot| snapshot.state.clone())) {
                return Ok(Some(state));
            }
        }
        let found = self.app.0.store.snapshot(self.thread.key, namespace, Some(at)).await?;
        Ok(found.map(|snapshot| snapshot.state))
    }
}

/// Whether nothing is missing between the two. Numbers are consecutive within an attempt only.
fn follows(last: Last, next: &Logged) -> bool {
    if next.run_id == last.run && next.attempt == last.attempt {
        return next.seq == last.seq + 1;
    }
    is_beginning(next)
}

/// Whether this begins something: a run, another attempt of it, or a caller's change of the state.
fn is_beginning(logged: &Logged) -> bool {
    matches!(logged.event, RunEvent::AttemptStarted { .. }) || logged.run_id.0.is_nil()
}
