//! The words that a run's options have on this face.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::run;

/// Two enums of one meaning, this face's and the domain's, variant by variant.
macro_rules! twins {
    ($($(#[$meta:meta])* $name:ident = $domain:ty { $($variant:ident),* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant),* }

        impl From<$name> for $domain {
            fn from(name: $name) -> Self {
                match name { $($name::$variant => Self::$variant),* }
            }
        }

        impl From<$domain> for $name {
            fn from(meaning: $domain) -> Self {
                match meaning { $(<$domain>::$variant => Self::$variant),* }
            }
        }
    )*};
}

twins! {
    /// Whether the thread is deleted when the run is over.
    OnCompletion = run::OnCompletion { Delete, Keep }
    /// Whether the run is cancelled when its reader goes away.
    OnDisconnect = run::OnDisconnect { Cancel, Continue }
    /// When a step is on disk.
    Durability = run::Durability { Async, Sync, Exit }
    /// What happens on a thread with an unfinished run: wait for it, be refused, or cancel it and
    /// keep or undo what it did.
    MultitaskStrategy = run::Multitask { Enqueue, Reject, Interrupt, Rollback }
}

/// `create` the missing thread, or `reject` the run (404).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IfNotExists {
    Create,
    Reject,
}

impl IfNotExists {
    pub fn from_make_thread(make: bool) -> Self {
        if make { Self::Create } else { Self::Reject }
    }
}
