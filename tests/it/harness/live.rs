//! Streams that do not end by themselves: server-sent events as they come, and web sockets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use reqwest::Response;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::sse::{self, Frame};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A response of server-sent events that is being read.
pub(crate) struct Events {
    response: Response,
    text: String,
    ready: VecDeque<Frame>,
}

impl Events {
    pub(crate) fn read(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        Self { response, text: String::new(), ready: VecDeque::new() }
    }

    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        timeout(PATIENCE, self.read_on()).await.expect("an event comes")
    }

    async fn read_on(&mut self) -> Option<Value> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                let data = frame.data;
                assert_eq!(frame.id.as_deref(), data["eventId"].as_str());
                assert_eq!(frame.event, data["method"]);
                return Some(data);
            }
            let chunk = self.response.chunk().await.expect("the stream holds")?;
            self.text += std::str::from_utf8(&chunk).expect("it is text");
            if let Some(end) = self.text.rfind("\n\n") {
                let rest = self.text.split_off(end + 2);
                self.ready.extend(sse::frames(&std::mem::replace(&mut self.text, rest)));
            }
        }
    }

    /// All events up to one that `is_last`.
    pub(crate) async fn until(&mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            let last = is_last(&event);
            events.push(event);
            if last {
                return events;
            }
        }
        panic!("the stream ended after {events:#?}");
    }
}

/// A WebSocket, as a client has it.
pub(crate) struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    sent: u64,
    /// Events that came while a reply was awaited.
    pub(crate) events: VecDeque<Value>,
}

/// What to connect to, for those who want to add headers.
pub(crate) fn request(address: SocketAddr, path: &str) -> Request {
    format!("ws://{address}{path}").into_client_request().expect("the address is one")
}

impl Socket {
    pub(crate) async fn open(address: SocketAddr, path: &str) -> Self {
        Self::with(request(address, path)).await.expect("the connection is opened")
    }

    /// # Errors
    /// The status, if the server refuses.
    pub(crate) async fn with(request: Request) -> Result<Self, u16> {
        match connect_async(request).await {
            Ok((stream, _)) => Ok(Self { stream, sent: 0, events: VecDeque::new() }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }

    pub(crate) async fn send(&mut self, text: impl Into<String>) {
        self.stream.send(Message::text(text.into())).await.expect("the connection holds");
    }

    /// Sends a command and answers its reply.
    pub(crate) async fn command(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let command = json!({"id": self.sent, "method": method, "params": params});
        self.send(command.to_string()).await;
        let reply = self.reply().await;
        assert_eq!(reply["id"], self.sent, "{reply}");
        reply
    }

    /// The result of a command that is carried out.
    pub(crate) async fn done(&mut self, method: &str, params: Value) -> Value {
        let reply = self.command(method, params).await;
        assert_eq!(reply["type"], "success", "{reply}");
        reply["result"].clone()
    }

    /// The error code of a command that is refused.
    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> String {
        let reply = self.command(method, params).await;
        reply["error"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    pub(crate) async fn reply(&mut self) -> Value {
        loop {
            let message = self.message().await.expect("the connection holds");
            if message["type"] != "event" {
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Value {
        if let Some(event) = self.events.pop_front() {
            return event;
        }
        let message = self.message().await.expect("the connection holds");
        assert_eq!(message["type"], "event", "{message}");
        message
    }

    pub(crate) async fn until(&mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let last = is_last(&event);
            events.push(event);
            if last {
                return events;
            }
        }
    }

    /// The next message; `None` once the server has closed the connection.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        loop {
            let message = timeout(PATIENCE, self.stream.next()).await.expect("a message comes");
            match message?.ok()? {
                Message::Text(text) => {
                    return Some(serde_json::from_str(&text).expect("it is JSON"));
                }
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }
}
