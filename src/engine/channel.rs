//! Channels: what a state is made of, each with the rule that folds a step's writes into it.
//!
//! One rule a variant of [`Kind`]; [`Channel::fold`] turns the writes of one step to one channel
//! into changes. State is open: a channel that nobody declared holds the last value.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::run::RunError;
use crate::domain::state::{Change, Op, Slot, State};
use crate::engine::write::{ALL_MESSAGES, Act};

/// A reducer of one's own: what the channel holds, and one write, give what it holds then.
type Reducer = Arc<dyn Fn(Option<&Value>, &Value) -> Value + Send + Sync>;

/// How a channel folds what is written to it.
#[derive(Clone, Debug)]
pub struct Channel(Kind);

#[derive(Clone)]
enum Kind {
    Last,
    Append,
    Messages,
    Barrier(BTreeSet<Arc<str>>),
    Ephemeral,
    Custom(Reducer),
}

/// One write to a channel, with who made it.
pub(crate) struct Written<'a> {
    /// Tells the tasks of a step apart; `None` for a caller's command, which overrides.
    pub(crate) task: Option<usize>,
    pub(crate) node: &'a str,
    pub(crate) act: &'a Act,
}

impl Channel {
    /// Holds the last value. Two tasks that write it in one step are an error.
    pub fn last_value() -> Self {
        Self(Kind::Last)
    }

    /// Holds a list to which every write adds.
    pub fn append() -> Self {
        Self(Kind::Append)
    }

    /// Holds messages: a write adds them, or replaces those with the same ids.
    pub fn messages() -> Self {
        Self(Kind::Messages)
    }

    /// Collects the names of `parties` as they are written. It is full for the step that follows
    /// the last one missing, and empty again after that.
    pub fn barrier<'a>(parties: impl IntoIterator<Item = &'a str>) -> Self {
        Self(Kind::Barrier(parties.into_iter().map(Arc::from).collect()))
    }

    /// Holds a value for one step.
    pub fn ephemeral() -> Self {
        Self(Kind::Ephemeral)
    }

    /// Folds every write with `reduce`, in the order of the tasks.
    pub fn custom(
        reduce: impl Fn(Option<&Value>, &Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        Self(Kind::Custom(Arc::new(reduce)))
    }

    /// Whether the channel forgets by itself what it holds.
    pub(crate) fn is_fleeting(&self) -> bool {
        matches!(self.0, Kind::Ephemeral | Kind::Barrier(_))
    }

    /// The changes that one step's writes to the channel `name` make to it, `writes` in the
    /// order of the tasks. Called without writes for channels that are fleeting.
    ///
    /// # Errors
    /// `conflicting_writes` and `invalid_update`: what the nodes wrote does not fit the channel.
    pub(crate) fn fold(
        &self,
        name: &Arc<str>,
        state: &State,
        writes: &[Written<'_>],
        changes: &mut Vec<Change>,
    ) -> Result<(), RunError> {
        let mut out = Out { name, changes };
        match &self.0 {
            Kind::Ephemeral if writes.is_empty() => {
                if state.slot(name).is_some() {
                    out.push(Op::Unset);
                }
                Ok(())
            }
            Kind::Last | Kind::Ephemeral => fold_last(&mut out, writes),
            Kind::Append => writes.iter().try_for_each(|write| fold_append(&mut out, write)),
            Kind::Messages => writes.iter().try_for_each(|write| fold_messages(&mut out, write)),
            Kind::Barrier(parties) => {
                if state.entries(name).len() == parties.len() {
                    out.push(Op::Clear);
                }
                writes.iter().try_for_each(|write| fold_barrier(&mut out, parties, write))
            }
            Kind::Custom(reduce) => fold_custom(&mut out, reduce, state.get(name), writes),
        }
    }
}

/// Where the changes of one channel go.
struct Out<'a> {
    name: &'a Arc<str>,
    changes: &'a mut Vec<Change>,
}

impl Out<'_> {
    fn push(&mut self, op: Op) {
        self.changes.push(Change { channel: self.name.clone(), op });
    }

    fn misfit(&self, write: &Written<'_>, why: &str) -> RunError {
        let message = format!("node `{}` wrote to channel `{}`: {why}", write.node, self.name);
        RunError::new("invalid_update", message)
    }
}

fn fold_last(out: &mut Out<'_>, writes: &[Written<'_>]) -> Result<(), RunError> {
    let mut by_tasks = writes.iter().filter(|write| write.task.is_some());
    if let Some(first) = by_tasks.next()
        && let Some(second) = by_tasks.find(|write| write.task != first.task)
    {
        let (name, one, other) = (out.name, first.node, second.node);
        let message = format!(
            "nodes `{one}` and `{other}` both wrote channel `{name}` in one step; declare it with \
             a reducer (Channel::append, Channel::custom) or run them one after the other"
        );
        return Err(RunError::new("conflicting_writes", message));
    }
    let Some(last) = writes.last() else { return Ok(()) };
    match last.act {
        Act::Write { value } | Act::Replace { value } => out.push(Op::Set { value: value.clone() }),
        Act::Clear => out.push(Op::Unset),
        Act::Push { .. } | Act::Remove { .. } => {
            let why = "it holds one value, not a list; declare it with Channel::append";
            return Err(out.misfit(last, why));
        }
    }
    Ok(())
}

fn fold_append(out: &mut Out<'_>, write: &Written<'_>) -> Result<(), RunError> {
    match write.act {
        Act::Write { value } => elements(value).for_each(|value| out.push(Op::Push { value })),
        Act::Push { value } => out.push(Op::Push { value: value.clone() }),
        Act::Replace { value } => {
            out.push(Op::Clear);
            elements(value).for_each(|value| out.push(Op::Push { value }));
        }
        Act::Clear => out.push(Op::Clear),
        Act::Remove { .. } => {
            return Err(out.misfit(write, "its entries have no keys to remove by"));
        }
    }
    Ok(())
}

fn fold_messages(out: &mut Out<'_>, write: &Written<'_>) -> Result<(), RunError> {
    match write.act {
        Act::Write { value } => {
            elements(value).try_for_each(|value| fold_message(out, write, &value))
        }
        Act::Push { value } => fold_message(out, write, value),
        Act::Replace { value } => {
            out.push(Op::Clear);
            elements(value).try_for_each(|value| fold_message(out, write, &value))
        }
        Act::Remove { key } => {
            remove_message(out, key);
            Ok(())
        }
        Act::Clear => {
            out.push(Op::Clear);
            Ok(())
        }
    }
}

/// A message that was made ready when its task ended (`messages::prepare`).
fn fold_message(
    out: &mut Out<'_>,
    write: &Written<'_>,
    value: &Arc<Value>,
) -> Result<(), RunError> {
    let Some(id) = value.get("id").and_then(Value::as_str) else {
        return Err(out.misfit(write, "it takes messages, each with an `id`"));
    };
    out.push(Op::Put { key: id.into(), value: value.clone() });
    Ok(())
}

fn remove_message(out: &mut Out<'_>, id: &Arc<str>) {
    if &**id == ALL_MESSAGES {
        out.push(Op::Clear);
    } else {
        out.push(Op::Drop { key: id.clone() });
    }
}

fn fold_barrier(
    out: &mut Out<'_>,
    parties: &BTreeSet<Arc<str>>,
    write: &Written<'_>,
) -> Result<(), RunError> {
    match write.act {
        Act::Write { value } | Act::Push { value } => elements(value).try_for_each(|value| {
            let party = value.as_str().and_then(|name| parties.get(name));
            let Some(party) = party else {
                return Err(out.misfit(write, "it is a barrier and takes the names of its parties"));
            };
            out.push(Op::Put { key: party.clone(), value });
            Ok(())
        }),
        Act::Clear => {
            out.push(Op::Clear);
            Ok(())
        }
        Act::Replace { .. } | Act::Remove { .. } => {
            Err(out.misfit(write, "it is a barrier and takes the names of its parties"))
        }
    }
}

fn fold_custom(
    out: &mut Out<'_>,
    reduce: &Reducer,
    held: Option<Value>,
    writes: &[Written<'_>],
) -> Result<(), RunError> {
    let mut held = held;
    for write in writes {
        held = match write.act {
            Act::Write { value } | Act::Push { value } => Some(reduce(held.as_ref(), value)),
            Act::Replace { value } => Some((**value).clone()),
            Act::Clear => None,
            Act::Remove { .. } => return Err(out.misfit(write, "it has no entries to remove")),
        };
    }
    out.push(held.map_or(Op::Unset, |value| Op::Set { value: Arc::new(value) }));
    Ok(())
}

/// The elements of an array; anything else is its own only element.
fn elements(value: &Arc<Value>) -> Box<dyn Iterator<Item = Arc<Value>> + '_> {
    match &**value {
        Value::Array(elements) => Box::new(elements.iter().cloned().map(Arc::new)),
        _ => Box::new(std::iter::once(value.clone())),
    }
}

/// Whether the barrier `channel` of `parties` names is full in `state`.
pub fn is_full(state: &State, channel: &str, parties: usize) -> bool {
    matches!(state.slot(channel), Some(Slot::List(list)) if list.len() == parties)
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Last => "last value",
            Self::Append => "append",
            Self::Messages => "messages",
            Self::Barrier(_) => "barrier",
            Self::Ephemeral => "ephemeral",
            Self::Custom(_) => "custom",
        })
    }
}
