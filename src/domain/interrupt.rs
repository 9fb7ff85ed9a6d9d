//! A question that a run stopped at, and what became of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::domain::checkpoint::Answers;
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::ids::{InterruptId, Namespace, RunId, TaskId};

/// A question to the outside, open until it is answered or withdrawn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interrupt {
    pub id: InterruptId,
    /// What the node asks; its shape is the node's.
    pub value: Value,
    pub namespace: Namespace,
    pub node: String,
    /// `None` for a pause before or after nodes that the caller asked for.
    pub task_id: Option<TaskId>,
}

/// What became of an interrupt.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Fate {
    Open,
    Answered {
        answer: Value,
        at: Ts,
        by: RunId,
    },
    /// Given up: plain input came instead, the run was cancelled, or the history moved on.
    Withdrawn {
        at: Ts,
    },
}

/// An interrupt as it is kept: the question and its fate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    #[serde(flatten)]
    pub interrupt: Interrupt,
    #[serde(flatten)]
    pub fate: Fate,
    pub asked_at: Ts,
}

/// Which of the `open` interrupts a caller's `resume` value answers.
///
/// An object whose keys are all ids is a map from interrupt to answer, and those not named stay
/// open; anything else is the answer to the one that is open.
///
/// # Errors
/// [`Fault::Conflict`](crate::domain::Fault::Conflict) if nothing is open,
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `field` for an id that is not open and
/// for a bare value where several are.
pub fn resolve(field: &str, open: &[Interrupt], resume: &Value) -> Result<Answers> {
    let [first, others @ ..] = open else {
        return Err(Error::conflict("nothing_to_resume", "no interrupt is open on this thread"));
    };
    if let Some(named) = ids_of(resume) {
        for (id, _) in &named {
            if !open.iter().any(|interrupt| interrupt.id == *id) {
                return Err(Error::invalid(
                    field,
                    format!("{field} names {id}, which is not open"),
                ));
            }
        }
        return Ok(named.into_iter().collect());
    }
    if !others.is_empty() {
        return Err(Error::invalid(
            field,
            format!(
                "{} interrupts are open: {field} must be a map from interrupt id to answer",
                open.len()
            ),
        ));
    }
    Ok(Answers::from([(first.id, resume.clone())]))
}

/// The members of `resume`, if it is an object whose keys are all UUIDs.
fn ids_of(resume: &Value) -> Option<Vec<(InterruptId, Value)>> {
    let members = resume.as_object().filter(|members| !members.is_empty())?;
    members
        .iter()
        .map(|(key, answer)| Some((InterruptId(Uuid::try_parse(key).ok()?), answer.clone())))
        .collect()
}
