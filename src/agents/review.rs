//! Reviews: what an agent asks before it runs a tool that needs a decision, and what may be
//! answered.
//!
//! The question is `{action_requests: [{name, args, description}], review_configs: [{action_name,
//! allowed_decisions}]}`, the answer `{decisions: [{type, …}]}` with one decision a request, in
//! their order: LangChain's human-in-the-loop shapes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::error::{Error, Result};

/// What a reviewer may decide about one action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allowed {
    Approve,
    Edit,
    Reject,
    Respond,
}

impl Allowed {
    pub const ALL: [Self; 4] = [Self::Approve, Self::Edit, Self::Reject, Self::Respond];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Edit => "edit",
            Self::Reject => "reject",
            Self::Respond => "respond",
        }
    }
}

/// An action that needs a decision.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ActionRequest {
    pub name: String,
    pub args: Value,
    pub description: String,
}

/// Which decisions are allowed for the actions of one name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReviewConfig {
    pub action_name: String,
    pub allowed_decisions: Vec<Allowed>,
}

/// The question.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Review {
    pub action_requests: Vec<ActionRequest>,
    pub review_configs: Vec<ReviewConfig>,
}

/// One decision.
#[derive(Clone, PartialEq, Debug)]
pub enum Decision {
    Approve,
    /// Run it with these arguments instead.
    Edit {
        args: Map<String, Value>,
    },
    /// Do not run it; the model is told so.
    Reject {
        message: Option<String>,
    },
    /// Do not run it; this is its result.
    Respond {
        message: String,
    },
}

/// Refuses an answer that the question does not allow. Questions that are no reviews allow any.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) with code `invalid_decision`, naming
/// `command.resume.decisions`.
pub fn check(asked: &Value, answer: &Value) -> Result<()> {
    match Review::of(asked) {
        Some(review) => review.decisions(answer).map(drop),
        None => Ok(()),
    }
}

impl Review {
    /// The review behind an interrupt's value; `None` if it is something else.
    pub fn of(asked: &Value) -> Option<Self> {
        asked.get("action_requests")?;
        Self::deserialize(asked).ok()
    }

    /// The decisions in `answer`, one a request.
    ///
    /// # Errors
    /// `invalid_decision`: too few, too many, of no known form, or not allowed.
    pub fn decisions(&self, answer: &Value) -> Result<Vec<Decision>> {
        let Some(given) = answer.get("decisions").and_then(Value::as_array) else {
            return Err(refusal("the answer to a review must be {\"decisions\": […]}"));
        };
        let (wanted, got) = (self.action_requests.len(), given.len());
        if wanted != got {
            return Err(refusal(format!(
                "{wanted} actions need a decision each, {got} were given"
            )));
        }
        let pairs = self.action_requests.iter().zip(given).enumerate();
        pairs.map(|(place, (request, given))| self.decision(place, request, given)).collect()
    }

    fn decision(&self, place: usize, request: &ActionRequest, given: &Value) -> Result<Decision> {
        let kind = given.get("type").and_then(Value::as_str).unwrap_or_default();
        let allowed = self.allowed(&request.name);
        let Some(kind) = allowed.iter().find(|allowed| allowed.as_str() == kind) else {
            let names: Vec<_> = allowed.iter().map(|allowed| allowed.as_str()).collect();
            let (name, names) = (&request.name, names.join(", "));
            let why = format!("decisions[{place}].type must be one of {names} for {name}");
            return Err(refusal(why));
        };
        let message = given.get("message").and_then(Value::as_str).map(str::to_owned);
        match kind {
            Allowed::Approve => Ok(Decision::Approve),
            Allowed::Reject => Ok(Decision::Reject { message }),
            Allowed::Respond => {
                message.map(|message| Decision::Respond { message }).ok_or_else(|| {
                    refusal(format!("decisions[{place}].message must be the text to respond with"))
                })
            }
            Allowed::Edit => edited(place, request, given),
        }
    }

    fn allowed(&self, action: &str) -> &[Allowed] {
        let config = self.review_configs.iter().find(|config| config.action_name == action);
        config.map_or(&Allowed::ALL, |config| &config.allowed_decisions)
    }
}

/// `{"type": "edit", "edited_action": {"name", "args"}}`, or the arguments at the top.
fn edited(place: usize, request: &ActionRequest, given: &Value) -> Result<Decision> {
    let action = given.get("edited_action").unwrap_or(given);
    let name = action.get("name").and_then(Value::as_str).unwrap_or(&request.name);
    if name != request.name {
        let why = format!(
            "decisions[{place}] may change the arguments of {}, not its name",
            request.name
        );
        return Err(refusal(why));
    }
    let Some(args) = action.get("args").and_then(Value::as_object) else {
        return Err(refusal(format!("decisions[{place}].edited_action.args must be an object")));
    };
    Ok(Decision::Edit { args: args.clone() })
}

fn refusal(why: impl Into<String>) -> Error {
    Error::new(crate::domain::Fault::Invalid, "invalid_decision", why)
        .at("command.resume.decisions")
}
