//! A caller that goes away takes its run with it, unless the run says otherwise.

use futures::StreamExt;

use crate::app::{App, Caller, Follow, Followed};
use crate::domain::ids::RunId;
use crate::domain::run::{CancelAction, OnDisconnect, Run};

/// Cancels the run when dropped, unless disarmed before.
pub(super) struct Guard {
    app: App,
    who: Caller,
    run: Option<RunId>,
}

impl Guard {
    pub(super) fn new(app: App, run: &Run) -> Self {
        let cancels = run.spec.on_disconnect == OnDisconnect::Cancel;
        Self { app, who: Caller { owner: run.owner.clone() }, run: cancels.then_some(run.id) }
    }

    pub(super) fn disarm(mut self) {
        self.run = None;
    }

    /// Guards the run for as long as it is followed.
    pub(super) fn watch(self, follow: Follow) -> Follow {
        let mut guard = Some(self);
        let events = follow.events.inspect(move |followed| {
            if matches!(followed, Ok(Followed::End(_)))
                && let Some(guard) = guard.take()
            {
                guard.disarm();
            }
        });
        Follow { events: Box::pin(events), ..follow }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(run) = self.run else { return };
        let (app, who) = (self.app.clone(), self.who.clone());
        self.app.0.executor.spawn(async move {
            if let Err(error) = app.run_cancel(&who, run, CancelAction::Interrupt, false).await {
                tracing::warn!(run.id = %run, error = ?error, "cannot cancel an abandoned run");
            }
        });
    }
}
