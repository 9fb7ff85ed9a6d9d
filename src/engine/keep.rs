//! What a task keeps over a pause, so that what it did before is not done again.
//!
//! It lies beside the record of what the task asks, as a record of its own, and is written only
//! when the task asks: work that is done in one go costs nothing.

use std::future::Future;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::checkpoint::{Kept, TaskOutcome, TaskRecord};
use crate::domain::ids::TaskId;
use crate::engine::cx::Cx;
use crate::engine::halt::Halt;
use crate::engine::plan::{Standing, Task};

/// The node of the records that hold what tasks keep.
const KEEPER: &str = "__kept__";

impl Cx {
    /// Does `work` unless this task has done it before: a task that runs again after a pause, or
    /// after a failure that its retry policy allows, is given the result of then.
    ///
    /// Keys tell the works of a task apart. `work` must not ask by itself
    /// ([`Cx::interrupt`]): questions are told apart by their order, and work that is not done
    /// again would not ask again. A graph that it runs may.
    ///
    /// ```
    /// # use runloom::engine::{Cx, Halt, Update};
    /// # use serde_json::json;
    /// async fn publish(cx: Cx) -> Result<Update, Halt> {
    ///     let draft = cx.once("draft", async { Ok(json!("a long text")) }).await?;
    ///     let answer = cx.interrupt(json!({"publish": draft}))?;
    ///     Ok(Update::new().set("published", answer == "yes"))
    /// }
    /// ```
    ///
    /// # Errors
    /// What `work` returns; nothing is kept then.
    pub async fn once<T, F>(&self, key: &str, work: F) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, Halt>>,
    {
        let memo = self.notes().kept.memos.get(key).cloned();
        if let Some(memo) = memo {
            return Ok(serde_json::from_value(memo)?);
        }
        let result = work.await?;
        let memo = serde_json::to_value(&result)?;
        self.notes().kept.memos.insert(key.to_owned(), memo);
        Ok(result)
    }
}

/// What `task` kept, among the records of its step.
pub(crate) fn find(task: TaskId, records: &[TaskRecord]) -> Option<Kept> {
    let id = keeper_id(task);
    let record = records.iter().find(|record| record.task_id == id)?;
    match &record.outcome {
        TaskOutcome::Done { command } => Kept::deserialize(command).ok(),
        TaskOutcome::Asks { .. } => None,
    }
}

/// The record of what a task that asks keeps, if that is anything.
pub(crate) fn record(task: &Task) -> Option<TaskRecord> {
    if !matches!(task.standing, Standing::Asks(_)) || task.kept.is_empty() {
        return None;
    }
    let command = serde_json::to_value(&task.kept).unwrap_or_default();
    Some(TaskRecord {
        task_id: keeper_id(task.id),
        node: KEEPER.to_owned(),
        outcome: TaskOutcome::Done { command },
    })
}

fn keeper_id(task: TaskId) -> TaskId {
    TaskId(Uuid::new_v5(&task.0, b"kept"))
}
