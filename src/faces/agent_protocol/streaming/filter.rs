//! Which events a subscription takes: channels, namespace prefixes and depth.

use super::wire::{Channel, Data, Event, NamespacePath, SubscribeParams};
use crate::domain::error::{Error, Result};
use crate::domain::ids::Namespace;

/// What a subscription asks for, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    params: SubscribeParams,
}

impl Filter {
    pub fn read(params: SubscribeParams) -> Result<Self> {
        if params.channels.is_empty() {
            return Err(Error::invalid("channels", "channels must name at least one channel"));
        }
        Ok(Self { params })
    }

    pub fn params(&self) -> &SubscribeParams {
        &self.params
    }

    /// Whether states are needed.
    pub fn folds(&self) -> bool {
        self.params.channels.contains(&Channel::Values)
    }

    pub fn takes(&self, event: &Event) -> bool {
        // That something is missing concerns everybody.
        matches!(event.data, Data::ResumeGap(_))
            || (self.takes_data(&event.data) && self.takes_namespace(&event.namespace))
    }

    fn takes_data(&self, data: &Data) -> bool {
        let wanted = match data {
            Data::Values(_) => Channel::Values,
            Data::Updates(_) => Channel::Updates,
            Data::Messages(_) => Channel::Messages,
            Data::Tools(_) => Channel::Tools,
            Data::Lifecycle(_) => Channel::Lifecycle,
            Data::Input(_) => Channel::Input,
            Data::Checkpoints(_) => Channel::Checkpoints,
            Data::Tasks(_) => Channel::Tasks,
            Data::ResumeGap(_) => return true,
            Data::Custom(custom) => {
                return self.params.channels.iter().any(|channel| match channel {
                    Channel::Custom => true,
                    Channel::CustomNamed(name) => custom.name.as_ref() == Some(name),
                    _ => false,
                });
            }
        };
        self.params.channels.contains(&wanted)
    }

    fn takes_namespace(&self, namespace: &Namespace) -> bool {
        let deep_enough = |below: usize| {
            let depth = self.params.depth.map(|depth| usize::try_from(depth).unwrap_or(usize::MAX));
            depth.is_none_or(|depth| below <= depth)
        };
        match self.params.namespaces.as_deref() {
            None | Some([]) => deep_enough(namespace.depth()),
            Some(prefixes) => {
                prefixes.iter().any(|prefix| below(namespace, prefix).is_some_and(&deep_enough))
            }
        }
    }
}

/// How many levels `namespace` lies below `prefix`, if it does.
fn below(namespace: &Namespace, prefix: &NamespacePath) -> Option<usize> {
    let levels = namespace.depth().checked_sub(prefix.len())?;
    let mut pairs = namespace.0.iter().zip(prefix);
    pairs.all(|(segment, wanted)| is_segment(segment, wanted)).then_some(levels)
}

/// A segment is `node:task`; a client that cannot know the task names the node.
fn is_segment(segment: &str, wanted: &str) -> bool {
    segment == wanted || segment.split_once(':').is_some_and(|(node, _)| node == wanted)
}

#[cfg(test)]
mod tests;
