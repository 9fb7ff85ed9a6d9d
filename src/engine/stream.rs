//! Streams a message while it comes, block by block, and gives it back whole.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::event::{Block, Delta, RunEvent};
use crate::domain::message::{InvalidToolCall, Message, Role, ToolCall, Usage};
use crate::domain::run::RunError;
use crate::engine::cx::Cx;

/// An assistant's message that is being written. Blocks never interleave: writing to another
/// kind of block ends the one before.
pub struct MessageWriter {
    cx: Cx,
    id: Arc<str>,
    next_index: u32,
    open: Option<Block>,
    text: String,
    reasoning: String,
    signature: Option<String>,
    calls: Vec<ToolCall>,
    invalid_calls: Vec<InvalidToolCall>,
}

impl Cx {
    /// Starts an assistant's message under `id` (see [`Cx::message_id`]).
    pub async fn stream_message(&self, id: impl Into<Arc<str>>) -> MessageWriter {
        self.stream_message_with(id, Map::new()).await
    }

    /// The same, with metadata for whoever watches.
    pub async fn stream_message_with(
        &self,
        id: impl Into<Arc<str>>,
        metadata: Map<String, Value>,
    ) -> MessageWriter {
        let id = id.into();
        {
            let mut notes = self.notes();
            notes.kept.shown.insert(id.clone());
            notes.open.push(id.clone());
        }
        let (message_id, node) = (id.clone(), self.node().clone());
        let (role, step) = (Role::Assistant, self.step());
        self.emit(RunEvent::MessageStarted { message_id, role, node, step, metadata }).await;
        MessageWriter {
            cx: self.clone(),
            id,
            next_index: 0,
            open: None,
            text: String::new(),
            reasoning: String::new(),
            signature: None,
            calls: Vec::new(),
            invalid_calls: Vec::new(),
        }
    }
}

impl MessageWriter {
    /// Adds to the text.
    pub async fn text(&mut self, delta: impl Into<String>) {
        let delta = delta.into();
        if !matches!(self.open, Some(Block::Text { .. })) {
            self.begin(Block::Text { text: String::new() }).await;
        }
        if let Some(Block::Text { text }) = &mut self.open {
            text.push_str(&delta);
        }
        self.delta(Delta::Text { text: delta }).await;
    }

    /// Adds to the reasoning.
    pub async fn reasoning(&mut self, delta: impl Into<String>) {
        let delta = delta.into();
        if !matches!(self.open, Some(Block::Reasoning { .. })) {
            self.begin(Block::Reasoning { text: String::new(), signature: None }).await;
        }
        if let Some(Block::Reasoning { text, .. }) = &mut self.open {
            text.push_str(&delta);
        }
        self.delta(Delta::Reasoning { text: delta }).await;
    }

    /// Signs the reasoning that is being written: the provider's proof that it is its own.
    pub fn sign(&mut self, proof: impl Into<String>) {
        if let Some(Block::Reasoning { signature, .. }) = &mut self.open {
            *signature = Some(proof.into());
        }
    }

    /// Begins a tool call; its arguments follow as JSON text ([`MessageWriter::args`]).
    pub async fn tool_call(&mut self, id: impl Into<Arc<str>>, name: impl Into<Arc<str>>) {
        let block = Block::ToolCall { id: id.into(), name: name.into(), args: String::new() };
        self.begin(block).await;
    }

    /// Adds to the arguments of the tool call that was begun last.
    pub async fn args(&mut self, delta: impl Into<String>) {
        let delta = delta.into();
        if let Some(Block::ToolCall { args, .. }) = &mut self.open {
            args.push_str(&delta);
            self.delta(Delta::Args { args: delta }).await;
        }
    }

    /// The message is complete.
    pub async fn finish(self) -> Message {
        self.finish_with(None, None).await
    }

    /// The message is complete; with what it took, and why the model stopped.
    pub async fn finish_with(
        mut self,
        usage: Option<Usage>,
        stop_reason: Option<String>,
    ) -> Message {
        self.end_block().await;
        self.close();
        let message_id = self.id.clone();
        self.cx.emit(RunEvent::MessageFinished { message_id, usage, stop_reason }).await;
        let mut message = Message::assistant(&*self.id, self.text);
        message.tool_calls = self.calls;
        message.invalid_tool_calls = self.invalid_calls;
        message.usage = usage;
        if !self.reasoning.is_empty() {
            message.extra.insert("reasoning".to_owned(), self.reasoning.into());
        }
        if let Some(signature) = self.signature {
            message.extra.insert("reasoning_signature".to_owned(), signature.into());
        }
        message
    }

    /// The message broke off and is void.
    pub async fn fail(self, error: RunError) {
        self.close();
        let message_id = self.id.clone();
        self.cx.emit(RunEvent::MessageFailed { message_id, error }).await;
    }

    fn close(&self) {
        self.cx.notes().open.retain(|open| *open != self.id);
    }

    async fn begin(&mut self, block: Block) {
        self.end_block().await;
        self.open = Some(block.clone());
        let (message_id, index) = (self.id.clone(), self.next_index);
        self.cx.emit(RunEvent::BlockStarted { message_id, index, block }).await;
    }

    async fn delta(&mut self, delta: Delta) {
        let (message_id, index) = (self.id.clone(), self.next_index);
        self.cx.emit(RunEvent::BlockDelta { message_id, index, delta }).await;
    }

    async fn end_block(&mut self) {
        let Some(block) = self.open.take() else { return };
        let block = self.keep(block);
        let (message_id, index) = (self.id.clone(), self.next_index);
        self.next_index += 1;
        self.cx.emit(RunEvent::BlockFinished { message_id, index, block }).await;
    }

    /// Adds a finished block to the message; a call whose arguments are no JSON object is invalid.
    fn keep(&mut self, block: Block) -> Block {
        match block {
            Block::Text { ref text } => self.text.push_str(text),
            Block::Reasoning { ref text, ref signature } => {
                self.reasoning.push_str(text);
                self.signature.clone_from(signature);
            }
            Block::ToolCall { id, name, args } => return self.keep_call(id, name, args),
            Block::InvalidToolCall { .. } | Block::Other { .. } => {}
        }
        block
    }

    fn keep_call(&mut self, id: Arc<str>, name: Arc<str>, args: String) -> Block {
        let text = if args.trim().is_empty() { "{}" } else { &args };
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(members) => {
                let (id_text, name_text) = (id.to_string(), name.to_string());
                self.calls.push(ToolCall {
                    id: id_text,
                    name: name_text,
                    args: Value::Object(members),
                });
                Block::ToolCall { id, name, args }
            }
            Err(wrong) => {
                let error = format!("the arguments are no JSON object: {wrong}");
                self.invalid_calls.push(InvalidToolCall {
                    id: Some(id.to_string()),
                    name: Some(name.to_string()),
                    args: Some(args.clone()),
                    error: Some(error.clone()),
                });
                Block::InvalidToolCall { id, name, args, error }
            }
        }
    }
}
