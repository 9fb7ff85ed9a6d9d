use std::fmt;

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::domain::run;

/// `"*"` for all nodes, or their names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Breakpoints {
    #[schema(example = "*")]
    All(String),
    Nodes(Vec<String>),
}

impl Breakpoints {
    const ALL: &str = "*";

    pub fn of_run(breakpoints: run::Breakpoints) -> Option<Self> {
        match breakpoints {
            run::Breakpoints::None => None,
            run::Breakpoints::All => Some(Self::All(Self::ALL.to_owned())),
            run::Breakpoints::Nodes(nodes) => Some(Self::Nodes(nodes)),
        }
    }
}

impl From<Breakpoints> for run::Breakpoints {
    fn from(breakpoints: Breakpoints) -> Self {
        match breakpoints {
            Breakpoints::All(_) => Self::All,
            Breakpoints::Nodes(nodes) if nodes.is_empty() => Self::None,
            Breakpoints::Nodes(nodes) => Self::Nodes(nodes),
        }
    }
}

impl<'de> Deserialize<'de> for Breakpoints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Breakpoints;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"*\" or a list of nodes")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Breakpoints, E> {
                match text {
                    Breakpoints::ALL => Ok(Breakpoints::All(text.to_owned())),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut nodes: A) -> Result<Breakpoints, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = nodes.next_element::<String>()? {
                    if name == Breakpoints::ALL {
                        return Err(A::Error::custom("\"*\" stands alone, not in a list"));
                    }
                    names.push(name);
                }
                Ok(Breakpoints::Nodes(names))
            }
        }

        deserializer.deserialize_any(Either)
    }
}
