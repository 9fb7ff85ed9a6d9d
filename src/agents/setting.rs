//! Settings of an agent: members of `config.configurable`, read and checked the same way when a
//! run is accepted and when it runs.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use crate::domain::error::{Error, Result};

/// A whole number with a default and bounds.
pub(crate) struct Number {
    pub(crate) name: &'static str,
    pub(crate) default: u64,
    pub(crate) range: RangeInclusive<u64>,
    pub(crate) description: &'static str,
}

impl Number {
    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `config.configurable.NAME`.
    pub(crate) fn read(&self, configurable: &Map<String, Value>) -> Result<u64> {
        let given = configurable.get(self.name).filter(|value| !value.is_null());
        let Some(value) = given else { return Ok(self.default) };
        value.as_u64().filter(|number| self.range.contains(number)).ok_or_else(|| {
            let field = format!("config.configurable.{}", self.name);
            let (least, most) = (self.range.start(), self.range.end());
            Error::invalid(&field, format!("{field} must be a whole number from {least} to {most}"))
        })
    }

    /// Its JSON Schema.
    pub(crate) fn schema(&self) -> Value {
        json!({
            "type": "integer",
            "default": self.default,
            "minimum": self.range.start(),
            "maximum": self.range.end(),
            "description": self.description,
        })
    }
}

/// How long an agent waits between two things it makes.
pub(crate) const DELAY_MS: Number = Number {
    name: "delay_ms",
    default: 0,
    range: 0..=60_000,
    description: "Milliseconds between one and the next.",
};
