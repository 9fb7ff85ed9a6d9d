//! Searches: the same documents contain the same patterns on both databases.

use serde_json::{Value, json};

use super::{list, new_thread, start, text, turn};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};

on_both_databases!(
    containment_means_the_same_everywhere,
    threads_are_found_by_values_and_status,
    pages_follow_each_other,
    a_limit_out_of_bounds_is_refused,
    runs_are_found_by_what_they_are,
);

async fn count(client: &Client, path: &str, filter: &Value) -> usize {
    list(&client.post(path, filter).await.json(200)).len()
}

/// A pattern, and whether the document below contains it.
fn table() -> Vec<(Value, bool)> {
    vec![
        (json!({}), true),
        (json!({"flag": true}), true),
        (json!({"flag": 1}), false),
        (json!({"flag": "true"}), false),
        (json!({"one": 1}), true),
        (json!({"one": 1.0}), true),
        (json!({"one": true}), false),
        (json!({"one": "1"}), false),
        (json!({"none": null}), true),
        (json!({"missing": null}), false),
        (json!({"text": "Grüße"}), true),
        (json!({"text": "grüße"}), false),
        (json!({"deep": {}}), true),
        (json!({"deep": []}), false),
        (json!({"deep": {"b": 2}}), true),
        (json!({"deep": {"b": 2, "a": 1}}), true),
        (json!({"deep": {"b": 3}}), false),
        (json!({"list": [3]}), true),
        (json!({"list": [3, 1]}), true),
        (json!({"list": [4]}), false),
        (json!({"list": 3}), false),
        (json!({"list": [{"x": null}]}), true),
        (json!({"list": []}), true),
        (json!({"empty": {}}), true),
        (json!({"empty": {"a": 1}}), false),
        (json!({"flag": true, "one": 2}), false),
        (json!({"long": "x".repeat(500)}), true),
        (json!({"long": "x".repeat(400)}), false),
        (json!({"big": 9_007_199_254_740_993_i64}), true),
        (json!({"big": 9_007_199_254_740_992_i64}), false),
    ]
}

async fn containment_means_the_same_everywhere(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let document = json!({
        "flag": true, "one": 1, "none": null, "text": "Grüße", "deep": {"a": 1, "b": 2},
        "list": [1, 2, 3, {"x": null}], "empty": {}, "long": "x".repeat(500),
        "big": 9_007_199_254_740_993_i64,
    });
    client.post("/threads", &json!({"metadata": document})).await.json(200);
    client.post("/threads", &json!({})).await.json(200);
    let run = json!({"input": "x", "metadata": document, "on_completion": "keep"});
    client.post("/runs/wait", &run).await.json(200);
    for (pattern, contained) in table() {
        let filter = json!({"metadata": pattern});
        let expected = usize::from(contained);
        if pattern != json!({}) {
            assert_eq!(count(&client, "/threads/search", &filter).await, expected, "{pattern}");
        }
        assert_eq!(count(&client, "/runs/search", &filter).await, expected, "{pattern}");
    }
}

async fn threads_are_found_by_values_and_status(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    client.patch(&thread, &json!({"values": {"k": 1, "o": {"deep": [true]}}})).await.json(200);
    for (values, found) in [
        (json!({"k": 1}), 1),
        (json!({"k": 2}), 0),
        (json!({"o": {"deep": [true]}}), 1),
        (json!({"messages": []}), 0),
    ] {
        let filter = json!({"values": values});
        assert_eq!(count(&client, "/threads/search", &filter).await, found, "{filter}");
    }
    let paused = new_thread(&client).await;
    let asks = json!({"agent_id": "human-in-the-loop", "input": "delete the file a"});
    turn(&client, &paused, &asks).await;
    let found = client.post("/threads/search", &json!({"status": "interrupted"})).await.json(200);
    assert_eq!(format!("/threads/{}", text(&found[0], "thread_id")), paused);
    assert_eq!(list(&found).len(), 1);
    client.patch(&thread, &json!({"values": {"k": 2}})).await.json(200);
    assert_eq!(count(&client, "/threads/search", &json!({"values": {"k": 1}})).await, 0);
}

async fn pages_follow_each_other(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for ordinal in 0..25 {
        let thread = json!({"metadata": {"even": ordinal % 2 == 0}});
        client.post("/threads", &thread).await.json(200);
    }
    for (filter, total) in [(json!({}), 25), (json!({"even": true}), 13)] {
        let mut seen = Vec::new();
        for offset in (0..30).step_by(4) {
            let body = json!({"metadata": filter, "limit": 4, "offset": offset});
            let page = client.post("/threads/search", &body).await.json(200);
            seen.extend(list(&page).iter().map(|one| text(one, "thread_id")));
        }
        assert_eq!(seen.len(), total);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), total, "each once");
    }
}

async fn a_limit_out_of_bounds_is_refused(database: Database) {
    let server = start(&database).await;
    let paths = [
        "/threads/search",
        "/runs/search",
        "/agents/search",
        "/store/items/search",
        "/store/namespaces",
    ];
    for path in paths {
        for limit in [0, -1, 1001] {
            let refused = server.client().post(path, &json!({"limit": limit})).await.json(422);
            assert_eq!(refused["metadata"]["field"], "limit", "{path}");
        }
        server.client().post(path, &json!({"limit": 1000})).await.json(200);
    }
}

async fn runs_are_found_by_what_they_are(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (one, two) = (new_thread(&client).await, new_thread(&client).await);
    turn(&client, &one, &json!({"input": "a"})).await;
    turn(&client, &two, &json!({"agent_id": "react", "input": "fail"})).await;
    let id = two.strip_prefix("/threads/").unwrap();
    for (filter, found) in [
        (json!({}), 2),
        (json!({"thread_id": id}), 1),
        (json!({"agent_id": "react"}), 1),
        (json!({"status": "error"}), 1),
        (json!({"status": "success"}), 1),
        (json!({"status": "pending"}), 0),
        (json!({"status": "success", "thread_id": id}), 0),
    ] {
        assert_eq!(count(&client, "/runs/search", &filter).await, found, "{filter}");
    }
}
