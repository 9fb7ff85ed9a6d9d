//! A JSON answer that takes its time: white space keeps the connection alive until it is there.
//!
//! JSON allows white space before a value, so every client reads the same answer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::Stream;
use serde::Serialize;
use tokio::time::{Instant, Sleep, sleep, timeout};

use super::body::json;
use super::problem::{Problem, Shape, log};
use super::stream::KEEP_ALIVE;
use crate::domain::error::{Error, Result};
use crate::domain::ports::BoxFuture;

/// Answers what `work` comes to. Dropping the response drops `work`.
///
/// An answer within the first seconds has its own status. After that the status is 200, whatever
/// comes: a late failure is told by the body alone, in the shape `S`.
pub async fn waiting<S: Shape, T: Serialize + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<Response, Problem> {
    let mut work: BoxFuture<'static, Result<Bytes>> = Box::pin(async { write(&work.await?) });
    if let Ok(soon) = timeout(KEEP_ALIVE, &mut work).await {
        return Ok(json(soon?));
    }
    // The silence is over at once: it lasted long enough.
    let silence = Box::pin(sleep(Duration::ZERO));
    Ok(json(Body::from_stream(Late { work: Some(work), silence, tell: tell::<S> })))
}

fn write(answer: &impl Serialize) -> Result<Bytes> {
    let written = serde_json::to_vec(answer);
    written
        .map(Bytes::from)
        .map_err(|why| Error::internal("cannot write the answer").caused_by(why))
}

fn tell<S: Shape>(error: &Error) -> Bytes {
    log(S::status(error), error);
    S::body(error).to_string().into()
}

struct Late {
    /// `None` once it is over.
    work: Option<BoxFuture<'static, Result<Bytes>>>,
    silence: Pin<Box<Sleep>>,
    tell: fn(&Error) -> Bytes,
}

impl Stream for Late {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        if let Poll::Ready(answer) = work.as_mut().poll(cx) {
            self.work = None;
            return Poll::Ready(Some(Ok(answer.unwrap_or_else(|error| (self.tell)(&error)))));
        }
        ready!(self.silence.as_mut().poll(cx));
        self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
        Poll::Ready(Some(Ok(Bytes::from_static(b" "))))
    }
}

#[cfg(test)]
mod tests;
