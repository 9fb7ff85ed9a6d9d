-- Threads: the hot row, changed by every run. What is searched as JSON stands in thread_docs.
create table threads (
    thread_key bigint generated always as identity primary key,
    owner      text        not null,
    thread_id  uuid        not null,
    status     text        not null default 'idle',
    head       uuid,
    agent_id   text,
    interrupts text        not null default '[]',
    seq        bigint      not null default 0,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (owner, thread_id)
);
create index threads_by_update on threads (owner, updated_at desc, thread_id);
create index threads_by_status on threads (owner, status, updated_at desc, thread_id);

-- A row only where there is something to find.
create table thread_docs (
    thread_key bigint primary key references threads on delete cascade,
    metadata   jsonb not null default '{}',
    state      jsonb not null default '{}'
);
create index thread_docs_metadata on thread_docs using gin (metadata jsonb_path_ops);
create index thread_docs_state on thread_docs using gin (state jsonb_path_ops);

-- The tree of checkpoints: a branch goes on from a step of its parent. Branch 0 has no row.
create table branches (
    thread_key    bigint  not null references threads on delete cascade,
    namespace     text    not null,
    branch        integer not null,
    parent_branch integer not null,
    parent_step   bigint  not null,
    primary key (thread_key, namespace, branch)
);

create table checkpoints (
    checkpoint_key bigint generated always as identity primary key,
    thread_key     bigint      not null references threads on delete cascade,
    namespace      text        not null,
    checkpoint_id  uuid        not null,
    parent_id      uuid,
    branch         integer     not null,
    step           bigint      not null,
    source         text        not null,
    run_id         uuid,
    metadata       text        not null,
    frontier       text        not null,
    created_at     timestamptz not null,
    unique (thread_key, namespace, checkpoint_id),
    unique (thread_key, namespace, branch, step)
);
create index checkpoints_by_age on checkpoints (thread_key, namespace, checkpoint_key desc);

-- What a step changed, never rewritten; a state is the fold along its lineage.
create table changes (
    thread_key bigint  not null references threads on delete cascade,
    namespace  text    not null,
    branch     integer not null,
    step       bigint  not null,
    ordinal    integer not null,
    channel    text    not null,
    op         text    not null,
    key        text,
    value      text,
    primary key (thread_key, namespace, branch, step, ordinal)
);
create index changes_of_values on changes (thread_key, namespace, channel, branch, step desc, ordinal desc)
    where op in ('set', 'unset', 'clear');

-- What tasks of an unfinished step left.
create table task_records (
    thread_key bigint not null references threads on delete cascade,
    namespace  text   not null,
    task_id    uuid   not null,
    record     text   not null,
    primary key (thread_key, namespace, task_id)
);

create table interrupts (
    thread_key   bigint      not null references threads on delete cascade,
    interrupt_id uuid        not null,
    interrupt    text        not null,
    state        text        not null,
    answer       text,
    asked_by     uuid        not null,
    settled_by   uuid,
    asked_at     timestamptz not null,
    settled_at   timestamptz,
    primary key (thread_key, interrupt_id)
);

-- Runs outlive their threads where a result is promised.
create table runs (
    run_key         bigint generated always as identity primary key,
    run_id          uuid        not null unique,
    owner           text        not null,
    thread_id       uuid        not null,
    thread_key      bigint references threads on delete set null,
    agent_id        text        not null,
    status          text        not null,
    attempt         integer     not null default 0,
    worker          text,
    lease_until     timestamptz,
    cancel          text,
    spec            text        not null,
    error           text,
    interrupts      text        not null default '[]',
    base            uuid,
    head            uuid,
    result          text,
    idempotency_key text,
    fingerprint     text,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    due_at          timestamptz not null
);
create unique index runs_one_running on runs (thread_key) where status = 'running';
create unique index runs_idempotency on runs (owner, idempotency_key) where idempotency_key is not null;
create index runs_due on runs (due_at, run_key) where status = 'pending';
create index runs_leased on runs (lease_until) where status = 'running';
create index runs_unfinished on runs (thread_key, run_key) where status in ('pending', 'running');
create index runs_of_thread on runs (thread_key, run_key);
create index runs_by_thread on runs (owner, thread_id, created_at desc, run_id);
create index runs_by_creation on runs (owner, created_at desc, run_id);

create table run_docs (
    run_key  bigint primary key references runs on delete cascade,
    metadata jsonb not null
);
create index run_docs_metadata on run_docs using gin (metadata jsonb_path_ops);

-- The log, many events a row: JSON objects, one a line. It outlives a thread that its run deleted.
create table run_log (
    thread_key bigint      not null,
    first_seq  bigint      not null,
    last_seq   bigint      not null,
    run_id     uuid        not null,
    lines      text        not null,
    created_at timestamptz not null,
    primary key (thread_key, first_seq)
);
create index run_log_of_run on run_log (run_id, first_seq);
create index run_log_by_age on run_log using brin (created_at);

create table items (
    item_key   bigint generated always as identity primary key,
    owner      text        not null,
    namespace  text collate "C" not null,
    key        text collate "C" not null,
    value      jsonb       not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    expires_at timestamptz,
    unique (owner, namespace, key)
);
create index items_by_update on items (owner, updated_at desc, namespace, key);
create index items_value on items using gin (value jsonb_path_ops);

create table outbox (
    delivery_id uuid primary key,
    run_id      uuid        not null,
    url         text        not null,
    state       text        not null default 'due',
    attempts    integer     not null default 0,
    next_at     timestamptz not null,
    error       text,
    created_at  timestamptz not null,
    settled_at  timestamptz
);
create index outbox_due on outbox (next_at) where state = 'due';
create index outbox_of_run on outbox (run_id);
