//! Content blocks and deltas in the protocol's words.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::wire::{BlockDelta, ContentBlock, ToolCallFields};
use crate::domain::event::{Block, Delta};

/// Kinds of block that the protocol knows and that are whole when they come, with the members
/// that must be texts.
const STANDARD: &[&str] = &["image", "audio", "video", "file"];
const TEXTS: &[&str] = &["id", "fileId", "url", "base64", "mimeType"];
/// Members whose other spelling is taken for them.
const SPELLINGS: &[(&str, &str)] = &[("file_id", "fileId"), ("mime_type", "mimeType")];

/// A block that begins: what it is, without the contents that deltas will bring.
pub(super) fn begun(block: &Block) -> ContentBlock {
    match block {
        Block::Text { text } => ContentBlock::Text { text: text.clone() },
        Block::Reasoning { text, .. } => {
            ContentBlock::Reasoning { reasoning: text.clone(), signature: None }
        }
        Block::ToolCall { id, name, args } | Block::InvalidToolCall { id, name, args, .. } => {
            ContentBlock::ToolCallChunk { id: id.clone(), name: name.clone(), args: args.clone() }
        }
        Block::Other { value } => other(value),
    }
}

/// A block that is complete.
pub(super) fn finished(block: &Block) -> ContentBlock {
    match block {
        Block::Text { .. } | Block::Other { .. } => begun(block),
        Block::Reasoning { text, signature } => {
            ContentBlock::Reasoning { reasoning: text.clone(), signature: signature.clone() }
        }
        Block::ToolCall { id, name, args } => match arguments(args) {
            Ok(args) => ContentBlock::ToolCall { id: id.clone(), name: name.clone(), args },
            Err(error) => invalid(id, name, args, error),
        },
        Block::InvalidToolCall { id, name, args, error } => invalid(id, name, args, error.clone()),
    }
}

/// What a delta appends to a block of which `so_far` is known, the delta included.
pub(super) fn delta(delta: &Delta, so_far: &Block) -> BlockDelta {
    match delta {
        Delta::Text { text } => BlockDelta::TextDelta { text: text.clone() },
        Delta::Reasoning { text } => BlockDelta::ReasoningDelta { reasoning: text.clone() },
        Delta::Data { data } => BlockDelta::DataDelta { data: data.clone() },
        // The fields are merged by replacing them, so they are whole.
        Delta::Args { args } => match so_far {
            Block::ToolCall { args, .. } => arguments_so_far(args),
            _ => arguments_so_far(args),
        },
    }
}

/// All that a block has, as one delta; `None` if it has nothing, or has it from its start.
pub(super) fn all_of(block: &Block) -> Option<BlockDelta> {
    match block {
        Block::Text { text } if !text.is_empty() => {
            Some(BlockDelta::TextDelta { text: text.clone() })
        }
        Block::Reasoning { text, .. } if !text.is_empty() => {
            Some(BlockDelta::ReasoningDelta { reasoning: text.clone() })
        }
        Block::ToolCall { args, .. } | Block::InvalidToolCall { args, .. } if !args.is_empty() => {
            Some(arguments_so_far(args))
        }
        _ => None,
    }
}

/// The block as it was before anything came.
pub(super) fn emptied(block: &Block) -> Block {
    match block {
        Block::Text { .. } => Block::Text { text: String::new() },
        Block::Reasoning { .. } => Block::Reasoning { text: String::new(), signature: None },
        Block::ToolCall { id, name, .. } | Block::InvalidToolCall { id, name, .. } => {
            Block::ToolCall { id: id.clone(), name: name.clone(), args: String::new() }
        }
        Block::Other { .. } => block.clone(),
    }
}

/// Adds a delta to a block.
pub(super) fn append(block: &mut Block, delta: &Delta) {
    match (block, delta) {
        (Block::Text { text }, Delta::Text { text: more })
        | (Block::Reasoning { text, .. }, Delta::Reasoning { text: more })
        | (Block::ToolCall { args: text, .. }, Delta::Args { args: more }) => text.push_str(more),
        (Block::Other { value: Value::Object(members) }, Delta::Data { data: more }) => {
            let data = members.entry("base64").or_insert_with(|| "".into());
            if let Value::String(data) = data {
                data.push_str(more);
            }
        }
        _ => {}
    }
}

fn arguments_so_far(args: &str) -> BlockDelta {
    BlockDelta::BlockDelta { fields: ToolCallFields { args: args.to_owned() } }
}

/// Parses a call's arguments. Nothing at all stands for no arguments.
fn arguments(args: &str) -> Result<Map<String, Value>, String> {
    if args.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(args) {
        Ok(Value::Object(args)) => Ok(args),
        Ok(_) => Err("the arguments are no JSON object".to_owned()),
        Err(why) => Err(format!("the arguments are no JSON: {why}")),
    }
}

fn invalid(id: &Arc<str>, name: &Arc<str>, args: &str, error: String) -> ContentBlock {
    ContentBlock::InvalidToolCall {
        id: Some(id.clone()),
        name: Some(name.clone()),
        args: Some(args.to_owned()),
        error: Some(error),
    }
}

/// A block of another kind: as it came if the protocol has a form for it, else wrapped.
fn other(value: &Value) -> ContentBlock {
    let Value::Object(members) = value else {
        let value = Map::from_iter([("value".to_owned(), value.clone())]);
        return ContentBlock::NonStandard { value };
    };
    match members.get("type").and_then(Value::as_str) {
        Some(kind) if STANDARD.contains(&kind) => {
            let members: Map<_, _> =
                members.iter().map(|(key, value)| (spelled(key), value.clone())).collect();
            let fits = |name: &&str| members.get(*name).is_none_or(Value::is_string);
            if TEXTS.iter().all(fits) {
                ContentBlock::Standard(members)
            } else {
                ContentBlock::NonStandard { value: members }
            }
        }
        _ => ContentBlock::NonStandard { value: members.clone() },
    }
}

fn spelled(key: &str) -> String {
    let known = SPELLINGS.iter().find(|(other, _)| *other == key);
    known.map_or(key, |(_, ours)| ours).to_owned()
}
