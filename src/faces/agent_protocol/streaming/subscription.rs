//! One subscription: what it takes, and from where on.

use super::filter::Filter;
use super::wire::{Event, Number, SubscribeParams};
use crate::app::{From, Watched};
use crate::domain::error::{Error, Result};

/// A filter, and the place from which it applies.
#[derive(Clone, Debug)]
pub struct Subscription {
    filter: Filter,
    /// The last event that the client has. `None`: it begins with how things stand.
    after: Option<Number>,
}

impl Subscription {
    /// Events after `after`; without one, how things stand and what happens from there on.
    pub fn new(filter: Filter, after: Option<Number>) -> Self {
        Self { filter, after }
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Where to come in to see what it takes. One entry of the log gives several events, and
    /// the client may have only some of those of the last.
    pub fn from(&self) -> From {
        match self.after {
            None => From::Now,
            Some(after) if after.is_standing() => From::After(after.entry()),
            Some(after) => From::After(after.entry().saturating_sub(1)),
        }
    }

    /// The client has everything up to `number`.
    pub fn has(&mut self, number: Number) {
        self.after = self.after.max(Some(number));
    }

    /// Takes notice of where a watcher came in: a client that misses events is told how things
    /// stand instead, and one that is ahead of the log is not.
    pub fn notice(&mut self, watched: &Watched) {
        let Watched::Opening(opening) = watched else { return };
        if opening.gap.is_some() {
            self.after = None;
        }
        if let (Some(after), From::After(asked)) = (opening.after, self.from())
            && after < asked
        {
            self.after = Some(Number::end_of(after));
        }
    }

    pub fn takes(&self, event: &Event) -> bool {
        let is_due = match self.after {
            None => true,
            // How things stand is told to whoever comes in there, not to whoever was there.
            Some(after) if event.number.is_standing() && !after.is_standing() => {
                matches!(event.data, super::wire::Data::ResumeGap(_)) && event.number > after
            }
            Some(after) => event.number > after,
        };
        is_due && self.filter.takes(event)
    }

    /// The id by which a client names it: whoever gets it can restore the subscription, on another
    /// connection or server too. `ordinal` tells those of one connection apart.
    pub fn id(&self, ordinal: u32) -> String {
        let asked = serde_json::to_string(self.filter.params()).unwrap_or_default();
        format!("{ordinal}-{}", hex::encode(asked))
    }

    /// The filter behind an id; `None` if it is none that was given out.
    pub fn restored(id: &str) -> Option<Filter> {
        let (_, asked) = id.split_once('-')?;
        let params: SubscribeParams = serde_json::from_slice(&hex::decode(asked).ok()?).ok()?;
        Filter::read(params).ok()
    }
}

/// Reads an `eventId` that a client gives back.
pub fn event_id(field: &str, text: &str) -> Result<Number> {
    let wrong = || Error::invalid(field, format!("{field} must be the id of an event"));
    Number::from_event_id(text).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
