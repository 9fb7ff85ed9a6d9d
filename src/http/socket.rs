//! Web sockets: who may open one, and what keeps it alive or ends it.
//!
//! A [`Socket`] takes and gives JSON texts. Pings, dead peers, idleness and old age are its own
//! business; what the texts mean is a face's.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::header::{HOST, ORIGIN, SEC_WEBSOCKET_PROTOCOL};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures::SinkExt;
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use super::Problem;
use super::body::{self, JsonDepth};
use crate::domain::error::{Error, Fault, Result};

/// What an idle connection holds for reading, and gathers before it writes. By default that would
/// be 128 KiB, for messages that are mostly smaller than one.
const BUFFER: usize = 4 << 10;

/// How long connections may stay open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How often the peer is asked whether it is there; after two and a half times this without
    /// a sign of life it is not.
    pub ping: Duration,
    /// A connection over which nothing is said is closed after this long.
    pub idle: Duration,
    /// Any connection is closed after this long.
    pub lifetime: Duration,
    /// A peer that takes longer to read a message is gone.
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ping: Duration::from_secs(20),
            idle: Duration::from_hours(1),
            lifetime: Duration::from_hours(24),
            write: Duration::from_secs(30),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Limits {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Door::of(parts).limits)
    }
}

/// What the kit is told about connections; put into the request by [`super::observed`].
#[derive(Clone, Default)]
pub(super) struct Door {
    pub(super) origins: Arc<[String]>,
    pub(super) limits: Limits,
    pub(super) message_bytes: usize,
    pub(super) depth: JsonDepth,
}

impl Door {
    fn of(parts: &Parts) -> Self {
        parts.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// Refuses a web page of another origin: a browser would let it in with the user's rights.
    /// Whoever is no browser sends no origin.
    fn check_origin(&self, headers: &HeaderMap) -> Result<()> {
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        let text = |value: &axum::http::HeaderValue| value.to_str().map(str::to_ascii_lowercase);
        let origin = text(origin).unwrap_or_default();
        let here = headers.get(HOST).and_then(|host| text(host).ok());
        let of_page = origin.split_once("://").map(|(_, authority)| authority);
        let is_known = self.origins.iter().any(|known| known.eq_ignore_ascii_case(&origin));
        if is_known || (of_page.is_some() && of_page == here.as_deref()) {
            return Ok(());
        }
        let public = "pages of this origin may not open WebSockets here";
        Err(Error::new(Fault::Forbidden, "origin_not_allowed", public))
    }
}

/// A request to open a WebSocket, from whoever may.
pub struct Upgrade {
    upgrade: WebSocketUpgrade,
    door: Door,
}

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let door = Door::of(parts);
        door.check_origin(&parts.headers)?;
        let offered = protocols(&parts.headers);
        let Ok(upgrade) = WebSocketUpgrade::from_request_parts(parts, state).await else {
            let public = "this path is opened as a WebSocket; for server-sent events, POST to it";
            return Err(Problem::fixed(StatusCode::UPGRADE_REQUIRED, "upgrade_required", public));
        };
        let bytes = door.message_bytes;
        let upgrade = upgrade
            .protocols(offered)
            .max_message_size(bytes)
            .max_frame_size(bytes)
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER);
        Ok(Self { upgrade, door })
    }
}

impl Upgrade {
    /// Answers the request, and has `work` use the connection.
    pub fn on_open<F: Future<Output = ()> + Send + 'static>(
        self,
        work: impl FnOnce(Socket) -> F + Send + 'static,
    ) -> Response {
        let Self { upgrade, door } = self;
        upgrade.on_upgrade(move |socket| work(Socket::new(socket, &door)))
    }
}

/// The subprotocols that the client offers, one that is no key first: browsers want one of them
/// back.
fn protocols(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter();
    let offered = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let mut offered: Vec<_> = offered.map(|name| name.trim().to_owned()).collect();
    offered.sort_by_key(|name| name.starts_with(super::caller::SUBPROTOCOL));
    offered
}

/// The peer is not there any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone;

/// An open connection.
pub struct Socket {
    stream: WebSocket,
    limits: Limits,
    depth: JsonDepth,
    pings: Interval,
    opened: Instant,
    /// When something was said last, by either side.
    spoken: Instant,
    /// When the peer gave a sign of life last.
    alive: Instant,
}

impl Socket {
    fn new(stream: WebSocket, door: &Door) -> Self {
        let now = Instant::now();
        let mut pings = interval_at(now + door.limits.ping, door.limits.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (limits, depth) = (door.limits, door.depth);
        Self { stream, limits, depth, pings, opened: now, spoken: now, alive: now }
    }

    /// The next message. An error is about the message, not the connection; [`Gone`] means that
    /// nothing more will come. Dropping the future loses nothing.
    pub async fn hear(&mut self) -> Result<Result<Value>, Gone> {
        loop {
            tokio::select! {
                message = self.stream.recv() => {
                    let message = message.ok_or(Gone)?.map_err(|_broken| Gone)?;
                    self.alive = Instant::now();
                    let bytes = match &message {
                        Message::Text(text) => text.as_bytes(),
                        Message::Binary(bytes) => bytes,
                        Message::Ping(_) | Message::Pong(_) => continue,
                        Message::Close(_) => return Err(Gone),
                    };
                    self.spoken = self.alive;
                    return Ok(body::parse(self.depth, bytes));
                }
                now = self.pings.tick() => self.look_after(now).await?,
            }
        }
    }

    /// Says these things, all of them or as far as the peer is there.
    pub async fn say<T: Serialize>(&mut self, things: &mut VecDeque<T>) -> Result<(), Gone> {
        if things.is_empty() {
            return Ok(());
        }
        let write = self.limits.write;
        while let Some(thing) = things.pop_front() {
            let text = match serde_json::to_string(&thing) {
                Ok(text) => text,
                Err(why) => {
                    tracing::error!(error.cause = %why, "a message could not be written");
                    continue;
                }
            };
            let sent = timeout(write, self.stream.feed(Message::Text(text.into()))).await;
            sent.map_err(|_slow| Gone)?.map_err(|_broken| Gone)?;
        }
        timeout(write, self.stream.flush()).await.map_err(|_slow| Gone)?.map_err(|_broken| Gone)?;
        self.spoken = Instant::now();
        Ok(())
    }

    /// Says good-bye.
    pub async fn close(&mut self, why: &'static str) {
        let frame = CloseFrame { code: close_code::NORMAL, reason: why.into() };
        let _gone = timeout(self.limits.write, self.stream.send(Message::Close(Some(frame)))).await;
    }

    async fn look_after(&mut self, now: Instant) -> Result<(), Gone> {
        if now.duration_since(self.alive) > self.limits.ping.mul_f32(2.5) {
            return Err(Gone);
        }
        let why = if now.duration_since(self.opened) > self.limits.lifetime {
            "the connection is old; come back with the last event's number"
        } else if now.duration_since(self.spoken) > self.limits.idle {
            "nothing was said for long; come back with the last event's number"
        } else {
            let ping = self.stream.send(Message::Ping(axum::body::Bytes::new()));
            return match timeout(self.limits.write, ping).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) | Err(_) => Err(Gone),
            };
        };
        self.close(why).await;
        Err(Gone)
    }
}

#[cfg(test)]
mod tests;
