//! The document against the program's own copy of it, and against the upstream one.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

use crate::faces;

const COMMITTED: &str = "openapi/runloom.json";
/// Beside the repository, or beside the folder of its work trees.
const UPSTREAM: [&str; 2] = [
    "../shared/spec/agent-protocol-openapi-0.1.6.json",
    "../../shared/spec/agent-protocol-openapi-0.1.6.json",
];

fn root(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_committed_document_is_this_programs() {
    let committed = std::fs::read_to_string(root(COMMITTED)).unwrap_or_default();
    assert!(
        committed == faces::openapi_json(),
        "{COMMITTED} is out of date: cargo run -- openapi > {COMMITTED}"
    );
}

#[test]
fn operation_ids_are_unique_and_references_lead_somewhere() {
    let document: Value = serde_json::from_str(&faces::openapi_json()).unwrap();
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap().to_owned();
        assert!(ids.insert(id), "{method} {path} has the id of another operation");
        let wanted = path.matches('{').count();
        let named = parameters(operation).filter(|(_, place, _)| *place == "path").count();
        assert_eq!(wanted, named, "{method} {path}");
    }
    for reference in references(&document) {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

/// Everything that upstream's document promises is in ours. Left out: tag Streaming, which comes
/// later, and two slips: the response members that `RunStream` requires of a request, and the JSON
/// type of `GET /runs/{run_id}/stream`, which is an event stream.
#[test]
fn the_upstream_document_is_covered() {
    let found = UPSTREAM.iter().find_map(|path| std::fs::read_to_string(root(path)).ok());
    let Some(upstream) = found else { return };
    let upstream: Value = serde_json::from_str(&upstream).unwrap();
    let ours: Value = serde_json::from_str(&faces::openapi_json()).unwrap();
    let mut gaps = Vec::new();
    for (path, method, theirs) in operations(&upstream) {
        if theirs["tags"][0] == "Streaming" {
            continue;
        }
        let place = format!("{method} {path}");
        let Some(our) = ours["paths"][path].get(method) else {
            gaps.push(format!("{place}: missing"));
            continue;
        };
        if our["operationId"] != theirs["operationId"] {
            gaps.push(format!("{place}: another operationId"));
        }
        for wanted in parameters(theirs) {
            if !parameters(our).any(|have| have == wanted) {
                gaps.push(format!("{place}: parameter {wanted:?}"));
            }
        }
        for (status, response) in theirs["responses"].as_object().unwrap() {
            let Some(our) = our["responses"].get(status) else {
                gaps.push(format!("{place}: status {status}"));
                continue;
            };
            for kind in response["content"].as_object().into_iter().flat_map(Map::keys) {
                let slip = path == "/runs/{run_id}/stream" && status == "200";
                if slip {
                    assert!(our["content"].get("text/event-stream").is_some());
                    continue;
                }
                let schema = |response: &Value| response["content"][kind]["schema"].clone();
                compare(&place, &upstream, &schema(response), &ours, &schema(our), &mut gaps);
            }
        }
        let schema = |operation: &Value| {
            operation["requestBody"]["content"]["application/json"]["schema"].clone()
        };
        compare(&place, &upstream, &schema(theirs), &ours, &schema(our), &mut gaps);
    }
    for name in upstream["components"]["schemas"].as_object().unwrap().keys() {
        let streaming = name.starts_with("Streaming") || name == "EventStreamRequest";
        if !streaming && ours["components"]["schemas"].get(name).is_none() {
            gaps.push(format!("schema {name}"));
        }
    }
    assert!(gaps.is_empty(), "{gaps:#?}");
}

/// The properties of upstream's schema that ours lacks, down to the leaves, and the values of
/// its enumerations.
fn compare(
    place: &str,
    upstream: &Value,
    theirs: &Value,
    ours: &Value,
    our: &Value,
    gaps: &mut Vec<String>,
) {
    let (theirs, our) = (resolved(upstream, theirs), resolved(ours, our));
    for value in theirs["enum"].as_array().into_iter().flatten() {
        if !our["enum"].as_array().is_some_and(|values| values.contains(value)) {
            gaps.push(format!("{place}: value {value}"));
        }
    }
    for (name, property) in theirs["properties"].as_object().into_iter().flatten() {
        let place = format!("{place} {name}");
        match our["properties"].get(name) {
            None => gaps.push(place),
            Some(our) => compare(&place, upstream, property, ours, our, gaps),
        }
    }
    if theirs.get("items").is_some() {
        compare(place, upstream, &theirs["items"], ours, &our["items"], gaps);
    }
}

/// The schema with references followed and `allOf` put together.
fn resolved(document: &Value, schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#')).unwrap();
        return resolved(document, target);
    }
    if let [Value::Object(only)] = schema["oneOf"].as_array().map_or(&[][..], |all| all) {
        return resolved(document, &Value::Object(only.clone()));
    }
    let mut whole = schema.clone();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let part = resolved(document, part);
        for (name, property) in part["properties"].as_object().into_iter().flatten() {
            whole["properties"][name] = property.clone();
        }
    }
    whole
}

fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (path, method, operation))
    })
}

fn parameters(operation: &Value) -> impl Iterator<Item = (&str, &str, bool)> {
    operation["parameters"].as_array().into_iter().flatten().map(|parameter| {
        let required = parameter["required"].as_bool().unwrap_or_default();
        (parameter["name"].as_str().unwrap(), parameter["in"].as_str().unwrap(), required)
    })
}

fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| match (name.as_str(), value) {
                ("$ref", Value::String(reference)) => vec![reference.as_str()],
                _ => references(value),
            })
            .collect(),
        Value::Array(elements) => elements.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
