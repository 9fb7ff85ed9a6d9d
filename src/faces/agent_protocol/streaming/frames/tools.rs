//! Tools at work, and what becomes of those that do not come to an end.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::super::wire::{Data, ToolsData};
use super::emit::Emit;
use crate::domain::event::{Logged, RunEvent};
use crate::domain::ids::Namespace;
use crate::domain::message::Message;
use crate::domain::run::RunError;

/// The tools at work, by call.
#[derive(Default)]
pub(super) struct Tools {
    open: BTreeMap<Arc<str>, Place>,
}

struct Place {
    namespace: Namespace,
    node: Arc<str>,
}

impl Tools {
    /// Takes an event of a tool.
    pub(super) fn feed(&mut self, logged: &Logged, emit: &mut Emit) {
        match &logged.event {
            RunEvent::ToolStarted { call_id, name, node, input } => {
                let (namespace, at) = (logged.namespace.clone(), node.clone());
                self.open.insert(call_id.clone(), Place { namespace, node: at });
                let data = ToolsData::ToolStarted {
                    tool_call_id: call_id.clone(),
                    tool_name: name.clone(),
                    input: input.clone(),
                };
                emit.push_in(&logged.namespace, Some(node), Data::Tools(data));
            }
            RunEvent::ToolOutput { call_id, delta } => {
                let node = self.open.get(call_id).map(|place| &place.node);
                let (tool_call_id, delta) = (call_id.clone(), delta.clone());
                let data = ToolsData::ToolOutputDelta { tool_call_id, delta };
                emit.push_in(&logged.namespace, node, Data::Tools(data));
            }
            RunEvent::ToolFinished { call_id, node, message, failed, .. } => {
                self.open.remove(call_id);
                let data = came_out(call_id, message, *failed);
                emit.push_in(&logged.namespace, Some(node), Data::Tools(data));
            }
            _ => {}
        }
    }

    /// The run is over: those at work failed with it, unless they wait for an answer.
    pub(super) fn close(&mut self, why: &RunError, waits: bool, emit: &mut Emit) {
        for (call_id, place) in std::mem::take(&mut self.open) {
            if waits {
                continue;
            }
            let data = ToolsData::ToolError {
                tool_call_id: call_id,
                message: why.message.clone(),
                code: Some(why.code.clone()),
            };
            emit.push_in(&place.namespace, Some(&place.node), Data::Tools(data));
        }
    }
}

fn came_out(call_id: &Arc<str>, message: &Value, failed: bool) -> ToolsData {
    let tool_call_id = call_id.clone();
    if failed {
        let said = Message::from_value(message).map(|message| message.text());
        return ToolsData::ToolError {
            tool_call_id,
            message: said.unwrap_or_default(),
            code: None,
        };
    }
    let output = message.get("content").cloned().unwrap_or(Value::Null);
    ToolsData::ToolFinished { tool_call_id, output }
}
