//! The conversation as a model is to see it: every call answered, right behind it.

use crate::agents::react::Trim;
use crate::domain::message::{Message, Role, ToolStatus};

/// What is told of a call that was never executed.
pub(super) const NOT_EXECUTED: &str = "not executed";

/// Results for the calls that have none: providers refuse a history with open calls. Each gets
/// an id from `id`.
pub(super) fn missing_results(
    messages: &[Message],
    mut id: impl FnMut(usize) -> String,
) -> Vec<Message> {
    let answered =
        |call: &str| messages.iter().any(|message| message.tool_call_id.as_deref() == Some(call));
    let calls = messages.iter().flat_map(|message| &message.tool_calls);
    let open = calls.filter(|call| !answered(&call.id)).enumerate();
    open.map(|(ordinal, call)| {
        let mut result = Message::tool(id(ordinal), &*call.id, &*call.name, NOT_EXECUTED);
        result.status = Some(ToolStatus::Error);
        result
    })
    .collect()
}

/// Puts each result behind its call, whenever it came; results of no call are left out.
pub(super) fn in_order(messages: Vec<Message>) -> Vec<Message> {
    let (mut results, others): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|message| message.role == Role::Tool);
    let mut ordered = Vec::with_capacity(results.len() + others.len());
    for message in others {
        let ids: Vec<String> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
        ordered.push(message);
        for id in ids {
            let found = results.iter().rposition(|one| one.tool_call_id.as_ref() == Some(&id));
            ordered.extend(found.map(|at| results.remove(at)));
        }
    }
    ordered
}

/// The newest part of the history that fits; it begins with a user message, so that no call is
/// cut from its result. System messages stay.
pub(super) fn trimmed(messages: Vec<Message>, trim: Trim) -> Vec<Message> {
    let starts: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.role == Role::User)
        .map(|(at, _)| at)
        .collect();
    let by_turns = trim.turns.and_then(|turns| starts.len().checked_sub(turns.max(1)));
    let by_turns = by_turns.and_then(|first| starts.get(first)).copied().unwrap_or(0);
    let by_tokens = trim.tokens.map_or(0, |room| {
        let fits =
            |start: &&usize| messages.iter().skip(**start).map(tokens).sum::<usize>() <= room;
        starts.iter().find(fits).or(starts.last()).copied().unwrap_or(0)
    });
    let from = by_turns.max(by_tokens);
    let kept = |(at, message): &(usize, Message)| {
        *at >= from || matches!(message.role, Role::System | Role::Developer)
    };
    messages.into_iter().enumerate().filter(kept).map(|(_, message)| message).collect()
}

/// About how many tokens a message takes.
fn tokens(message: &Message) -> usize {
    let calls: usize = message.tool_calls.iter().map(|call| call.args.to_string().len()).sum();
    (message.text().len() + calls).div_ceil(4)
}
