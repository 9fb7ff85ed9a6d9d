//! Channels, prefixes and depths.

use std::sync::Arc;

use serde_json::{Map, json};

use super::*;
use crate::domain::clock::Ts;
use crate::faces::agent_protocol::streaming::wire::{CustomData, Number, UpdatesData};

fn filter(params: serde_json::Value) -> Filter {
    Filter::read(serde_json::from_value(params).unwrap()).unwrap()
}

fn event(namespace: &[&str], data: Data) -> Event {
    let namespace: Vec<Arc<str>> = namespace.iter().map(|segment| Arc::from(*segment)).collect();
    Event { number: Number::of(1, 0), at: Ts(0), namespace: namespace.into(), node: None, data }
}

fn update() -> Data {
    Data::Updates(UpdatesData { node: "n".into(), values: Map::new() })
}

fn custom(name: Option<&str>) -> Data {
    Data::Custom(CustomData { name: name.map(str::to_owned), payload: json!(1) })
}

#[test]
fn only_the_channels_that_are_named_are_taken() {
    let filter = filter(json!({"channels": ["updates", "custom:progress"]}));
    assert!(filter.takes(&event(&[], update())));
    assert!(filter.takes(&event(&[], custom(Some("progress")))));
    assert!(!filter.takes(&event(&[], custom(Some("other")))));
    assert!(!filter.takes(&event(&[], custom(None))));
}

#[test]
fn custom_stands_for_all_names() {
    let filter = filter(json!({"channels": ["custom"]}));
    assert!(filter.takes(&event(&[], custom(Some("progress")))));
    assert!(filter.takes(&event(&[], custom(None))));
    assert!(!filter.takes(&event(&[], update())));
}

#[test]
fn namespaces_are_prefixes_and_depth_counts_below_them() {
    let takes = |params: serde_json::Value, namespace: &[&str]| {
        filter(params).takes(&event(namespace, update()))
    };
    let all = json!({"channels": ["updates"], "namespaces": []});
    assert!(takes(all, &["a:1", "b:2"]));
    let below = json!({"channels": ["updates"], "namespaces": [["a:1"]]});
    assert!(takes(below.clone(), &["a:1"]) && takes(below.clone(), &["a:1", "b:2"]));
    assert!(!takes(below.clone(), &[]) && !takes(below, &["a:2"]));
    let shallow = json!({"channels": ["updates"], "namespaces": [["a:1"], []], "depth": 0});
    assert!(takes(shallow.clone(), &["a:1"]) && takes(shallow.clone(), &[]));
    assert!(!takes(shallow, &["a:1", "b:2"]));
    let root = json!({"channels": ["updates"], "depth": 1});
    assert!(takes(root.clone(), &["a:1"]) && !takes(root, &["a:1", "b:2"]));
}

#[test]
fn a_node_stands_for_all_its_tasks() {
    let filter = filter(json!({"channels": ["updates"], "namespaces": [["a"]]}));
    assert!(filter.takes(&event(&["a:1"], update())) && filter.takes(&event(&["a:2"], update())));
    assert!(!filter.takes(&event(&["ab:1"], update())));
}
