//! What a caller's input means for the state: the same reading when a run is accepted (where it
//! is only checked) and when it starts.
//!
//! The rule is that of `docs/graphs.md`: a text is a user's message, an array holds messages, an
//! object holds messages, one text to be said, and values for other channels.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::agents::registry::{Agent, OtherInput};
use crate::domain::error::{Error, Result};
use crate::domain::ids::RunId;
use crate::domain::message::{CHANNEL, Message, derived_id};
use crate::domain::run::RunSpec;
use crate::engine::Update;

/// Members of an input object that may hold what the user says; the first one present does.
const SPOKEN: [&str; 4] = ["message", "prompt", "text", "question"];

/// Refuses what the agent cannot run with.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming the field.
pub fn check(agent: &Agent, spec: &RunSpec, run_id: RunId) -> Result<()> {
    update(agent, spec, run_id)?;
    command_update(spec, run_id)?;
    agent.check(spec)
}

/// What the run's input writes; `None` if it brings none, so that it goes on from where its
/// thread stands. Messages without an id get one derived from the run.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `input`, `input.messages[i].role`,
/// `messages[i].role` and the like.
pub fn update(agent: &Agent, spec: &RunSpec, run_id: RunId) -> Result<Option<Update>> {
    let input = spec.input.as_ref().filter(|input| !input.is_null());
    if input.is_none() && spec.messages.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader { source: run_id.0, made: 0, update: Update::new() };
    if let Some(input) = input {
        reader.input(agent, input)?;
    }
    reader.messages(CHANNEL, &spec.messages)?;
    Ok(Some(reader.update))
}

/// What the run's command writes.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `command.update.messages[i]`'s member.
pub fn command_update(spec: &RunSpec, run_id: RunId) -> Result<Option<Update>> {
    let given = spec.command.as_ref().and_then(|command| command.update.as_ref());
    given.map(|members| values("command.update", members, run_id.0)).transpose()
}

/// What an object of channel values writes; messages in it without an id get one derived from
/// `source`.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming the member below `field`.
pub fn values(field: &str, members: &Map<String, Value>, source: Uuid) -> Result<Update> {
    let mut reader = Reader { source, made: 0, update: Update::new() };
    reader.values(field, members)?;
    Ok(reader.update)
}

/// What a list of messages writes: those without an id get one derived from `source`.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `FIELD[i]`'s member.
pub fn messages(field: &str, list: &[Value], source: Uuid) -> Result<Update> {
    let mut reader = Reader { source, made: 0, update: Update::new() };
    reader.messages(field, list)?;
    Ok(reader.update)
}

/// Reads one caller's input.
struct Reader {
    source: Uuid,
    /// Messages read so far.
    made: usize,
    update: Update,
}

impl Reader {
    fn input(&mut self, agent: &Agent, input: &Value) -> Result<()> {
        match input {
            Value::String(text) => self.say(text),
            Value::Object(members) => return self.object(members),
            Value::Array(elements) if elements.iter().all(is_message_like) => {
                return self.messages("input", elements);
            }
            other if agent.other_input == OtherInput::AsText => self.say(&other.to_string()),
            _ => {
                let why = "input must be a text, an object, or an array of messages";
                return Err(Error::invalid("input", why));
            }
        }
        Ok(())
    }

    /// The messages, then what is said, then the other channels.
    fn object(&mut self, members: &Map<String, Value>) -> Result<()> {
        let said = SPOKEN.into_iter().find(|name| members.get(*name).is_some_and(Value::is_string));
        let others = members.iter().filter(|(name, _)| Some(name.as_str()) != said);
        let (messages, others): (Map<_, _>, Map<_, _>) = others
            .map(|(name, value)| (name.clone(), value.clone()))
            .partition(|(name, _)| name == CHANNEL);
        self.values("input", &messages)?;
        if let Some(text) = said.and_then(|name| members.get(name)?.as_str()) {
            self.say(text);
        }
        self.values("input", &others)
    }

    fn values(&mut self, field: &str, members: &Map<String, Value>) -> Result<()> {
        for (channel, value) in members {
            match value {
                Value::Null if channel == CHANNEL => {}
                Value::Array(list) if channel == CHANNEL => {
                    self.messages(&format!("{field}.{CHANNEL}"), list)?;
                }
                _ if channel == CHANNEL => {
                    let field = format!("{field}.{CHANNEL}");
                    return Err(Error::invalid(
                        &field,
                        format!("{field} must be an array of messages"),
                    ));
                }
                _ => self.write(|update| update.set(channel, value.clone())),
            }
        }
        Ok(())
    }

    fn messages(&mut self, field: &str, list: &[Value]) -> Result<()> {
        for (place, value) in list.iter().enumerate() {
            if let Some(id) = removed(value) {
                self.write(|update| update.remove_message(id));
                continue;
            }
            let (source, ordinal) = (self.source, self.made);
            let field = format!("{field}[{place}]");
            let message = Message::read(&field, value, || derived_id(source, ordinal))?;
            self.made += 1;
            self.write(|update| update.message(message));
        }
        Ok(())
    }

    fn say(&mut self, text: &str) {
        let message = Message::user(derived_id(self.source, self.made), text);
        self.made += 1;
        self.write(|update| update.message(message));
    }

    fn write(&mut self, add: impl FnOnce(Update) -> Update) {
        self.update = add(std::mem::take(&mut self.update));
    }
}

fn is_message_like(value: &Value) -> bool {
    value.get("role").or_else(|| value.get("type")).is_some()
}

/// The id in `{"role": "remove", "id": …}`.
fn removed(value: &Value) -> Option<&str> {
    let role = value.get("role").or_else(|| value.get("type"))?.as_str()?;
    (role == "remove").then(|| value.get("id")?.as_str()).flatten()
}
