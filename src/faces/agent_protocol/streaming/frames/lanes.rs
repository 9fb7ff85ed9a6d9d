//! One message at a time in each place.
//!
//! The protocol's block events do not say which message they belong to: a message is known by its
//! namespace and node alone. Two parallel tasks of one node write two messages at once, so only
//! the first is shown as it is written; the others wait, and what came of them meanwhile is told
//! at once when their turn comes, under the numbers of the entry that makes room for them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::wire::{Data, MessageRole, MessagesData};
use super::blocks;
use super::emit::Emit;
use super::whole::{self, Whole};
use crate::domain::event::{Block, Delta, Logged, RunEvent};
use crate::domain::ids::Namespace;
use crate::domain::run::RunError;

/// All places where messages are written.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<Place, VecDeque<Draft>>,
    /// Where the messages that are not finished are.
    places: HashMap<Arc<str>, Place>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    namespace: Namespace,
    node: Option<Arc<str>>,
}

/// A message as far as it came. The first of its lane has been told that far.
struct Draft {
    id: Arc<str>,
    role: MessageRole,
    metadata: Map<String, Value>,
    blocks: Vec<Part>,
    /// How it ended.
    end: Option<MessagesData>,
}

struct Part {
    index: u32,
    block: Block,
    finished: bool,
}

impl Lanes {
    /// Takes an event of a message.
    pub(super) fn feed(&mut self, logged: &Logged, emit: &mut Emit) {
        match &logged.event {
            RunEvent::MessageStarted { message_id, role, node, metadata, .. } => {
                let Some(role) = whole::role_of(*role) else { return };
                let metadata = match role {
                    MessageRole::Ai => whole::metadata(metadata, logged.run_id),
                    MessageRole::Human | MessageRole::System => Map::new(),
                };
                let (id, blocks) = (message_id.clone(), Vec::new());
                let place = Place { namespace: logged.namespace.clone(), node: Some(node.clone()) };
                self.enter(&place, Draft { id, role, metadata, blocks, end: None }, emit);
            }
            RunEvent::BlockStarted { message_id, index, block } => {
                let told = self.change(message_id, |draft, _| {
                    draft.blocks.push(Part {
                        index: *index,
                        block: block.clone(),
                        finished: false,
                    });
                    let content = blocks::begun(block);
                    Some(MessagesData::ContentBlockStart { index: *index, content })
                });
                self.tell(message_id, told, emit);
            }
            RunEvent::BlockDelta { message_id, index, delta } => {
                let told = self.change(message_id, |draft, is_shown| {
                    let part = draft.blocks.iter_mut().rfind(|part| part.index == *index)?;
                    // Of what is shown as it comes only arguments are needed again.
                    if !is_shown || matches!(delta, Delta::Args { .. }) {
                        blocks::append(&mut part.block, delta);
                    }
                    let delta = blocks::delta(delta, &part.block);
                    Some(MessagesData::ContentBlockDelta { index: *index, delta })
                });
                self.tell(message_id, told, emit);
            }
            RunEvent::BlockFinished { message_id, index, block } => {
                let told = self.change(message_id, |draft, _| {
                    let part = draft.blocks.iter_mut().rfind(|part| part.index == *index)?;
                    (part.block, part.finished) = (block.clone(), true);
                    let content = blocks::finished(block);
                    Some(MessagesData::ContentBlockFinish { index: *index, content })
                });
                self.tell(message_id, told, emit);
            }
            RunEvent::MessageFinished { message_id, usage, stop_reason } => {
                let (reason, usage) = (stop_reason.clone(), usage.map(whole::usage));
                self.end(message_id, MessagesData::MessageFinish { reason, usage }, emit);
            }
            RunEvent::MessageFailed { message_id, error } => {
                self.end(message_id, failed(error), emit);
            }
            RunEvent::Message { message, node, .. } => {
                if let Some(whole) = Whole::read(message, logged.run_id) {
                    self.whole(&logged.namespace, Some(node), whole, emit);
                }
            }
            _ => {}
        }
    }

    /// Takes a message that came whole.
    pub(super) fn whole(
        &mut self,
        namespace: &Namespace,
        node: Option<&Arc<str>>,
        whole: Whole,
        emit: &mut Emit,
    ) {
        let Whole { id, role, metadata, blocks, usage } = whole;
        let parts = (0_u32..).zip(blocks);
        let blocks = parts.map(|(index, block)| Part { index, block, finished: true }).collect();
        let end = Some(MessagesData::MessageFinish { reason: None, usage });
        let place = Place { namespace: namespace.clone(), node: node.cloned() };
        self.enter(&place, Draft { id, role, metadata, blocks, end }, emit);
    }

    /// Breaks off all messages that are not finished.
    pub(super) fn close(&mut self, why: &RunError, emit: &mut Emit) {
        self.places.clear();
        for (place, lane) in std::mem::take(&mut self.lanes) {
            for (position, mut draft) in lane.into_iter().enumerate() {
                let end = draft.end.take().unwrap_or_else(|| failed(why));
                if position > 0 {
                    draft.tell_so_far(&place, emit);
                }
                place.tell(end, emit);
            }
        }
    }

    /// Puts a message in its lane; shows it if nothing is before it.
    fn enter(&mut self, place: &Place, draft: Draft, emit: &mut Emit) {
        let lane = self.lanes.entry(place.clone()).or_default();
        if draft.end.is_none() {
            self.places.insert(draft.id.clone(), place.clone());
        }
        lane.push_back(draft);
        if lane.len() == 1 {
            self.advance(place, emit);
        }
    }

    /// Shows the first message of a lane and those after it, up to one that is not finished.
    fn advance(&mut self, place: &Place, emit: &mut Emit) {
        let Some(lane) = self.lanes.get_mut(place) else { return };
        while let Some(first) = lane.front_mut() {
            first.tell_so_far(place, emit);
            let Some(end) = first.end.take() else { return };
            place.tell(end, emit);
            lane.pop_front();
        }
        self.lanes.remove(place);
    }

    /// Changes a message that is not finished. What is to be told of it, if it is shown.
    fn change<T>(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut Draft, bool) -> Option<T>,
    ) -> Option<T> {
        let lane = self.lanes.get_mut(self.places.get(id)?)?;
        let position = lane.iter().position(|draft| &*draft.id == id)?;
        let is_shown = position == 0;
        change(lane.get_mut(position)?, is_shown).filter(|_| is_shown)
    }

    fn tell(&self, id: &str, told: Option<MessagesData>, emit: &mut Emit) {
        if let (Some(data), Some(place)) = (told, self.places.get(id)) {
            place.tell(data, emit);
        }
    }

    fn end(&mut self, id: &str, end: MessagesData, emit: &mut Emit) {
        let shown = self.change(id, |draft, _| {
            draft.end = Some(end.clone());
            Some(())
        });
        let (Some(place), Some(())) = (self.places.remove(id), shown) else { return };
        place.tell(end, emit);
        if let Some(lane) = self.lanes.get_mut(&place) {
            lane.pop_front();
        }
        self.advance(&place, emit);
    }
}

impl Place {
    fn tell(&self, data: MessagesData, emit: &mut Emit) {
        emit.push_in(&self.namespace, self.node.as_ref(), Data::Messages(data));
    }
}

impl Draft {
    /// All that came of it, but for its end: each block as a start, one delta and a finish.
    fn tell_so_far(&mut self, place: &Place, emit: &mut Emit) {
        let (role, id) = (self.role, self.id.clone());
        let metadata = std::mem::take(&mut self.metadata);
        place.tell(MessagesData::MessageStart { role, id, metadata }, emit);
        for Part { index, block, finished } in &self.blocks {
            let index = *index;
            let content = blocks::begun(&blocks::emptied(block));
            place.tell(MessagesData::ContentBlockStart { index, content }, emit);
            if let Some(delta) = blocks::all_of(block) {
                place.tell(MessagesData::ContentBlockDelta { index, delta }, emit);
            }
            if *finished {
                let content = blocks::finished(block);
                place.tell(MessagesData::ContentBlockFinish { index, content }, emit);
            }
        }
    }
}

fn failed(error: &RunError) -> MessagesData {
    MessagesData::Error { message: error.message.clone(), code: error.code.clone() }
}
