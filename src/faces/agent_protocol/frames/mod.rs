//! A run as a stream shows it: the run's log, event by event, in the modes that were asked for.
//!
//! Pure: what a client sees depends on the log, where it came in and nothing else, so that a
//! stream that is cut and resumed shows each frame once.

mod cursor;
mod data;
mod messages;

use std::collections::HashMap;

use serde::Serialize;

pub(super) use cursor::{Cursor, Slot};
use data::{End, Failure, Gap, Metadata, Pause, Update, Values};
use messages::Messages;

use super::wire::{RunStatus, StreamMode};
use crate::app::{Follow, Followed};
use crate::domain::error::Error;
use crate::domain::event::{Logged, RunEvent, Seq};
use crate::domain::ids::{Namespace, RunId, ThreadId};
use crate::domain::run::Run;
use crate::domain::state::State;
use crate::http::{Frames, Out};

/// The frames of one run for one client.
pub(super) struct RunFrames {
    run_id: RunId,
    thread_id: ThreadId,
    tags: Vec<String>,
    modes: Vec<StreamMode>,
    subgraphs: bool,
    /// What the client has already.
    after: Option<Cursor>,
    /// Whether the client knows which run and attempt it watches.
    greeted: bool,
    attempt: u32,
    /// The last event that was seen.
    last: Seq,
    states: HashMap<Namespace, State>,
    messages: Messages,
}

impl RunFrames {
    /// `modes` overrides those of the run; `after` is the last frame that the client has.
    pub(super) fn new(
        follow: &Follow,
        modes: Option<Vec<StreamMode>>,
        after: Option<Cursor>,
    ) -> Self {
        let Run { id, thread_id, spec, attempt, .. } = &follow.run;
        Self {
            run_id: *id,
            thread_id: *thread_id,
            tags: spec.config.tags.clone(),
            modes: modes.unwrap_or_else(|| StreamMode::of_run(&spec.stream_modes)),
            subgraphs: spec.stream_subgraphs,
            after,
            greeted: after.is_some_and(|after| after > Cursor::START),
            attempt: *attempt,
            last: 0,
            states: HashMap::new(),
            messages: Messages::default(),
        }
    }

    fn wants(&self, mode: StreamMode) -> bool {
        self.modes.contains(&mode)
    }

    /// Takes note of the event and sends what it shows.
    fn see(&mut self, logged: &Logged, sink: &mut Sink<'_>) {
        self.last = logged.seq;
        self.attempt = logged.attempt;
        let namespace = &logged.namespace;
        if !namespace.is_root() && !self.subgraphs {
            return;
        }
        match &logged.event {
            RunEvent::AttemptStarted { .. } => {
                self.messages.begin_attempt();
                self.greeted = true;
                sink.send(Slot::Metadata, "metadata", &self.metadata());
            }
            RunEvent::CheckpointSaved { changes, .. } if self.wants(StreamMode::Values) => {
                let state = self.states.entry(namespace.clone()).or_default();
                for change in changes {
                    state.apply(change);
                }
                sink.mode(StreamMode::Values, namespace, &Values { state, asked: &[] });
            }
            RunEvent::TaskFinished { node, update, .. } if self.wants(StreamMode::Updates) => {
                sink.mode(StreamMode::Updates, namespace, &Update { node, update });
            }
            RunEvent::Custom { payload, .. } if self.wants(StreamMode::Custom) => {
                sink.mode(StreamMode::Custom, namespace, payload);
            }
            RunEvent::Interrupted { interrupts } => {
                if self.wants(StreamMode::Updates) {
                    sink.mode(StreamMode::Updates, namespace, &Pause(interrupts));
                }
                if self.wants(StreamMode::Values) {
                    let state = self.states.entry(namespace.clone()).or_default();
                    sink.mode(StreamMode::Values, namespace, &Values { state, asked: interrupts });
                }
            }
            _ if self.wants(StreamMode::Messages) => {
                let run = messages::Watched {
                    run_id: self.run_id,
                    thread_id: self.thread_id,
                    tags: &self.tags,
                };
                if let Some(pair) = self.messages.piece(logged, &run) {
                    sink.mode(StreamMode::Messages, namespace, &pair);
                }
            }
            _ => {}
        }
    }

    /// Says which run this is to a client that came in between.
    fn greet(&mut self, out: &mut Out) {
        if !self.greeted {
            self.greeted = true;
            out.frame(self.here(), Some("metadata"), &self.metadata());
        }
    }

    fn metadata(&self) -> Metadata {
        Metadata { run_id: self.run_id, thread_id: self.thread_id, attempt: self.attempt }
    }

    /// A place after all that was seen, and not before what the client has.
    fn here(&self) -> Cursor {
        let seen = match self.last {
            0 => Cursor::START,
            last => Cursor::of(last, Slot::End),
        };
        seen.max(self.after.unwrap_or_default())
    }

    fn end(&mut self, run: &Run, out: &mut Out) {
        self.greet(out);
        if let Some(error) = &run.error {
            let mut sink = Sink { out: Some(out), seq: self.last, after: self.after };
            let failure = Failure { code: &error.code, message: &error.message };
            sink.send(Slot::Error, "error", &failure);
        }
        let status = RunStatus::from(run.status);
        let nothing_seen = self.last == 0 && self.after.is_none();
        let id = if nothing_seen { Cursor::PAST } else { self.here() };
        out.frame(id, Some("end"), &End { run_id: self.run_id, status });
    }
}

impl Frames for RunFrames {
    fn feed(&mut self, followed: &Followed, out: &mut Out) {
        match followed {
            Followed::Known(logged) => {
                self.see(logged, &mut Sink { out: None, seq: logged.seq, after: self.after });
                // It came before the client did, so the client was not told.
                self.greeted = self.after.is_some_and(|after| after > Cursor::START);
            }
            Followed::Event(logged) => {
                if !matches!(logged.event, RunEvent::AttemptStarted { .. }) {
                    self.greet(out);
                }
                self.see(logged, &mut Sink { out: Some(out), seq: logged.seq, after: self.after });
            }
            Followed::Base(state) => {
                self.states.insert(Namespace::root(), state.clone());
            }
            Followed::Gap { first_available, .. } => {
                self.messages.begin_attempt();
                self.states.clear();
                self.last = first_available.map_or(self.last, |first| first.saturating_sub(1));
                let first_available =
                    first_available.map(|first| Cursor::of(first, Slot::Metadata));
                let gap = Gap { after: self.after.unwrap_or_default(), first_available };
                out.frame(self.here(), Some("gap"), &gap);
            }
            Followed::End(run) => self.end(run, out),
        }
    }

    fn broken(&mut self, error: &Error, out: &mut Out) {
        let failure = Failure { code: error.code, message: error.public() };
        out.frame(self.here(), Some("error"), &failure);
    }
}

/// Where the frames of one event go: nowhere if the client is not to see them, or has them.
struct Sink<'a> {
    out: Option<&'a mut Out>,
    seq: Seq,
    after: Option<Cursor>,
}

impl Sink<'_> {
    fn send(&mut self, slot: Slot, event: &str, data: &impl Serialize) {
        let id = Cursor::of(self.seq, slot);
        if let Some(out) = &mut self.out
            && self.after.is_none_or(|after| id > after)
        {
            out.frame(id, Some(event), data);
        }
    }

    /// Sends a frame of `mode`; those of nested graphs carry where they come from.
    fn mode(&mut self, mode: StreamMode, namespace: &Namespace, data: &impl Serialize) {
        let slot = match mode {
            StreamMode::Updates => Slot::Updates,
            StreamMode::Messages => Slot::Messages,
            StreamMode::Custom => Slot::Custom,
            StreamMode::Values => Slot::Values,
        };
        if namespace.is_root() {
            self.send(slot, mode.as_str(), data);
        } else {
            self.send(slot, &format!("{}|{}", mode.as_str(), namespace.joined()), data);
        }
    }
}

#[cfg(test)]
mod tests;
