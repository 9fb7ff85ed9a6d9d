//! Runs the tasks of one step side by side, and keeps what they leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use crate::domain::interrupt::Interrupt;
use crate::engine::apply::Done;
use crate::engine::drive::Exit;
use crate::engine::graph::Graph;
use crate::engine::keep;
use crate::engine::plan::{Standing, Task};
use crate::engine::scope::Scope;
use crate::engine::stand::Stand;
use crate::engine::task::Running;

/// How a step came out.
pub(crate) enum Stepped {
    /// Every task is done: what they leave, in the order of the tasks.
    Done(Vec<Done>),
    /// Some task asks; whatever the others did is kept.
    Asks(Vec<Interrupt>),
}

/// Runs those of `tasks` that are due.
///
/// What a task leaves is saved as soon as it is done if others are not: a second attempt then
/// runs only those. The last one's is saved with the whole step.
pub(crate) async fn run(
    graph: &Graph,
    scope: &Arc<Scope>,
    stand: &Stand,
    mut tasks: Vec<Task>,
) -> Result<Stepped, Exit> {
    let due = tasks.iter().enumerate().filter(|(_, task)| task.standing == Standing::Due);
    let unfinished = AtomicUsize::new(due.clone().count());
    let mut running: FuturesUnordered<_> = due
        .map(|(place, task)| {
            let step = stand.next.step;
            let running = Running { graph, scope, state: &stand.state, task, step };
            run_one(place, running, &unfinished)
        })
        .collect();
    let mut came = Vec::with_capacity(running.len());
    let mut drained = false;
    while let Some(one) = running.next().await {
        match one {
            Ok(one) => came.push(one),
            // A graph below has stopped between two of its steps; the other tasks finish theirs.
            Err(Exit::Stopped) if !scope.run.stop.is_cancelled() => drained = true,
            Err(exit) => return Err(exit),
        }
    }
    if drained {
        return Err(Exit::Stopped);
    }
    drop(running);
    for (place, finished) in came {
        if let Some(task) = tasks.get_mut(place) {
            *task = finished;
        }
    }
    conclude(scope, tasks).await
}

async fn run_one(
    place: usize,
    running: Running<'_>,
    unfinished: &AtomicUsize,
) -> Result<(usize, Task), Exit> {
    let mut task = running.run().await?;
    let others = unfinished.fetch_sub(1, Ordering::Relaxed) > 1;
    if others && matches!(task.standing, Standing::Done(_)) {
        save(running.scope, &mut task).await?;
    }
    Ok((place, task))
}

/// The step as a whole, after all its tasks have come to a stand.
async fn conclude(scope: &Scope, mut tasks: Vec<Task>) -> Result<Stepped, Exit> {
    let asks = |task: &Task| matches!(task.standing, Standing::Asks(_));
    if tasks.iter().any(asks) {
        // A caller's command goes first: while it is not kept, some task is due still, and a run
        // that is taken over sees that it has not been taken in.
        tasks.sort_by_key(|task| !task.is_call());
        for task in &mut tasks {
            save(scope, task).await?;
        }
        let interrupts = tasks.into_iter().filter_map(|task| match task.standing {
            Standing::Asks(interrupts) => Some(interrupts),
            Standing::Due | Standing::Done(_) => None,
        });
        return Ok(Stepped::Asks(interrupts.flatten().collect()));
    }
    let done = tasks.into_iter().filter_map(|task| match task.standing {
        Standing::Done(command) => Some(Done { node: task.node, command }),
        Standing::Due | Standing::Asks(_) => None,
    });
    Ok(Stepped::Done(done.collect()))
}

/// Keeps how the task stands, if that is not kept already.
async fn save(scope: &Scope, task: &mut Task) -> Result<(), Exit> {
    if task.saved {
        return Ok(());
    }
    if let Some(record) = task.record(scope.run.run_id) {
        // What it kept goes first: a question is open only once that is safe.
        if let Some(kept) = keep::record(task) {
            scope.run.saver.put_task(&scope.namespace, kept).await?;
        }
        scope.run.saver.put_task(&scope.namespace, record).await?;
        task.saved = true;
    }
    Ok(())
}
