//! Steering a thread: input for it whatever it is doing, a word to what is running, another way
//! from an older place.

use serde_json::{Map, Value};

use crate::app::{App, Caller, Pause, StartRun, Started, ThreadTarget};
use crate::domain::error::{Error, Result};
use crate::domain::ids::ThreadId;
use crate::domain::run::{Multitask, Run, RunSpec};
use crate::domain::thread::ThreadStatus;

/// Input for a thread.
#[derive(Clone)]
pub struct Steer {
    pub thread: ThreadId,
    /// An id or alias; the thread's last agent or the default if absent.
    pub agent: Option<String>,
    /// An answer if the thread waits for one, else what the agent takes as input.
    pub input: Value,
    pub spec: RunSpec,
    pub metadata: Map<String, Value>,
}

impl App {
    /// Gives the thread its input: as the answer if it is paused, as a run of its own if nothing
    /// runs, else as the next run, which begins when the one under way is over. Makes the thread
    /// if it is missing.
    ///
    /// The next run is how input gets into a running graph: it is on disk when this answers, and
    /// the state it is taken into is the one that the steps before it left.
    pub async fn thread_steer(&self, who: &Caller, steer: Steer) -> Result<Started> {
        loop {
            let thread = self.0.store.thread_get(&who.owner, steer.thread).await?;
            let waits = thread.is_some_and(|thread| thread.status == ThreadStatus::Interrupted);
            match self.run_start(who, steer.clone().into_run(waits)).await {
                // It was answered, or began to wait, in between.
                Err(error) if waits && error.code == "nothing_to_resume" => {}
                Err(error) if waits && error.code == "thread_busy" => {}
                Err(error) if !waits && error.code == "thread_interrupted" => {}
                answer => return answer,
            }
        }
    }

    /// Leaves a message for what runs on the thread (`nothing_running`).
    pub async fn thread_inject(
        &self,
        who: &Caller,
        id: ThreadId,
        message: Value,
    ) -> Result<Started> {
        let run = self.run_under_way(who, id).await?.ok_or_else(|| {
            let public = format!("nothing runs on thread {id}");
            Error::conflict("nothing_running", public)
        })?;
        let spec = RunSpec {
            messages: vec![message],
            config: run.spec.config,
            multitask: Multitask::Enqueue,
            ..RunSpec::default()
        };
        let start = StartRun {
            target: ThreadTarget::Existing(id),
            agent: Some(run.agent_id.to_string()),
            spec,
            metadata: run.metadata,
            pause: Pause::Abandon,
            idempotency: None,
            delay: None,
        };
        self.run_start(who, start).await
    }

    /// The oldest run of the thread that is not over.
    pub async fn run_under_way(&self, who: &Caller, id: ThreadId) -> Result<Option<Run>> {
        let thread = self.thread(who, id).await?;
        Ok(self.0.store.run_unfinished(thread.key).await?.into_iter().next())
    }
}

impl Steer {
    /// The run that this is for a thread that waits for an answer, or does not.
    fn into_run(self, waits: bool) -> StartRun {
        let mut spec = RunSpec { multitask: Multitask::Enqueue, ..self.spec };
        let pause = if waits {
            Pause::Resume(self.input)
        } else {
            spec.input = Some(self.input).filter(|input| !input.is_null());
            Pause::Refuse
        };
        StartRun {
            target: ThreadTarget::Ensured(self.thread, Map::new()),
            agent: self.agent,
            spec,
            metadata: self.metadata,
            pause,
            idempotency: None,
            delay: None,
        }
    }
}
