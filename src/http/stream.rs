//! Server-sent events: what happens, as a face shows it, one response body a client.
//!
//! A face gives [`Frames`] and this turns what they say into bytes: each frame is rendered once,
//! straight into the buffer that is sent, and everything that is ready goes out in one write.

use std::fmt::Display;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures::Stream;
use serde::Serialize;
use tokio::time::{Instant, Sleep, sleep};

use crate::app::{Follow, Followed};
use crate::domain::error::{Error, Result};

/// A silent stream says something this often, so that nobody in between takes it for dead.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// What is ready is sent together, up to about this much.
const WRITE_BYTES: usize = 32 << 10;

/// How a face shows what somebody sees: a follower of a run, unless said otherwise. Pure: no
/// clock, no I/O.
pub trait Frames<Seen = Followed>: Send + Unpin + 'static {
    /// Appends to `out` what the client is to see of it.
    fn feed(&mut self, seen: &Seen, out: &mut Out);

    /// The same for a failure of the server's after which nothing follows.
    fn broken(&mut self, error: &Error, out: &mut Out);
}

/// Frames as bytes, in the order in which they are sent.
#[derive(Default)]
pub struct Out(Vec<u8>);

impl Out {
    /// Appends a frame. `event` is left out where the face has no names for its events.
    pub fn frame(&mut self, id: impl Display, event: Option<&str>, data: &impl Serialize) {
        let start = self.0.len();
        self.line("id", &id.to_string());
        if let Some(event) = event {
            self.line("event", event);
        }
        self.0.extend_from_slice(b"data: ");
        // Compact JSON has no line breaks, so it is one line of data.
        match serde_json::to_writer(&mut self.0, data) {
            Ok(()) => self.0.extend_from_slice(b"\n\n"),
            Err(why) => {
                self.0.truncate(start);
                tracing::error!(error.cause = %why, "a frame could not be written");
            }
        }
    }

    fn line(&mut self, field: &str, value: &str) {
        self.0.extend_from_slice(field.as_bytes());
        self.0.extend_from_slice(b": ");
        self.0.extend(value.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')));
        self.0.push(b'\n');
    }

    fn comment(&mut self, text: &str) {
        self.0.extend_from_slice(format!(": {text}\n\n").as_bytes());
    }

    /// What was appended so far.
    pub fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.0).into()
    }
}

/// Answers with the stream of `follow` as `frames` shows it. Dropping the body drops the follow.
pub fn sse(follow: Follow, frames: impl Frames) -> Response {
    sse_of(follow.events, frames)
}

/// The same for anything else that can be seen happening.
pub fn sse_of<Seen: 'static>(
    events: impl Stream<Item = Result<Seen>> + Send + 'static,
    frames: impl Frames<Seen>,
) -> Response {
    let body = Told {
        events: Some(Box::pin(events)),
        frames,
        out: Out::default(),
        silence: Box::pin(sleep(KEEP_ALIVE)),
    };
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Told<Seen, F> {
    /// `None` once it is over.
    events: Option<Pin<Box<dyn Stream<Item = Result<Seen>> + Send>>>,
    frames: F,
    out: Out,
    silence: Pin<Box<Sleep>>,
}

impl<Seen, F: Frames<Seen>> Stream for Told<Seen, F> {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        while this.out.0.len() < WRITE_BYTES {
            let Some(events) = &mut this.events else { break };
            match events.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(seen))) => this.frames.feed(&seen, &mut this.out),
                Poll::Ready(Some(Err(error))) => {
                    tracing::error!(error.code, "a stream broke off: {error:?}");
                    this.frames.broken(&error, &mut this.out);
                    this.events = None;
                }
                Poll::Ready(None) => this.events = None,
                Poll::Pending => break,
            }
        }
        if this.out.0.is_empty() {
            if this.events.is_none() {
                return Poll::Ready(None);
            }
            ready!(this.silence.as_mut().poll(cx));
            this.out.comment("keep-alive");
        }
        this.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
        Poll::Ready(Some(Ok(this.out.take())))
    }
}

#[cfg(test)]
mod tests;
