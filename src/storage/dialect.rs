//! The statements that differ between the databases, side by side.

use crate::storage::db::Db;

/// A statement in both tongues.
pub(super) struct Both {
    pub(super) pg: &'static str,
    pub(super) lite: &'static str,
}

impl Both {
    pub(super) fn of(&self, db: &Db) -> &'static str {
        if db.is_postgres() { self.pg } else { self.lite }
    }

    pub(super) fn in_tx(&self, tx: &crate::storage::db::Tx) -> &'static str {
        match tx {
            crate::storage::db::Tx::Pg(_) => self.pg,
            crate::storage::db::Tx::Lite(_) => self.lite,
        }
    }
}

macro_rules! select_thread {
    ($rest:literal) => {
        concat!(
            "select t.thread_key, t.owner, t.thread_id, t.status, t.head, t.agent_id, t.interrupts, \
             t.created_at, t.updated_at, d.metadata, d.state \
             from threads t left join thread_docs d on d.thread_key = t.thread_key where ",
            $rest
        )
    };
}

/// The thread's row, held until the end of the transaction: everybody who changes what belongs to a
/// thread holds it first. SQLite has one writer at a time.
pub(super) const THREAD_LOCK: Both = Both {
    pg: select_thread!("t.owner = $1 and t.thread_id = $2 for update of t"),
    lite: select_thread!("t.owner = $1 and t.thread_id = $2"),
};

/// The same by key.
pub(super) const THREAD_LOCK_KEY: Both = Both {
    pg: select_thread!("t.thread_key = $1 for update of t"),
    lite: select_thread!("t.thread_key = $1"),
};

/// Accepts a run; one that is claimed at once is running from the start. Parameters: id, owner,
/// thread id and key, agent, status, attempt, worker, lease in microseconds, base, spec,
/// idempotency key and fingerprint, now, due.
pub(super) const RUN_INSERT: Both = Both {
    pg: "insert into runs (run_id, owner, thread_id, thread_key, agent_id, status, attempt, worker, \
         lease_until, base, spec, idempotency_key, fingerprint, created_at, updated_at, due_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, now() + $9 * interval '1 microsecond', $10, $11, \
         $12, $13, $14, $14, $15) returning run_key",
    lite: "insert into runs (run_id, owner, thread_id, thread_key, agent_id, status, attempt, worker, \
           lease_until, base, spec, idempotency_key, fingerprint, created_at, updated_at, due_at) \
           values ($1, $2, $3, $4, $5, $6, $7, $8, $14 + $9, $10, $11, $12, $13, $14, $14, $15) \
           returning run_key",
};

/// Due runs, the oldest of each thread on which none runs; their threads are locked. Parameters:
/// now (SQLite: the store's clock), how many, the agents as a JSON array.
pub(super) const CLAIMABLE: Both = Both {
    pg: "select r.run_key, r.thread_key from runs r join threads t on t.thread_key = r.thread_key \
         where r.status = 'pending' and r.due_at <= greatest($1, now()) \
         and r.agent_id in (select jsonb_array_elements_text($3::jsonb)) \
         and not exists (select 1 from runs o where o.thread_key = r.thread_key \
           and (o.status = 'running' or (o.status = 'pending' and o.run_key < r.run_key \
                and o.due_at <= greatest($1, now())))) \
         order by r.due_at, r.run_key limit $2 for update of t skip locked",
    lite: "select r.run_key, r.thread_key from runs r \
           where r.status = 'pending' and r.due_at <= $1 and r.thread_key is not null \
           and r.agent_id in (select value from json_each($3)) \
           and not exists (select 1 from runs o where o.thread_key = r.thread_key \
             and (o.status = 'running' or (o.status = 'pending' and o.run_key < r.run_key \
                  and o.due_at <= $1))) \
           order by r.due_at, r.run_key limit $2",
};

/// Marks a pending run as this worker's. The lease runs by the database's clock on Postgres.
/// Parameters: key, worker, lease in microseconds, now.
pub(super) const CLAIM: Both = Both {
    pg: "update runs set status = 'running', attempt = attempt + 1, worker = $2, \
         lease_until = now() + $3 * interval '1 microsecond', updated_at = $4, \
         base = case when attempt = 0 then (select head from threads t where t.thread_key = runs.thread_key) \
                else base end \
         where run_key = $1 and status = 'pending'",
    lite: "update runs set status = 'running', attempt = attempt + 1, worker = $2, \
           lease_until = $4 + $3, updated_at = $4, \
           base = case when attempt = 0 then (select head from threads t where t.thread_key = runs.thread_key) \
                  else base end \
           where run_key = $1 and status = 'pending'",
};

/// Extends a lease that is still held. Parameters: key, attempt, lease in microseconds, now.
pub(super) const EXTEND: Both = Both {
    pg: "update runs set lease_until = now() + $3 * interval '1 microsecond' \
         where run_key = $1 and attempt = $2 and status = 'running' and $4 is not null \
         returning cancel",
    lite: "update runs set lease_until = $4 + $3 \
           where run_key = $1 and attempt = $2 and status = 'running' returning cancel",
};

/// Runs whose lease is over.
pub(super) const EXPIRED: Both = Both {
    pg: "select run_key, thread_key, attempt from runs \
         where status = 'running' and lease_until < now() and $1 is not null \
         order by run_key limit 256",
    lite: "select run_key, thread_key, attempt from runs \
           where status = 'running' and lease_until < $1 order by run_key limit 256",
};

/// Webhooks that are due, each taken by one node.
pub(super) const DELIVERIES: Both = Both {
    pg: "select delivery_id, run_id, url, attempts from outbox \
         where state = 'due' and next_at <= $1 order by next_at limit $2 for update skip locked",
    lite: "select delivery_id, run_id, url, attempts from outbox \
           where state = 'due' and next_at <= $1 order by next_at limit $2",
};
