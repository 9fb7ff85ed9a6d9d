//! A WebSocket's subscriptions: one watcher for all of them, each event told once.
//!
//! A subscription that joins the others is brought to where they are by a watcher of its own; from
//! there on the one watcher serves all.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::commands::{self, On, Outcome, written};
use super::error::Refusal;
use super::filter::Filter;
use super::subscription::{Subscription, event_id};
use super::watching::Watching;
use super::wire::{
    Envelope, ErrorCode, Event, Number, ReconnectParams, ReconnectResult, Reply, SubscribeParams,
    SubscribeResult, UnsubscribeParams,
};
use crate::app::{From, Watched};
use crate::domain::error::{Fault, Result};

/// What a reconnecting client missed is told with the reply up to this many events, and then as
/// it reads.
const AT_ONCE: usize = 4096;

/// What is said over a connection.
#[derive(serde::Serialize)]
#[serde(untagged)]
pub enum Said {
    Event(Box<Event>),
    Reply(Box<Reply>),
}

/// One connection.
pub struct Session {
    on: On,
    subscriptions: Vec<(String, Subscription)>,
    /// How many were ever made.
    drawn: u32,
    /// `None` until something is subscribed to.
    watching: Option<Watching>,
}

impl Session {
    pub fn new(on: On) -> Self {
        Self { on, subscriptions: Vec::new(), drawn: 0, watching: None }
    }

    /// Waits for the next thing that happens. `None`: the thread is gone. Dropping the future
    /// loses nothing.
    pub async fn next(&mut self) -> Result<Option<Watched>> {
        match &mut self.watching {
            Some(watching) => watching.watch.next().await,
            None => std::future::pending().await,
        }
    }

    /// Puts in words what happened, and what else has happened already until there are `enough`
    /// words.
    pub async fn tell(
        &mut self,
        first: Watched,
        said: &mut VecDeque<Said>,
        enough: usize,
    ) -> Result<()> {
        let mut next = Some(first);
        while let (Some(watching), Some(watched)) = (&mut self.watching, next) {
            let subscriptions = self.subscriptions.iter_mut().map(|(_, one)| one);
            watching.show(&watched, subscriptions, said);
            next = if said.len() < enough { watching.watch.ready().await? } else { None };
        }
        Ok(())
    }

    /// Carries out a command. Its reply comes before the events that it brings about.
    pub async fn obey(&mut self, command: Result<Value>, said: &mut VecDeque<Said>) {
        let envelope = match command {
            Ok(message) => Envelope::read(message),
            Err(unreadable) => Err((None, unreadable)),
        };
        let envelope = match envelope {
            Ok(envelope) => envelope,
            Err((id, error)) => {
                let reply = commands::failure(id, &error.into());
                return said.push_back(Said::Reply(Box::new(reply)));
            }
        };
        let mut events = VecDeque::new();
        let reply = match envelope.method.as_str() {
            "subscription.subscribe" | "subscription.unsubscribe" | "subscription.reconnect" => {
                self.subscriptions(envelope, &mut events).await
            }
            _ => {
                let applied = self.watching.as_ref().map(|watching| watching.position);
                self.on.answer(envelope, applied).await
            }
        };
        let reply = reply.unwrap_or_else(|(id, refusal)| refused(id, &refusal));
        said.push_back(Said::Reply(Box::new(reply)));
        said.extend(events);
    }

    async fn subscriptions(
        &mut self,
        envelope: Envelope,
        events: &mut VecDeque<Said>,
    ) -> Result<Reply, (u64, Refusal)> {
        let Envelope { id, method, params } = envelope;
        let outcome = match method.as_str() {
            "subscription.subscribe" => self.subscribe(params, events).await,
            "subscription.reconnect" => self.reconnect(params, events).await,
            _ => self.unsubscribe(params),
        };
        let applied =
            self.watching.as_ref().map_or(Number::default(), |watching| watching.position);
        let result = outcome.map_err(|refusal| (id, refusal))?;
        Ok(commands::success(id, result, applied))
    }

    async fn subscribe(&mut self, params: Value, events: &mut VecDeque<Said>) -> Outcome {
        let params: SubscribeParams = commands::read(params)?;
        let subscription = Subscription::new(Filter::read(params)?, None);
        self.drawn += 1;
        let id = subscription.id(self.drawn);
        self.join(vec![(id.clone(), subscription)], events).await?;
        written(&SubscribeResult { subscription_id: id, replayed_events: events.len() })
    }

    fn unsubscribe(&mut self, params: Value) -> Outcome {
        let UnsubscribeParams { subscription_id: id } = commands::read(params)?;
        let there = self.subscriptions.len();
        self.subscriptions.retain(|(other, _)| *other != id);
        if self.subscriptions.len() == there {
            let why = format!("there is no subscription {id} on this connection");
            return Err(Refusal::new(ErrorCode::NoSuchSubscription, why));
        }
        if self.subscriptions.is_empty() {
            self.watching = None;
        }
        Ok(json!({}))
    }

    /// Restores subscriptions of a connection that broke, and tells what was missed.
    async fn reconnect(&mut self, params: Value, events: &mut VecDeque<Said>) -> Outcome {
        let params: ReconnectParams = commands::read(params)?;
        let run = commands::run_id(&params.run_id)?;
        let tree = self.on.app.thread_tree(&self.on.who, self.on.thread, Some(run)).await?;
        let last = params.last_event_id.as_deref();
        let last = last.map(|text| event_id("params.lastEventId", text)).transpose()?;
        let mut restored = true;
        let mut joining = Vec::new();
        for id in params.subscriptions.unwrap_or_default() {
            match Subscription::restored(&id) {
                _ if self.subscriptions.iter().any(|(other, _)| *other == id) => {}
                Some(filter) => joining.push((id, Subscription::new(filter, None))),
                None => restored = false,
            }
        }
        match last {
            Some(last) => restored &= self.go_back(joining, last, events).await?,
            None => self.join(joining, events).await?,
        }
        written(&ReconnectResult {
            restored,
            missed_events: events.len(),
            current_namespaces: commands::statuses(&tree),
        })
    }

    /// Adds subscriptions, from how things stand on.
    async fn join(
        &mut self,
        mut joining: Vec<(String, Subscription)>,
        events: &mut VecDeque<Said>,
    ) -> Result<()> {
        if joining.is_empty() {
            return Ok(());
        }
        let folds = joining.iter().any(|(_, one)| one.filter().folds());
        let mut fresh = Watching::open(&self.on, From::Now, folds).await?;
        let others = self.watching.as_ref().map_or(Number::default(), |others| others.position);
        loop {
            let watched = match fresh.watch.ready().await? {
                Some(watched) => Some(watched),
                // What the others have seen is there to be seen.
                None if fresh.position < others => fresh.watch.next().await?,
                None => None,
            };
            let Some(watched) = watched else { break };
            fresh.show(&watched, joining.iter_mut().map(|(_, one)| one), events);
        }
        for (_, subscription) in &mut joining {
            subscription.has(fresh.position);
        }
        self.go_on_with(fresh, folds, events).await?;
        self.subscriptions.extend(joining);
        Ok(())
    }

    /// Lets one watcher serve all from here on: the one that is there, unless states are wanted
    /// that only the fresh one knows. Then the others are brought to where that one is.
    async fn go_on_with(
        &mut self,
        fresh: Watching,
        folds: bool,
        events: &mut VecDeque<Said>,
    ) -> Result<()> {
        match (&mut self.watching, fresh.seen) {
            (Some(old), _) if old.watch.folds() || !folds => return Ok(()),
            // Nothing is under way: every state is stored.
            (Some(old), None) => {
                old.watch.fold();
                return Ok(());
            }
            (Some(old), Some(seen)) => {
                while old.seen < Some(seen) {
                    let Some(watched) = old.watch.next().await? else { break };
                    old.show(&watched, self.subscriptions.iter_mut().map(|(_, one)| one), events);
                }
            }
            (None, _) => {}
        }
        self.watching = Some(fresh);
        Ok(())
    }

    /// Adds subscriptions and sends all of them back to `last`: what the client lost after it is
    /// told again. Answers whether nothing is missing.
    async fn go_back(
        &mut self,
        joining: Vec<(String, Subscription)>,
        last: Number,
        events: &mut VecDeque<Said>,
    ) -> Result<bool> {
        let all = || self.subscriptions.iter().chain(&joining);
        let folds = all().any(|(_, one)| one.filter().folds());
        let mut watching = Watching::open(&self.on, From::After(last.entry()), folds).await?;
        let opening = watching.watch.ready().await?;
        self.subscriptions.extend(joining);
        for (_, subscription) in &mut self.subscriptions {
            *subscription = Subscription::new(subscription.filter().clone(), Some(last));
        }
        self.watching = Some(watching);
        let Some(opening) = opening else { return Ok(true) };
        let is_complete = !matches!(&opening, Watched::Opening(at) if at.gap.is_some());
        self.tell(opening, events, AT_ONCE).await?;
        Ok(is_complete)
    }
}

fn refused(id: u64, refusal: &Refusal) -> Reply {
    if refusal.error.fault == Fault::Internal {
        tracing::error!(error.code = refusal.error.code, "a command failed: {:?}", refusal.error);
    }
    commands::failure(Some(id), refusal)
}
