use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a stream shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamMode {
    /// The whole state after the input and after each step.
    Values,
    /// Messages, piece by piece.
    Messages,
    /// What each task changed.
    Updates,
    /// What nodes write for whoever watches.
    Custom,
}

impl StreamMode {
    pub const ALL: [Self; 4] = [Self::Values, Self::Messages, Self::Updates, Self::Custom];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Messages => "messages",
            Self::Updates => "updates",
            Self::Custom => "custom",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }

    /// The modes that a run was started with, as far as they are this face's words.
    pub fn of_run(modes: &[String]) -> Vec<Self> {
        let known: Vec<Self> = modes.iter().filter_map(|mode| Self::parse(mode)).collect();
        if known.is_empty() { vec![Self::Values] } else { known }
    }
}
