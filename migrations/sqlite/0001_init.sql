-- Threads: the hot row, changed by every run. What is searched as JSON stands in thread_docs.
create table threads (
    thread_key integer primary key autoincrement,
    owner      text    not null,
    thread_id  blob    not null,
    status     text    not null default 'idle',
    head       blob,
    agent_id   text,
    interrupts text    not null default '[]',
    seq        integer not null default 0,
    created_at integer not null,
    updated_at integer not null,
    unique (owner, thread_id)
) strict;
create index threads_by_update on threads (owner, updated_at desc, thread_id);
create index threads_by_status on threads (owner, status, updated_at desc, thread_id);

-- A row only where there is something to find.
create table thread_docs (
    thread_key integer primary key references threads on delete cascade,
    metadata   text not null default '{}',
    state      text not null default '{}'
) strict;

-- The tree of checkpoints: a branch goes on from a step of its parent. Branch 0 has no row.
create table branches (
    thread_key    integer not null references threads on delete cascade,
    namespace     text    not null,
    branch        integer not null,
    parent_branch integer not null,
    parent_step   integer not null,
    primary key (thread_key, namespace, branch)
) strict, without rowid;

create table checkpoints (
    checkpoint_key integer primary key autoincrement,
    thread_key     integer not null references threads on delete cascade,
    namespace      text    not null,
    checkpoint_id  blob    not null,
    parent_id      blob,
    branch         integer not null,
    step           integer not null,
    source         text    not null,
    run_id         blob,
    metadata       text    not null,
    frontier       text    not null,
    created_at     integer not null,
    unique (thread_key, namespace, checkpoint_id),
    unique (thread_key, namespace, branch, step)
) strict;
create index checkpoints_by_age on checkpoints (thread_key, namespace, checkpoint_key desc);

-- What a step changed, never rewritten; a state is the fold along its lineage.
create table changes (
    thread_key integer not null references threads on delete cascade,
    namespace  text    not null,
    branch     integer not null,
    step       integer not null,
    ordinal    integer not null,
    channel    text    not null,
    op         text    not null,
    key        text,
    value      text,
    primary key (thread_key, namespace, branch, step, ordinal)
) strict;
create index changes_of_values on changes (thread_key, namespace, channel, branch, step desc, ordinal desc)
    where op in ('set', 'unset', 'clear');

-- What tasks of an unfinished step left.
create table task_records (
    thread_key integer not null references threads on delete cascade,
    namespace  text    not null,
    task_id    blob    not null,
    record     text    not null,
    primary key (thread_key, namespace, task_id)
) strict, without rowid;

create table interrupts (
    thread_key   integer not null references threads on delete cascade,
    interrupt_id blob    not null,
    interrupt    text    not null,
    state        text    not null,
    answer       text,
    asked_by     blob    not null,
    settled_by   blob,
    asked_at     integer not null,
    settled_at   integer,
    primary key (thread_key, interrupt_id)
) strict, without rowid;

-- Runs outlive their threads where a result is promised.
create table runs (
    run_key         integer primary key autoincrement,
    run_id          blob    not null unique,
    owner           text    not null,
    thread_id       blob    not null,
    thread_key      integer references threads on delete set null,
    agent_id        text    not null,
    status          text    not null,
    attempt         integer not null default 0,
    worker          text,
    lease_until     integer,
    cancel          text,
    spec            text    not null,
    error           text,
    interrupts      text    not null default '[]',
    base            blob,
    head            blob,
    result          text,
    idempotency_key text,
    fingerprint     text,
    created_at      integer not null,
    updated_at      integer not null,
    due_at          integer not null
) strict;
create unique index runs_one_running on runs (thread_key) where status = 'running';
create unique index runs_idempotency on runs (owner, idempotency_key) where idempotency_key is not null;
create index runs_due on runs (due_at, run_key) where status = 'pending';
create index runs_leased on runs (lease_until) where status = 'running';
create index runs_unfinished on runs (thread_key, run_key) where status in ('pending', 'running');
create index runs_of_thread on runs (thread_key, run_key);
create index runs_by_thread on runs (owner, thread_id, created_at desc, run_id);
create index runs_by_creation on runs (owner, created_at desc, run_id);

create table run_docs (
    run_key  integer primary key references runs on delete cascade,
    metadata text not null
) strict;

-- The log, many events a row: JSON objects, one a line. It outlives a thread that its run deleted.
create table run_log (
    thread_key integer not null,
    first_seq  integer not null,
    last_seq   integer not null,
    run_id     blob    not null,
    lines      text    not null,
    created_at integer not null,
    primary key (thread_key, first_seq)
) strict;
create index run_log_of_run on run_log (run_id, first_seq);
create index run_log_by_age on run_log (created_at);

create table items (
    item_key   integer primary key autoincrement,
    owner      text    not null,
    namespace  text    not null,
    key        text    not null,
    value      text    not null,
    created_at integer not null,
    updated_at integer not null,
    expires_at integer,
    unique (owner, namespace, key)
) strict;
create index items_by_update on items (owner, updated_at desc, namespace, key);

create table outbox (
    delivery_id blob primary key,
    run_id      blob    not null,
    url         text    not null,
    state       text    not null default 'due',
    attempts    integer not null default 0,
    next_at     integer not null,
    error       text,
    created_at  integer not null,
    settled_at  integer
) strict;
create index outbox_due on outbox (next_at) where state = 'due';
create index outbox_of_run on outbox (run_id);

-- The scalars of every searchable document (domain::json::leaves): what a JSON index does
-- elsewhere. A search narrows by them; the documents themselves decide.
create table leaves (
    subject text    not null,
    path    text    not null,
    kind    text    not null,
    text    text    not null,
    row_key integer not null,
    primary key (subject, path, kind, text, row_key)
) strict, without rowid;
create index leaves_of_row on leaves (subject, row_key);

create trigger leaves_of_threads after delete on threads begin
    delete from leaves where subject in ('thread.metadata', 'thread.state') and row_key = old.thread_key;
end;
create trigger leaves_of_runs after delete on runs begin
    delete from leaves where subject = 'run.metadata' and row_key = old.run_key;
end;
create trigger leaves_of_items after delete on items begin
    delete from leaves where subject = 'item.value' and row_key = old.item_key;
end;
