//! A subscription as a response of server-sent events.

use axum::response::Response;
use futures::{Stream, StreamExt};

use super::frames::Frames;
use super::subscription::Subscription;
use super::wire::{ErrorCode, Event, Number, Reply};
use crate::app::{Watch, Watched};
use crate::domain::error::{Error, Result};
use crate::http::{self, Limits, Out};

/// Streams what `watch` sees and `subscription` takes, until the client goes, the thread is gone
/// or the connection is old.
pub fn stream(watch: Watch, subscription: Subscription, limits: &Limits) -> Response {
    let old = tokio::time::sleep(limits.lifetime);
    let view = View { frames: Frames::default(), subscription, made: Vec::new(), newest: None };
    http::sse_of(seen(watch).take_until(old), view)
}

fn seen(watch: Watch) -> impl Stream<Item = Result<Watched>> {
    futures::stream::unfold(watch, |mut watch| async move {
        let next = watch.next().await.transpose()?;
        Some((next, watch))
    })
}

struct View {
    frames: Frames,
    subscription: Subscription,
    made: Vec<Event>,
    newest: Option<Number>,
}

impl http::Frames<Watched> for View {
    fn feed(&mut self, watched: &Watched, out: &mut Out) {
        self.subscription.notice(watched);
        self.frames.feed(watched, &mut self.made);
        for event in self.made.drain(..) {
            if self.subscription.takes(&event) {
                out.frame(event.number, Some(event.data.method()), &event);
                self.newest = Some(event.number);
            }
        }
    }

    fn broken(&mut self, error: &Error, out: &mut Out) {
        let message = error.public().to_owned();
        let reply = Reply::Error { id: None, error: ErrorCode::UnknownError, message };
        out.frame(self.newest.unwrap_or_default(), Some("error"), &reply);
    }
}
