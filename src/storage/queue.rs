//! The write queue: what comes while a transaction is under way shares the next one, so that the
//! cost of a flush to disk is shared too. There is no timer: a lone write goes at once.

use tokio::sync::{mpsc, oneshot};

use crate::domain::error::{Error, Result};
use crate::executor::port::{Commit, Signal};
use crate::storage::db::{Db, Tx, in_tx};
use crate::storage::error::fail;
use crate::storage::notify::Notifier;
use crate::storage::{Created, NewRun, commit, run_create};

/// At most this many writes share a transaction.
const TOGETHER: usize = 128;
/// How many may wait.
const WAITING: usize = 4096;

/// Takes writes. When the last clone is gone, the queue ends.
#[derive(Clone)]
pub(super) struct Writes(mpsc::Sender<Job>);

enum Job {
    Commit(Box<Commit>, oneshot::Sender<Result<()>>),
    Create(Box<NewRun>, oneshot::Sender<Result<Created>>),
}

impl Job {
    fn commit(&self) -> Option<&Commit> {
        if let Self::Commit(commit, _) = self { Some(commit) } else { None }
    }
}

impl Writes {
    #[expect(clippy::disallowed_methods, reason = "ends with the store that started it")]
    pub(super) fn start(db: Db, notifier: Notifier) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(keep_writing(db, notifier, receiver));
        Self(sender)
    }

    /// Writes a commit; answers when it is on disk.
    pub(super) async fn commit(&self, commit: Commit) -> Result<()> {
        let (done, answer) = oneshot::channel();
        self.send(Job::Commit(Box::new(commit), done)).await?;
        answer.await.map_err(|_| closing())?
    }

    /// Accepts a run; answers when that is on disk.
    pub(super) async fn create(&self, new: NewRun) -> Result<Created> {
        let (done, answer) = oneshot::channel();
        self.send(Job::Create(Box::new(new), done)).await?;
        answer.await.map_err(|_| closing())?
    }

    async fn send(&self, job: Job) -> Result<()> {
        self.0.send(job).await.map_err(|_| closing())
    }
}

fn closing() -> Error {
    Error::unavailable("the store is closing")
}

async fn keep_writing(db: Db, notifier: Notifier, mut waiting: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(TOGETHER);
    while waiting.recv_many(&mut jobs, TOGETHER).await > 0 {
        match together(&db, &jobs).await {
            Ok(outcomes) => {
                for (job, outcome) in jobs.drain(..).zip(outcomes) {
                    answer(&notifier, job, outcome);
                }
            }
            // One of them spoils the transaction: each goes on its own, and only that one fails.
            Err(_spoiled) => {
                for job in jobs.drain(..) {
                    alone(&db, &notifier, job).await;
                }
            }
        }
    }
}

/// What became of a job, in a transaction that is on disk.
enum Outcome {
    Committed(Result<Vec<Signal>>),
    Created(Box<Result<(Created, Vec<Signal>)>>),
}

/// Writes all in one transaction, commits first: what they free, the new runs find free. One that
/// is refused leaves nothing, and spoils nothing.
async fn together(db: &Db, jobs: &[Job]) -> Result<Vec<Outcome>> {
    let mut tx = db.begin().await?;
    let commits: Vec<&Commit> = jobs.iter().filter_map(Job::commit).collect();
    let mut committed = commit::write_all(&mut tx, &commits).await?.into_iter();
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        outcomes.push(match job {
            Job::Commit(..) => {
                Outcome::Committed(committed.next().unwrap_or_else(|| Err(Error::fenced())))
            }
            Job::Create(new, _) => {
                point(&mut tx, "savepoint job").await?;
                let outcome = run_create::accept(&mut tx, (**new).clone()).await;
                if outcome.is_err() {
                    point(&mut tx, "rollback to job").await?;
                }
                point(&mut tx, "release job").await?;
                Outcome::Created(Box::new(outcome))
            }
        });
    }
    tx.commit().await?;
    Ok(outcomes)
}

async fn point(tx: &mut Tx, sql: &'static str) -> Result<()> {
    in_tx!(tx, c => sqlx::query(sql).execute(c).await.map(drop))
        .map_err(|error| fail("cannot share a transaction", error))
}

async fn alone(db: &Db, notifier: &Notifier, job: Job) {
    match job {
        Job::Commit(commit, done) => {
            let outcome = commit_alone(db, &commit).await;
            answer(notifier, Job::Commit(commit, done), Outcome::Committed(outcome));
        }
        Job::Create(new, done) => {
            // A caller that went away does not wait for its answer.
            let _gone = done.send(run_create::create_alone(db, notifier, *new).await);
        }
    }
}

async fn commit_alone(db: &Db, commit: &Commit) -> Result<Vec<Signal>> {
    let mut tx = db.begin().await?;
    let signals = commit::write(&mut tx, commit).await?;
    tx.commit().await?;
    Ok(signals)
}

fn answer(notifier: &Notifier, job: Job, outcome: Outcome) {
    match (job, outcome) {
        (Job::Commit(_, done), Outcome::Committed(outcome)) => {
            let answer = outcome.map(|signals| {
                for signal in signals {
                    match signal {
                        // This node's readers have it from memory.
                        Signal::Log(_) => notifier.tell_others(signal),
                        _ => notifier.tell([signal]),
                    }
                }
            });
            let _gone = done.send(answer);
        }
        (Job::Create(_, done), Outcome::Created(outcome)) => {
            let _gone = done.send(outcome.map(|(created, signals)| {
                notifier.tell(signals);
                created
            }));
        }
        // Outcomes come in the order of the jobs.
        (Job::Commit(..), Outcome::Created(_)) | (Job::Create(..), Outcome::Committed(_)) => {}
    }
}
