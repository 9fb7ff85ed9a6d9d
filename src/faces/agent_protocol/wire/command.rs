use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::one_or_many::one_or_many;
use super::{OneOrMany, present};
use crate::app::Pause;
use crate::domain::run::{self, RunCommand};

/// How to go on with a thread that waits, or otherwise steer it.
#[derive(Default, Deserialize, ToSchema)]
pub struct Command {
    /// The answer: any value for the one open interrupt, or an object from interrupt id to answer.
    #[serde(default, deserialize_with = "present")]
    pub resume: Option<Value>,
    /// Written to the state as the run begins.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub update: Option<Map<String, Value>>,
    /// The nodes to go to.
    #[schema(schema_with = one_or_many::<Goto>)]
    pub goto: Option<OneOrMany<Goto>>,
}

impl Command {
    /// What it does about the pause, and the rest of it.
    pub fn read(self) -> (Pause, Option<RunCommand>) {
        let alone = self.update.is_none() && self.goto.is_none();
        // `null` is an answer like any other, unless a client just writes out what it left empty.
        let resume = self.resume.filter(|resume| alone || !resume.is_null());
        let goto = self.goto.map(OneOrMany::into_vec).unwrap_or_default();
        let goto = goto.into_iter().map(Into::into).collect();
        let command = RunCommand { update: self.update, goto, ..RunCommand::default() };
        (resume.map_or(Pause::Abandon, Pause::Resume), Some(command))
    }
}

/// A node to go to, by name, or with an input of its own.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected the name of a node, or an object with node and input")]
pub enum Goto {
    Node(String),
    Send { node: String, input: Option<Value> },
}

impl From<Goto> for run::Goto {
    fn from(goto: Goto) -> Self {
        match goto {
            Goto::Node(node) => Self { node, input: None },
            Goto::Send { node, input } => Self { node, input },
        }
    }
}
