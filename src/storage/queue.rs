//! The commit queue: commits that come while one is under way share the next transaction.

use tokio::sync::{mpsc, oneshot};

use crate::domain::error::{Error, Fault, Result};
use crate::executor::port::{Commit, Signal};
use crate::storage::commit;
use crate::storage::db::Db;
use crate::storage::notify::Notifier;

/// At most this many commits share a transaction.
const TOGETHER: usize = 128;
/// How many may wait.
const WAITING: usize = 4096;

/// Takes commits. When the last clone is gone, the queue ends.
#[derive(Clone)]
pub(super) struct Commits(mpsc::Sender<Member>);

struct Member {
    commit: Commit,
    done: oneshot::Sender<Result<()>>,
}

impl Commits {
    #[expect(clippy::disallowed_methods, reason = "ends with the store that started it")]
    pub(super) fn start(db: Db, notifier: Notifier) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(keep_committing(db, notifier, receiver));
        Self(sender)
    }

    /// Writes a commit; answers when it is on disk.
    pub(super) async fn commit(&self, commit: Commit) -> Result<()> {
        let (done, answer) = oneshot::channel();
        let closed = || Error::unavailable("the store is closing");
        self.0.send(Member { commit, done }).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

async fn keep_committing(db: Db, notifier: Notifier, mut waiting: mpsc::Receiver<Member>) {
    let mut members = Vec::with_capacity(TOGETHER);
    while waiting.recv_many(&mut members, TOGETHER).await > 0 {
        // Locks are taken in the order of the threads, so that two nodes do not wait for each other.
        members.sort_by_key(|member| member.commit.fence.thread_key);
        match together(&db, &members).await {
            Ok(outcomes) => {
                for (member, outcome) in members.drain(..).zip(outcomes) {
                    answer(&notifier, member, outcome);
                }
            }
            // One of them spoils the transaction: each goes on its own, and only that one fails.
            Err(_spoiled) if members.len() > 1 => {
                for member in members.drain(..) {
                    let outcome = alone(&db, &member).await;
                    answer(&notifier, member, outcome);
                }
            }
            Err(error) => {
                for member in members.drain(..) {
                    answer(&notifier, member, Err(copy_of(&error)));
                }
            }
        }
    }
}

type Outcome = Result<Vec<Signal>>;

/// Writes all in one transaction. A member that lost its claim writes nothing and spoils nothing.
async fn together(db: &Db, members: &[Member]) -> Result<Vec<Outcome>> {
    let mut tx = db.begin().await?;
    let mut outcomes = Vec::with_capacity(members.len());
    for member in members {
        match commit::write(&mut tx, &member.commit).await {
            Err(error) if error.fault != Fault::Fenced => return Err(error),
            outcome => outcomes.push(outcome),
        }
    }
    tx.commit().await?;
    Ok(outcomes)
}

async fn alone(db: &Db, member: &Member) -> Outcome {
    let mut tx = db.begin().await?;
    let signals = commit::write(&mut tx, &member.commit).await?;
    tx.commit().await?;
    Ok(signals)
}

fn answer(notifier: &Notifier, member: Member, outcome: Outcome) {
    let answer = outcome.map(|signals| {
        for signal in signals {
            match signal {
                // This node's readers have it from memory.
                Signal::Log(_) => notifier.tell_others(signal),
                _ => notifier.tell([signal]),
            }
        }
    });
    // A run that was dropped does not wait for its answer.
    let _gone = member.done.send(answer);
}

/// The same failure for one more member; the cause was logged with the first.
fn copy_of(error: &Error) -> Error {
    Error::new(error.fault, error.code, error.public()).caused_by(format!("{error:?}"))
}
