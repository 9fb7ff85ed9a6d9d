//! Table `interrupts`: every question ever asked on a thread, and what became of it.

use sqlx::FromRow;
use uuid::Uuid;

use crate::domain::checkpoint::Answers;
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::ids::{InterruptId, RunId, ThreadKey};
use crate::domain::interrupt::{Fate, Interrupt, Record};
use crate::storage::Store;
use crate::storage::db::{Tx, in_tx, on_db};
use crate::storage::error::fail;
use crate::storage::types::{opaque, read_opaque};

const ALL: &str = "select interrupt, state, answer, settled_by, asked_at, settled_at \
     from interrupts where thread_key = $1 order by asked_at, interrupt_id";
const ANSWERS: &str = "select interrupt_id, answer from interrupts \
     where thread_key = $1 and state = 'answered'";
const OPEN: &str = "select interrupt from interrupts where thread_key = $1 and state = 'open' \
     order by asked_at, interrupt_id";
const ASK: &str = "insert into interrupts \
     (thread_key, interrupt_id, interrupt, state, asked_by, asked_at) \
     values ($1, $2, $3, 'open', $4, $5) \
     on conflict (thread_key, interrupt_id) do update set \
     interrupt = excluded.interrupt, state = 'open', answer = null, settled_by = null, settled_at = null";
const ANSWER: &str = "update interrupts set state = 'answered', answer = $3, settled_by = $4, \
     settled_at = $5 where thread_key = $1 and interrupt_id = $2 and state = 'open'";
const WITHDRAW: &str = "update interrupts set state = 'withdrawn', settled_by = $2, settled_at = $3 \
     where thread_key = $1 and state = 'open'";
const KEEP_OPEN: &str = "update interrupts set state = 'open', settled_by = null, settled_at = null \
     where thread_key = $1 and interrupt_id = $2";
const UNSETTLE: &str = "update interrupts set state = 'open', answer = null, settled_by = null, \
     settled_at = null where thread_key = $1 and settled_by = $2";
const UNASK: &str = "delete from interrupts where thread_key = $1 and asked_by = $2";

#[derive(FromRow)]
struct InterruptRow {
    interrupt: String,
    state: String,
    answer: Option<String>,
    settled_by: Option<Uuid>,
    asked_at: Ts,
    settled_at: Option<Ts>,
}

impl InterruptRow {
    fn into_record(self) -> Result<Record> {
        let settled_at = self.settled_at.unwrap_or(self.asked_at);
        let fate = match self.state.as_str() {
            "open" => Fate::Open,
            "withdrawn" => Fate::Withdrawn { at: settled_at },
            "answered" => Fate::Answered {
                answer: read_opaque("interrupts.answer", self.answer.as_deref().unwrap_or("null"))?,
                at: settled_at,
                by: RunId(self.settled_by.unwrap_or_default()),
            },
            other => {
                return Err(Error::internal("a stored value could not be read")
                    .caused_by(format!("interrupts.state: {other}")));
            }
        };
        let interrupt = read_opaque("interrupts.interrupt", &self.interrupt)?;
        Ok(Record { interrupt, fate, asked_at: self.asked_at })
    }
}

impl Store {
    /// All questions ever asked on the thread, oldest first, with their fate.
    pub async fn interrupts(&self, key: ThreadKey) -> Result<Vec<Record>> {
        let rows: Vec<InterruptRow> = on_db!(self.0.db.reader(), c =>
            sqlx::query_as(ALL).bind(key.0).fetch_all(c).await)
        .map_err(|error| fail("cannot read the thread's interrupts", error))?;
        rows.into_iter().map(InterruptRow::into_record).collect()
    }

    /// All answers given on the thread.
    pub(super) async fn answers_of(&self, key: ThreadKey) -> Result<Answers> {
        let rows: Vec<(Uuid, Option<String>)> = on_db!(self.0.db.reader(), c =>
            sqlx::query_as(ANSWERS).bind(key.0).fetch_all(c).await)
        .map_err(|error| fail("cannot read the thread's answers", error))?;
        rows.into_iter()
            .map(|(id, answer)| {
                let answer = read_opaque("interrupts.answer", answer.as_deref().unwrap_or("null"))?;
                Ok((InterruptId(id), answer))
            })
            .collect()
    }
}

/// Makes exactly these questions the open ones; others that were open are withdrawn.
pub(super) async fn ask(
    tx: &mut Tx,
    thread: i64,
    interrupts: &[Interrupt],
    by: RunId,
    at: Ts,
) -> Result<()> {
    withdraw(tx, thread, Some(by), at).await?;
    for interrupt in interrupts {
        let text = opaque(interrupt)?;
        in_tx!(&mut *tx, c => sqlx::query(ASK).bind(thread).bind(interrupt.id.0).bind(&text)
            .bind(by.0).bind(at).execute(c).await.map(drop))
        .map_err(|error| fail("cannot write an interrupt", error))?;
    }
    Ok(())
}

/// Of the open questions, keeps these; the others are withdrawn.
pub(super) async fn keep(tx: &mut Tx, thread: i64, kept: &[Interrupt], at: Ts) -> Result<()> {
    withdraw(tx, thread, None, at).await?;
    for interrupt in kept {
        in_tx!(&mut *tx, c => sqlx::query(KEEP_OPEN).bind(thread).bind(interrupt.id.0)
            .execute(c).await.map(drop))
        .map_err(|error| fail("cannot write an interrupt", error))?;
    }
    Ok(())
}

pub(super) async fn answer(
    tx: &mut Tx,
    thread: i64,
    answers: &Answers,
    by: RunId,
    at: Ts,
) -> Result<()> {
    for (id, value) in answers {
        let text = opaque(value)?;
        in_tx!(&mut *tx, c => sqlx::query(ANSWER).bind(thread).bind(id.0).bind(&text).bind(by.0)
            .bind(at).execute(c).await.map(drop))
        .map_err(|error| fail("cannot write an answer", error))?;
    }
    Ok(())
}

pub(super) async fn withdraw(tx: &mut Tx, thread: i64, by: Option<RunId>, at: Ts) -> Result<()> {
    in_tx!(tx, c => sqlx::query(WITHDRAW).bind(thread).bind(by.map(|run| run.0)).bind(at)
        .execute(c).await.map(drop))
    .map_err(|error| fail("cannot withdraw interrupts", error))
}

/// Undoes what a run asked, answered and withdrew; answers what is open then.
pub(super) async fn roll_back(tx: &mut Tx, thread: i64, run: RunId) -> Result<Vec<Interrupt>> {
    for sql in [UNASK, UNSETTLE] {
        in_tx!(&mut *tx, c => sqlx::query(sql).bind(thread).bind(run.0).execute(c).await.map(drop))
            .map_err(|error| fail("cannot roll interrupts back", error))?;
    }
    let open: Vec<String> = in_tx!(tx, c =>
        sqlx::query_scalar(OPEN).bind(thread).fetch_all(c).await)
    .map_err(|error| fail("cannot read the thread's interrupts", error))?;
    open.iter().map(|text| read_opaque("interrupts.interrupt", text)).collect()
}
