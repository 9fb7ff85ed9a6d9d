//! The store: items, searches and namespaces.

use serde_json::{Value, json};

use super::{list, start};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};

on_both_databases!(
    an_item_is_replaced_and_keeps_its_birth,
    conditions_mean_the_same_everywhere,
    namespaces_are_listed_by_prefix_suffix_and_depth,
    labels_are_kept_apart,
    what_is_wrong_is_named,
);

async fn put(client: &Client, namespace: &[&str], key: &str, value: Value) {
    let item = json!({"namespace": namespace, "key": key, "value": value});
    client.put("/store/items", &item).await.empty(204);
}

async fn an_item_is_replaced_and_keeps_its_birth(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    put(&client, &["a"], "k", json!({"n": 1})).await;
    let first = client.get("/store/items?namespace=a&key=k").await.json(200);
    put(&client, &["a"], "k", json!({"m": 2})).await;
    let second = client.get("/store/items?namespace=a&key=k").await.json(200);
    assert_eq!(second["value"], json!({"m": 2}));
    assert_eq!(first["created_at"], second["created_at"]);
    assert!(second["updated_at"].as_str() >= first["updated_at"].as_str());
    let gone = json!({"filter": {"n": 1}});
    assert_eq!(client.post("/store/items/search", &gone).await.json(200)["items"], json!([]));
}

async fn conditions_mean_the_same_everywhere(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for (key, value) in [
        ("a", json!({"n": 1, "s": "x", "o": {"p": [1]}})),
        ("b", json!({"n": 2.5, "s": "y", "b": true})),
        ("c", json!({"n": 10, "s": "z", "none": null})),
    ] {
        put(&client, &["t"], key, value).await;
    }
    for (filter, found) in [
        (json!({}), "abc"),
        (json!({"n": 1}), "a"),
        (json!({"n": 1.0}), "a"),
        (json!({"n": "1"}), ""),
        (json!({"b": true}), "b"),
        (json!({"b": 1}), ""),
        (json!({"none": null}), "c"),
        (json!({"missing": null}), ""),
        (json!({"o": {"p": [1]}}), "a"),
        (json!({"o": {}}), ""),
        (json!({"n": {"$gt": 2}}), "bc"),
        (json!({"n": {"$gte": 2.5, "$lt": 10}}), "b"),
        (json!({"n": {"$lte": 2.5}}), "ab"),
        (json!({"s": {"$gt": "x"}}), "bc"),
        (json!({"s": {"$ne": "x"}}), "bc"),
        (json!({"b": {"$ne": true}}), "ac"),
        (json!({"n": {"$in": [1, 10]}}), "ac"),
        (json!({"n": {"$eq": 2.5}, "s": "y"}), "b"),
        (json!({"s": {"$lt": 5}}), ""),
    ] {
        let answer = client.post("/store/items/search", &json!({"filter": filter})).await.json(200);
        let mut keys: Vec<_> =
            list(&answer["items"]).iter().map(|item| item["key"].as_str().unwrap()).collect();
        keys.sort_unstable();
        assert_eq!(keys.concat(), found, "{filter}");
    }
}

async fn namespaces_are_listed_by_prefix_suffix_and_depth(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for namespace in
        [&["users", "ann", "notes"][..], &["users", "bob", "notes"], &["users", "bob"], &["docs"]]
    {
        put(&client, namespace, "k", json!({})).await;
    }
    for (filter, found) in [
        (
            json!({}),
            json!([
                ["docs"],
                ["users", "ann", "notes"],
                ["users", "bob"],
                ["users", "bob", "notes"]
            ]),
        ),
        (json!({"prefix": ["users", "bob"]}), json!([["users", "bob"], ["users", "bob", "notes"]])),
        (
            json!({"prefix": ["users", "*", "notes"]}),
            json!([["users", "ann", "notes"], ["users", "bob", "notes"]]),
        ),
        (json!({"suffix": ["bob"]}), json!([["users", "bob"]])),
        (json!({"suffix": ["*", "notes"], "limit": 1}), json!([["users", "ann", "notes"]])),
        (json!({"max_depth": 1}), json!([["docs"], ["users"]])),
        (json!({"prefix": ["user"]}), json!([])),
        (json!({"offset": 3}), json!([["users", "bob", "notes"]])),
    ] {
        assert_eq!(client.post("/store/namespaces", &filter).await.json(200), found, "{filter}");
    }
}

async fn labels_are_kept_apart(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for namespace in [&["a/b"][..], &["a", "b"], &["a%2Fb"], &["a", "b", "c"], &["ab"]] {
        put(&client, namespace, "k", json!({"at": namespace})).await;
    }
    for (query, namespace) in [
        ("namespace=a%2Fb", json!(["a/b"])),
        ("namespace=a&namespace=b", json!(["a", "b"])),
        ("namespace=a%252Fb", json!(["a%2Fb"])),
    ] {
        let item = client.get(&format!("/store/items?{query}&key=k")).await.json(200);
        assert_eq!((&item["namespace"], &item["value"]["at"]), (&namespace, &namespace));
    }
    let below = json!({"namespace_prefix": ["a"]});
    let below = client.post("/store/items/search", &below).await.json(200);
    assert_eq!(list(&below["items"]).len(), 2);
}

async fn what_is_wrong_is_named(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for (body, field) in [
        (json!({"namespace": ["a", 1], "key": "k", "value": {}}), "namespace"),
        (json!({"namespace": ["a\u{0}"], "key": "k", "value": {}}), "namespace"),
        (json!({"namespace": ["a"], "key": "k\u{0}", "value": {}}), "key"),
        (json!({"namespace": ["a"], "key": "k", "value": 5}), "value"),
        (json!({"namespace": ["a"], "key": "k"}), "value"),
    ] {
        let refused = client.put("/store/items", &body).await.json(422);
        let named = refused["metadata"]["field"].as_str().unwrap_or_default().to_owned();
        assert!(
            named.starts_with(field) || refused["message"].as_str().unwrap().contains(field),
            "{refused}"
        );
    }
    let unknown = json!({"filter": {"n": {"$near": 1}}});
    client.post("/store/items/search", &unknown).await.json(422);
    let missing = json!({"namespace": ["a"], "key": "k"});
    assert_eq!(
        client.delete_with("/store/items", &missing).await.json(404)["code"],
        "item_not_found"
    );
}
