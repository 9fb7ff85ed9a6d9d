//! Signatures that `app` is written against; each becomes real in its table's file.
#![allow(unused_variables, clippy::todo, clippy::unused_async, reason = "replaced file by file")]

use super::*;

impl Store {
    /// Connects; does not migrate. SQLite: WAL, foreign keys, one writer, a second process on
    /// the file is refused.
    pub async fn open(options: Options) -> Result<Self> {
        todo!()
    }
    /// Brings the schema up to date, under a lock.
    pub async fn migrate(&self) -> Result<()> {
        todo!()
    }
    /// Whether the database answers and its schema is this program's.
    pub async fn ping(&self) -> Result<()> {
        todo!()
    }
    /// What happens from here on, from this node and (on Postgres) from the others.
    pub fn signals(&self) -> broadcast::Receiver<Signal> {
        todo!()
    }

    // threads.rs
    /// `None` if the owner has a thread of this id.
    pub async fn thread_create(&self, new: NewThread) -> Result<Option<Thread>> {
        todo!()
    }
    pub async fn thread_get(&self, owner: &Owner, id: ThreadId) -> Result<Option<Thread>> {
        todo!()
    }
    /// Newest update first, ties by id.
    pub async fn thread_search(
        &self,
        owner: &Owner,
        filter: &ThreadFilter,
        page: Page,
    ) -> Result<Vec<Thread>> {
        todo!()
    }
    /// Shallow merge. `None` if there is no such thread.
    pub async fn thread_patch(
        &self,
        owner: &Owner,
        id: ThreadId,
        metadata: &Map<String, Value>,
        at: Ts,
    ) -> Result<Option<Thread>> {
        todo!()
    }
    /// Deletes the thread, its history and its runs. `Fault::Busy` while a run of it is unfinished.
    pub async fn thread_delete(&self, owner: &Owner, id: ThreadId) -> Result<bool> {
        todo!()
    }
    /// Rows are copied in a statement a table; runs are not copied; status is what its interrupts say.
    pub async fn thread_copy(
        &self,
        owner: &Owner,
        id: ThreadId,
        new_id: ThreadId,
        at: Ts,
    ) -> Result<Option<Thread>> {
        todo!()
    }
    /// Moves the head. `Fault::Busy` (`thread_busy`) while a run is unfinished; `Fault::Conflict`
    /// (`stale_checkpoint`) if its place is taken meanwhile. Interrupts whose task is due in the
    /// new frontier stay open, others are withdrawn. Draws one seq and stores a segment with the
    /// `CheckpointSaved` event (run id nil) so that watchers of the thread see it.
    pub async fn thread_update(&self, key: ThreadKey, update: StateUpdate) -> Result<Thread> {
        todo!()
    }

    // checkpoints.rs
    /// `at: None` is the newest. The state is folded from the changes along the lineage.
    pub async fn snapshot(
        &self,
        key: ThreadKey,
        namespace: &Namespace,
        at: Option<CheckpointId>,
    ) -> Result<Option<Snapshot>> {
        todo!()
    }
    /// Newest first over all branches, in order of writing; from before `before` if given
    /// (`Fault::NotFound`, `checkpoint_not_found`).
    pub async fn history(
        &self,
        key: ThreadKey,
        namespace: &Namespace,
        before: Option<CheckpointId>,
        limit: u32,
    ) -> Result<Vec<Snapshot>> {
        todo!()
    }
    /// All questions ever asked on the thread, oldest first, with their fate.
    pub async fn interrupts(&self, key: ThreadKey) -> Result<Vec<interrupt::Record>> {
        todo!()
    }

    // runs.rs
    /// One transaction. Errors: `thread_not_found`, `thread_busy` (`Multitask::Reject`: Fault::Busy;
    /// a resume on a busy thread: Fault::Conflict), those of `OnPause`, `queue_full` (Fault::Limited).
    /// `Multitask::Interrupt`/`Rollback` mark the thread's unfinished runs to be cancelled
    /// (pending ones are cancelled on the spot, rolled back ones deleted) and queue this one.
    pub async fn run_create(&self, new: NewRun) -> Result<Created> {
        todo!()
    }
    pub async fn run_get(&self, owner: &Owner, id: RunId) -> Result<Option<Run>> {
        todo!()
    }
    /// Newest first by creation, ties by id.
    pub async fn run_search(
        &self,
        owner: &Owner,
        filter: &RunFilter,
        page: Page,
    ) -> Result<Vec<Run>> {
        todo!()
    }
    /// `Fault::Conflict` (`run_unfinished`) while it is pending or running. `false`: no such run.
    pub async fn run_delete(&self, owner: &Owner, id: RunId) -> Result<bool> {
        todo!()
    }
    /// A pending run is over at once (its thread's status follows; with `Rollback` the run is
    /// deleted); a paused one is cancelled and its interrupts are withdrawn; a running one is marked.
    pub async fn run_cancel(
        &self,
        owner: &Owner,
        id: RunId,
        action: CancelAction,
        at: Ts,
    ) -> Result<CancelOutcome> {
        todo!()
    }
    /// The unfinished runs of a thread, oldest first.
    pub async fn run_unfinished(&self, key: ThreadKey) -> Result<Vec<Run>> {
        todo!()
    }

    // events.rs
    /// Stored segments of a run that end after `after`, oldest first, at most `max`.
    pub async fn run_log(&self, run: RunId, after: Seq, max: u32) -> Result<Vec<Segment>> {
        todo!()
    }
    /// The same for everything on a thread.
    pub async fn thread_log(&self, key: ThreadKey, after: Seq, max: u32) -> Result<Vec<Segment>> {
        todo!()
    }
    /// The highest number that may have been handed out on the thread.
    pub async fn thread_seq(&self, key: ThreadKey) -> Result<Seq> {
        todo!()
    }

    // items.rs
    pub async fn item_put(
        &self,
        owner: &Owner,
        namespace: &Labels,
        key: &str,
        value: &Map<String, Value>,
        at: Ts,
    ) -> Result<()> {
        todo!()
    }
    pub async fn item_get(
        &self,
        owner: &Owner,
        namespace: &Labels,
        key: &str,
    ) -> Result<Option<Item>> {
        todo!()
    }
    pub async fn item_delete(&self, owner: &Owner, namespace: &Labels, key: &str) -> Result<bool> {
        todo!()
    }
    /// Below the prefix; newest update first, ties by namespace and key. No conditions: all.
    pub async fn item_search(
        &self,
        owner: &Owner,
        prefix: &Labels,
        conditions: &[Condition],
        page: Page,
    ) -> Result<Vec<Item>> {
        todo!()
    }
    /// Distinct namespaces in order; `*` in prefix or suffix is any one label; deeper ones are cut
    /// to `max_depth` labels.
    pub async fn item_namespaces(
        &self,
        owner: &Owner,
        prefix: &[String],
        suffix: &[String],
        max_depth: Option<u32>,
        page: Page,
    ) -> Result<Vec<Labels>> {
        todo!()
    }

    // outbox.rs
    /// Takes up to `max` deliveries that are due, and puts them off by `lease`.
    pub async fn delivery_take(&self, max: u32, lease: Duration, at: Ts) -> Result<Vec<Delivery>> {
        todo!()
    }
    /// Delivered, or refused for good (`error`): the outcome is recorded.
    pub async fn delivery_finish(&self, id: DeliveryId, error: Option<&str>, at: Ts) -> Result<()> {
        todo!()
    }
    /// It will be tried again at `next`.
    pub async fn delivery_retry(&self, id: DeliveryId, next: Ts, error: &str) -> Result<()> {
        todo!()
    }
}

impl crate::executor::port::RunLedger for Store {
    fn claim<'a>(
        &'a self,
        worker: &'a str,
        agents: &'a [AgentId],
        lease: Duration,
        max: u32,
    ) -> crate::domain::ports::BoxFuture<'a, Result<Vec<Claim>>> {
        todo!()
    }
    fn extend<'a>(
        &'a self,
        fences: &'a [crate::executor::port::Fence],
        lease: Duration,
    ) -> crate::domain::ports::BoxFuture<'a, Result<Vec<crate::executor::port::Held>>> {
        todo!()
    }
    fn commit(
        &self,
        commit: crate::executor::port::Commit,
    ) -> crate::domain::ports::BoxFuture<'_, Result<()>> {
        todo!()
    }
    fn requeue_expired(
        &self,
        max_attempts: u32,
    ) -> crate::domain::ports::BoxFuture<'_, Result<u64>> {
        todo!()
    }
    fn snapshot<'a>(
        &'a self,
        thread: ThreadKey,
        namespace: &'a Namespace,
        at: Option<CheckpointId>,
    ) -> crate::domain::ports::BoxFuture<'a, Result<Option<Snapshot>>> {
        todo!()
    }
    fn answers(
        &self,
        thread: ThreadKey,
    ) -> crate::domain::ports::BoxFuture<'_, Result<crate::domain::checkpoint::Answers>> {
        todo!()
    }
}
