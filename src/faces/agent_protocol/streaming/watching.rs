//! A watcher with the frames that it makes and how far they have come.

use std::collections::VecDeque;

use super::commands::On;
use super::frames::Frames;
use super::session::Said;
use super::subscription::Subscription;
use super::wire::Number;
use crate::app::{From, Watch, Watched};
use crate::domain::error::Result;
use crate::domain::event::Seq;

/// All that a connection needs to tell what happens.
pub struct Watching {
    pub watch: Watch,
    frames: Frames,
    /// Everything up to here was made, whoever took it.
    pub position: Number,
    /// The newest entry of the log that was seen since it came in.
    pub seen: Option<Seq>,
}

impl Watching {
    pub async fn open(on: &On, from: From, folds: bool) -> Result<Self> {
        let watch = on.app.thread_watch(&on.who, on.thread, from, folds).await?;
        Ok(Self { watch, frames: Frames::default(), position: Number::default(), seen: None })
    }

    /// Tells what any of the subscriptions takes of it.
    pub fn show<'a>(
        &mut self,
        watched: &Watched,
        subscriptions: impl Iterator<Item = &'a mut Subscription>,
        said: &mut VecDeque<Said>,
    ) {
        let subscriptions: Vec<&Subscription> = subscriptions
            .map(|subscription| {
                subscription.notice(watched);
                &*subscription
            })
            .collect();
        let mut made = Vec::new();
        self.frames.feed(watched, &mut made);
        match watched {
            Watched::Opening(opening) => self.position = Number::end_of(opening.seq),
            Watched::Event(logged) => self.seen = Some(logged.seq),
            Watched::Base { .. } | Watched::Gap(_) => {}
        }
        for event in made {
            self.position = self.position.max(event.number);
            if subscriptions.iter().any(|subscription| subscription.takes(&event)) {
                said.push_back(Said::Event(Box::new(event)));
            }
        }
    }
}
