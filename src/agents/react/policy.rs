//! Which calls need a person's decision.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::agents::react::React;
use crate::agents::review::{Allowed, Decision, Review};
use crate::domain::error::{Error, Fault, Result};
use crate::domain::tool::Risk;

/// An agent's own rule.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Policy {
    /// By tool, what may be decided about its calls.
    pub by_tool: BTreeMap<String, Vec<Allowed>>,
    /// Calls of tools from this risk up are asked for, whatever the tool.
    pub from: Option<Risk>,
    /// The caller may ask for a stricter rule, not for a weaker one.
    pub locked: bool,
}

/// The caller's rule: `configurable.approval_mode`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Mode {
    /// The agent's own.
    #[default]
    Own,
    /// Nothing is asked for.
    Nothing,
    /// Every call from this risk up.
    From(Risk),
}

impl Mode {
    const NAME: &'static str = "approval_mode";

    /// The properties of `configurable` that it is read from.
    pub(super) fn schema() -> Value {
        json!({Self::NAME: {
            "enum": ["level:low", "level:medium", "level:high", "none"],
            "description": "Which tool calls need a decision; the agent's own rule without it.",
        }})
    }

    /// # Errors
    /// [`Fault::Invalid`] naming `config.configurable.approval_mode`.
    pub fn read(configurable: &Map<String, Value>) -> Result<Self> {
        match configurable.get(Self::NAME) {
            None | Some(Value::Null) => Ok(Self::Own),
            Some(Value::String(text)) if text == "none" => Ok(Self::Nothing),
            Some(Value::String(text)) if text == "level:low" => Ok(Self::From(Risk::Low)),
            Some(Value::String(text)) if text == "level:medium" => Ok(Self::From(Risk::Medium)),
            Some(Value::String(text)) if text == "level:high" => Ok(Self::From(Risk::High)),
            Some(_) => Err(Error::invalid(
                "config.configurable.approval_mode",
                "approval_mode must be level:low, level:medium, level:high or none",
            )),
        }
    }
}

impl Policy {
    /// What may be decided about a call of this tool; `None` if it needs no decision.
    pub(super) fn asks(&self, mode: Mode, tool: &str, risk: Risk) -> Option<Vec<Allowed>> {
        let own = self.by_tool.contains_key(tool) || self.from.is_some_and(|level| risk >= level);
        let asks = match mode {
            Mode::Own => own,
            Mode::Nothing => own && self.locked,
            Mode::From(level) => risk >= level || (own && self.locked),
        };
        asks.then(|| self.by_tool.get(tool).cloned().unwrap_or_else(|| Allowed::ALL.to_vec()))
    }
}

/// Refuses edits whose arguments the tool does not take, before anything is resumed.
///
/// # Errors
/// [`Fault::Invalid`], code `invalid_decision`.
pub(super) fn check_edits(agent: &React, asked: &Value, answer: &Value) -> Result<()> {
    let Some(review) = Review::of(asked) else { return Ok(()) };
    let decisions = review.decisions(answer)?;
    for (place, (request, decision)) in review.action_requests.iter().zip(decisions).enumerate() {
        let Decision::Edit { args } = decision else { continue };
        if let Err(wrong) = agent.check_args(&request.name, &args) {
            let why = format!("decisions[{place}]: {wrong}");
            return Err(
                Error::new(Fault::Invalid, "invalid_decision", why).at("command.resume.decisions")
            );
        }
    }
    Ok(())
}
