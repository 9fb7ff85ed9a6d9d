//! Where a watcher comes in.
//!
//! Between two steps of the root graph no message, tool or nested graph is open. A watcher that
//! comes in at such a place needs only the state and the run there; one that asks for a place
//! within a step is led up to it from the last such place before.

use std::sync::Arc;

use super::{Gap, Last, Opening, Running, SEGMENTS, Watch, Watched, events_of, is_beginning};
use crate::app::follow::From;
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::event::{Logged, RunEvent, Seq};
use crate::domain::ids::{CheckpointId, Namespace};
use crate::domain::run::{Run, RunStatus};
use crate::domain::state::State;
use crate::domain::thread::Thread;
use crate::executor::Read;
use crate::executor::port::Claim;

/// Which checkpoint a place stands at.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Head {
    #[default]
    Unknown,
    /// `None`: before the first.
    At(Option<CheckpointId>),
}

/// A place to come in at, and the way from there.
#[derive(Default)]
struct Arrival {
    seq: Seq,
    at: Ts,
    after: Option<Seq>,
    gap: Option<Gap>,
    /// The event at the place.
    last: Option<Last>,
    /// `None`: not known, or not wanted.
    state: Option<State>,
    /// The checkpoint of the state there, if that is known.
    head: Head,
    running: Option<Running>,
    /// The thread, if nothing follows the place.
    newest: Option<Thread>,
    /// What follows and was read on the way.
    events: Vec<Arc<Logged>>,
}

impl Watch {
    pub(super) async fn come_in(&mut self, from: From) -> Result<()> {
        let arrival = match from {
            From::Now => self.arrive_now().await?,
            From::After(seq) => self.arrive_after(seq).await?,
        };
        let Arrival { seq, at, after, gap, last, state, head, running, newest, events } = arrival;
        self.cursor = events.last().map_or(seq, |newest| newest.seq);
        self.last = last;
        let head = match head {
            Head::Unknown => None,
            Head::At(head) => {
                self.heads.insert(Namespace::root(), head);
                head
            }
        };
        self.unread.extend(events);
        self.queue.push_back(Watched::Opening(Box::new(Opening {
            seq,
            at,
            after,
            gap,
            state,
            head,
            running,
            interrupts: newest.map(|thread| thread.interrupts).unwrap_or_default(),
        })));
        Ok(())
    }

    /// Where the newest state was reached.
    async fn arrive_now(&self) -> Result<Arrival> {
        let store = &self.app.0.store;
        loop {
            let seq = store.thread_seq(self.thread.key).await?;
            let thread = self.thread_now().await?;
            let unfinished = store.run_unfinished(self.thread.key).await?;
            // Read before and after, so that the number is that of the thread and its runs.
            if store.thread_seq(self.thread.key).await? != seq {
                continue;
            }
            let running = unfinished.into_iter().find(|run| run.status == RunStatus::Running);
            let Some(run) = running else { return self.arrive_last(seq, thread).await };
            match self.walk(&run, Seq::MAX).await? {
                Some(arrival) if arrival.head != Head::Unknown => return Ok(arrival),
                Some(arrival) => {
                    // Its log was cut within a step that is still going on.
                    let state = self.wanted_state(thread.head).await?;
                    return Ok(Arrival { state, head: Head::At(thread.head), ..arrival });
                }
                None => {
                    // Its numbers begin where the room that was made for it does.
                    let seq = seq.saturating_sub(Claim::SEQ_ROOM);
                    let arrival = self.arrive_last(seq, thread).await?;
                    return Ok(Arrival { newest: None, ..arrival });
                }
            }
        }
    }

    /// After the event `seq`, which the watcher may have seen, or after the number that a
    /// watcher who came in while nothing ran was given.
    async fn arrive_after(&self, seq: Seq) -> Result<Arrival> {
        let ceiling = self.app.0.store.thread_seq(self.thread.key).await?;
        // A number that was never handed out: there is nothing after it yet.
        let after = seq.min(ceiling);
        let arrival = self.arrive_at_or_after(after, ceiling).await?;
        Ok(Arrival { after: Some(after), ..arrival })
    }

    async fn arrive_at_or_after(&self, seq: Seq, ceiling: Seq) -> Result<Arrival> {
        let Some(found) = self.first_from(seq).await? else {
            let thread = self.thread_now().await?;
            let gap = (seq < ceiling).then_some(Gap { after: seq, first_available: None });
            return Ok(Arrival { gap, ..self.arrive_last(ceiling, thread).await? });
        };
        if found.seq == seq {
            return self.arrive_at(&found).await;
        }
        // What a lost attempt had shown last is nowhere: the next attempt takes its place.
        let is_next = is_beginning(&found) && (found.seq == seq + 1 || found.attempt > 1);
        let gap = Gap { after: seq, first_available: Some(found.seq) };
        let gap = (!is_next).then_some(gap);
        Ok(Arrival { seq: found.seq.saturating_sub(1), at: found.at, gap, ..Arrival::default() })
    }

    /// Where nothing follows.
    async fn arrive_last(&self, seq: Seq, thread: Thread) -> Result<Arrival> {
        let state = self.wanted_state(thread.head).await?;
        let (at, head) = (thread.updated_at, Head::At(thread.head));
        Ok(Arrival { seq, at, state, head, newest: Some(thread), ..Arrival::default() })
    }

    /// After an event that is kept: led up to it from the last place where nothing was open.
    async fn arrive_at(&self, event: &Logged) -> Result<Arrival> {
        let last = Last { run: event.run_id, attempt: event.attempt, seq: event.seq };
        let (seq, at) = (event.seq, event.at);
        let there = Arrival { seq, at, last: Some(last), ..Arrival::default() };
        if event.event.is_end() || event.run_id.0.is_nil() {
            return Ok(there);
        }
        let Some(run) = self.app.0.store.run_get(&self.who.owner, event.run_id).await? else {
            return Ok(there);
        };
        Ok(self.walk(&run, event.seq).await?.unwrap_or(there))
    }

    /// Walks the log of `run` up to the event `upto` and arrives at the last place on the way
    /// where nothing but the run is open. `None`: it has told nothing yet.
    async fn walk(&self, run: &Run, upto: Seq) -> Result<Option<Arrival>> {
        let mut arrival: Option<Arrival> = None;
        let mut read = 0;
        loop {
            let segments = self.app.0.store.run_log(run.id, read, SEGMENTS).await?;
            let Some(newest) = segments.last() else { break };
            read = newest.last;
            for logged in segments.iter().flat_map(events_of) {
                if logged.seq > upto {
                    return Ok(arrival);
                }
                arrival = Some(self.step(run, arrival, Arc::new(logged)).await?);
            }
        }
        for logged in self.live() {
            if logged.run_id != run.id || logged.seq <= read {
                continue;
            }
            let follows = logged.seq == read + 1 || is_beginning(&logged);
            let unknown = arrival.as_ref().is_some_and(|arrival| arrival.state.is_none());
            // What is not stored yet can be folded, but not looked up.
            if logged.seq > upto || !follows || (unknown && self.folds) {
                break;
            }
            read = logged.seq;
            arrival = Some(self.step(run, arrival, logged).await?);
        }
        Ok(arrival)
    }

    /// One event further.
    async fn step(
        &self,
        run: &Run,
        so_far: Option<Arrival>,
        logged: Arc<Logged>,
    ) -> Result<Arrival> {
        let before = logged.seq.saturating_sub(1);
        let mut so_far =
            so_far.unwrap_or_else(|| Arrival { seq: before, at: logged.at, ..Arrival::default() });
        match &logged.event {
            RunEvent::AttemptStarted { checkpoint_id, .. } => {
                let (seq, at, head) = (before, logged.at, Head::At(*checkpoint_id));
                let state = self.wanted_state(*checkpoint_id).await?;
                let events = vec![logged];
                return Ok(Arrival { seq, at, state, head, events, ..Arrival::default() });
            }
            RunEvent::CheckpointSaved { checkpoint_id, changes, .. }
                if logged.namespace.is_root() =>
            {
                so_far.state = match so_far.state {
                    Some(mut state) => {
                        for change in changes {
                            state.apply(change);
                        }
                        Some(state)
                    }
                    None => self.wanted_state(Some(*checkpoint_id)).await?,
                };
                (so_far.seq, so_far.at) = (logged.seq, logged.at);
                so_far.head = Head::At(Some(*checkpoint_id));
                so_far.last = Some(Last { run: run.id, attempt: logged.attempt, seq: logged.seq });
                so_far.running = Some(Running { run_id: run.id, agent_id: run.agent_id.clone() });
                so_far.events.clear();
            }
            _ => so_far.events.push(logged),
        }
        Ok(so_far)
    }

    async fn wanted_state(&self, at: Option<CheckpointId>) -> Result<Option<State>> {
        if self.folds { self.state_at(&Namespace::root(), at).await } else { Ok(None) }
    }

    /// The first event that is numbered `seq` or above, stored or live.
    async fn first_from(&self, seq: Seq) -> Result<Option<Logged>> {
        let before = seq.saturating_sub(1);
        let segments = self.app.0.store.thread_log(self.thread.key, before, 1).await?;
        let mut stored = segments.iter().flat_map(events_of);
        if let Some(logged) = stored.find(|logged| logged.seq >= seq) {
            return Ok(Some(logged));
        }
        let live = self.live().into_iter().find(|logged| logged.seq >= seq);
        Ok(live.map(|logged| (*logged).clone()))
    }

    /// What this node holds in memory.
    fn live(&self) -> Vec<Arc<Logged>> {
        let read = match self.feed.read(0) {
            Read::Behind(floor) => self.feed.read(floor),
            read @ (Read::Live(_) | Read::Stored) => read,
        };
        match read {
            Read::Live(events) => events,
            Read::Behind(_) | Read::Stored => Vec::new(),
        }
    }

    async fn thread_now(&self) -> Result<Thread> {
        let found = self.app.0.store.thread_get(&self.who.owner, self.thread.id).await?;
        found.ok_or_else(|| {
            let public = format!("thread {} is gone", self.thread.id);
            Error::not_found("thread_not_found", public)
        })
    }
}
