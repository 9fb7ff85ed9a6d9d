//! A stream of server-sent events that is read as it comes.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;

use super::sse::{self, Frame};

/// How long a frame may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A response that is being read. Dropping it closes the connection.
pub(crate) struct Tail {
    response: Response,
    text: String,
    ready: VecDeque<Frame>,
}

impl Tail {
    pub(crate) fn of(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        Self { response, text: String::new(), ready: VecDeque::new() }
    }

    /// The next frame; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        timeout(PATIENCE, self.read_on()).await.expect("a frame comes in time")
    }

    async fn read_on(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            let chunk = self.response.chunk().await.expect("the stream holds")?;
            self.text += std::str::from_utf8(&chunk).expect("it is text");
            if let Some(end) = self.text.rfind("\n\n") {
                let rest = self.text.split_off(end + 2);
                self.ready.extend(sse::frames(&std::mem::replace(&mut self.text, rest)));
            }
        }
    }

    /// All frames that are still to come.
    pub(crate) async fn rest(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }
}
