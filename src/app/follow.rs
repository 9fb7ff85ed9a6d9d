//! Following a run: its stored log, then what happens live, each event once.

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;

use crate::app::{App, Caller};
use crate::domain::error::Result;
use crate::domain::event::{Logged, Seq};
use crate::domain::ids::RunId;
use crate::domain::run::Run;
use crate::domain::state::State;

/// Where a follower comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// What happens after the call.
    Now,
    /// What came after this number; 0 is all.
    After(Seq),
}

/// One thing that a follower sees.
#[derive(Clone, Debug)]
pub enum Followed {
    /// An event before the place where the follower came in: it is to know it, not to show it.
    Known(Arc<Logged>),
    Event(Arc<Logged>),
    /// Events after `after` are no longer kept; the next one is at `first_available` (`None`:
    /// nothing is). The state to go on from is `base`.
    Gap { after: Seq, first_available: Option<Seq>, base: State },
    /// The run is over; nothing follows. The run as it ended.
    End(Box<Run>),
}

/// A run with everything that happens in it. Ends after [`Followed::End`].
pub struct Follow {
    pub run: Run,
    /// The state before the first event.
    pub base: State,
    pub events: Pin<Box<dyn Stream<Item = Result<Followed>> + Send>>,
}

#[allow(unused_variables, clippy::todo, clippy::unused_async, reason = "being written")]
impl App {
    pub async fn run_follow(&self, who: &Caller, id: RunId, from: From) -> Result<Follow> { todo!() }
}
