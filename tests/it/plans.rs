//! How searches find their rows among a hundred thousand.

use std::sync::Arc;

use runloom::domain::clock::System;
use runloom::domain::ids::Owner;
use runloom::domain::item::{Condition, Labels, Test};
use runloom::domain::thread::ThreadStatus;
use runloom::storage::{Options, Store, ThreadFilter};
use serde_json::{Map, Value, json};
use sqlx::{AssertSqlSafe, Executor, PgPool, SqlitePool};

use crate::harness::db::{Database, on_both_databases};

on_both_databases!(searches_use_indexes);

const ROWS: u32 = 100_000;

/// A hundred thousand threads and items of one owner, made by the database itself.
const POSTGRES: &str = "
    insert into threads (owner, thread_id, status, created_at, updated_at)
    select 'ann', gen_random_uuid(), case when n % 10 = 0 then 'interrupted' else 'idle' end,
      now(), now() - n * interval '1 second' from generate_series(1, ROWS) n;
    insert into thread_docs (thread_key, metadata, state)
    select thread_key, jsonb_build_object('user', 'u' || thread_key % 5000), jsonb_build_object('k', thread_key)
    from threads;
    insert into items (owner, namespace, key, value, created_at, updated_at)
    select 'ann', 'users/u' || n % 5000 || '/', 'k' || n, jsonb_build_object('n', n), now(), now()
    from generate_series(1, ROWS) n;
    analyze";
const SQLITE: &str = "
    with recursive n (n) as (select 1 union all select n + 1 from n where n < ROWS)
    insert into threads (owner, thread_id, status, created_at, updated_at)
    select 'ann', randomblob(16), case when n % 10 = 0 then 'interrupted' else 'idle' end, n, n from n;
    insert into thread_docs (thread_key, metadata, state)
    select thread_key, json_object('user', 'u' || thread_key % 5000), json_object('k', thread_key)
    from threads;
    insert into leaves (subject, path, kind, text, row_key)
    select 'thread.metadata', 'user', 's', 'u' || thread_key % 5000, thread_key from threads;
    insert into leaves (subject, path, kind, text, row_key)
    select 'thread.state', 'k', 'd', thread_key, thread_key from threads;
    with recursive n (n) as (select 1 union all select n + 1 from n where n < ROWS)
    insert into items (owner, namespace, key, value, created_at, updated_at)
    select 'ann', 'users/u' || n % 5000 || '/', 'k' || n, json_object('n', n), n, n from n;
    insert into leaves (subject, path, kind, text, row_key)
    select 'item.value', 'n', 'd', item_key, item_key from items";

async fn seed(url: &str) {
    if url.starts_with("postgres") {
        let pool = PgPool::connect(url).await.unwrap();
        let sql = POSTGRES.replace("ROWS", &ROWS.to_string());
        pool.execute(AssertSqlSafe(sql)).await.unwrap();
    } else {
        let pool = SqlitePool::connect(url).await.unwrap();
        let sql = SQLITE.replace("ROWS", &ROWS.to_string());
        pool.execute(AssertSqlSafe(sql)).await.unwrap();
        pool.close().await;
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

async fn searches_use_indexes(database: Database) {
    let options =
        Options { url: database.url.clone(), max_connections: 4, clock: Arc::new(System) };
    let store = Store::open(options).await.unwrap();
    store.migrate().await.unwrap();
    seed(&database.url).await;
    let ann = Owner::new("ann");
    let postgres = database.url.starts_with("postgres");
    let uses = |plan: Vec<String>, pg: &str, lite: &str| {
        let plan = plan.join("\n");
        let index = if postgres { pg } else { lite };
        assert!(plan.contains(index), "{index} is not used:\n{plan}");
        assert!(
            !plan.contains("Seq Scan") && !plan.contains("SCAN "),
            "a whole table is read:\n{plan}"
        );
    };
    let metadata =
        ThreadFilter { metadata: object(json!({"user": "u7"})), ..ThreadFilter::default() };
    uses(
        store.thread_search_plan(&ann, &metadata).await.unwrap(),
        "thread_docs_metadata",
        "leaves",
    );
    let values = ThreadFilter { values: object(json!({"k": 4711})), ..ThreadFilter::default() };
    uses(store.thread_search_plan(&ann, &values).await.unwrap(), "thread_docs_state", "leaves");
    let status =
        ThreadFilter { status: Some(ThreadStatus::Interrupted), ..ThreadFilter::default() };
    uses(
        store.thread_search_plan(&ann, &status).await.unwrap(),
        "threads_by_status",
        "threads_by_status",
    );
    let newest = store.thread_search_plan(&ann, &ThreadFilter::default()).await.unwrap();
    uses(newest, "threads_by_update", "threads_by_update");

    let prefix = Labels(vec!["users".to_owned(), "u7".to_owned()]);
    let below = store.item_search_plan(&ann, &prefix, &[]).await.unwrap();
    uses(below, "items_owner_namespace_key_key", "sqlite_autoindex_items_1");
    let equal = [Condition { member: "n".to_owned(), test: Test::Eq(json!(4711)) }];
    let equal = store.item_search_plan(&ann, &Labels::default(), &equal).await.unwrap();
    uses(equal, "items_value", "leaves");
}
