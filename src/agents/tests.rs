use std::sync::Arc;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::agents::intake;
use crate::agents::registry::Registry;
use crate::domain::ids::RunId;
use crate::domain::run::{RunConfig, RunSpec};
use crate::domain::{Fault, Message};
use crate::engine::memory::World;
use crate::engine::port::RunContext;
use crate::engine::{Begin, Ended, Outcome, drive};

fn spec(input: Value, configurable: &Value) -> RunSpec {
    let configurable = configurable.as_object().cloned().unwrap_or_default();
    let config = RunConfig { configurable, ..RunConfig::default() };
    RunSpec { input: Some(input), config, ..RunSpec::default() }
}

async fn run(world: &World, agent: &str, spec: RunSpec) -> Outcome {
    let agent = Registry::demo().get(agent).unwrap();
    let context =
        RunContext { configurable: Arc::new(spec.config.configurable.clone()), ..world.run() };
    intake::check(&agent, &spec, context.run_id).unwrap();
    let input = intake::update(&agent, &spec, context.run_id).unwrap();
    let begin = Begin { at: world.newest(), input, ..Begin::default() };
    drive(&agent.graph, begin, &context).await.unwrap()
}

fn texts(outcome: &Outcome) -> Vec<String> {
    outcome.state.messages().iter().map(Message::text).collect()
}

#[tokio::test]
async fn the_first_journey_leaves_no_values_and_two_messages() {
    let outcome = run(&World::new(), "echo", spec(json!({"message": "Hi"}), &json!({}))).await;
    assert_eq!(outcome.how, Ended::Done);
    assert!(outcome.state.values().is_empty());
    assert_eq!(texts(&outcome), ["Hi", "echo: Hi"]);
}

#[tokio::test]
async fn echo_takes_anything_and_its_second_turn_adds_to_the_first() {
    let world = World::new();
    run(&world, "echo", spec(json!([1, {"a": null}]), &json!({}))).await;
    let outcome = run(&world, "echo", spec(json!("two"), &json!({}))).await;
    assert_eq!(
        texts(&outcome),
        [r#"[1,{"a":null}]"#, r#"echo: [1,{"a":null}]"#, "two", "echo: two"]
    );
}

#[tokio::test]
async fn the_chunks_of_tokens_add_up() {
    let outcome =
        run(&World::new(), "tokens", spec(json!("go"), &json!({"n": 3, "delay_ms": 5}))).await;
    assert_eq!(texts(&outcome), ["go", "tok0 tok1 tok2 "]);
}

#[tokio::test]
async fn steps_makes_one_checkpoint_for_the_input_and_one_a_step() {
    let world = World::new();
    let outcome = run(&world, "steps", spec(json!({}), &json!({"n": 4}))).await;
    assert_eq!(outcome.state.values()["steps"], json!([1, 2, 3, 4]));
    assert_eq!(texts(&outcome), ["done after 4 steps"]);
    assert_eq!(world.saver.history(&crate::domain::Namespace::root()).len(), 5);
}

#[test]
fn an_object_holds_messages_then_what_is_said_then_values() {
    let registry = Registry::demo();
    let input = json!({
        "text": "said", "topic": "cats", "question": "kept", "messages": [{"role": "human", "content": "a"}],
    });
    let mut spec = spec(input, &json!({}));
    spec.messages = vec![json!({"id": "m", "role": "user", "content": "last"})];
    let update = intake::update(&registry.get("tokens").unwrap(), &spec, RunId(Uuid::nil()));
    let written = update.unwrap().unwrap().to_object();
    assert_eq!(written["topic"], "cats");
    assert_eq!(written["question"], "kept");
    assert!(!written.contains_key("text"));
    let texts: Vec<_> =
        written["messages"].as_array().unwrap().iter().map(|m| &m["content"]).collect();
    assert_eq!(texts, ["a", "said", "last"]);
}

#[test]
fn what_is_wrong_is_named() {
    let registry = Registry::demo();
    let tokens = registry.get("tokens").unwrap();
    for (spec, field) in [
        (spec(json!(7), &json!({})), "input"),
        (spec(json!({"messages": "hi"}), &json!({})), "input.messages"),
        (spec(json!({"messages": [{"role": "robot"}]}), &json!({})), "input.messages[0].role"),
        (spec(json!([{"role": "robot"}]), &json!({})), "input[0].role"),
        (spec(json!("x"), &json!({"n": -1})), "config.configurable.n"),
        (spec(json!("x"), &json!({"n": 100_001})), "config.configurable.n"),
        (spec(json!("x"), &json!({"delay_ms": "1"})), "config.configurable.delay_ms"),
    ] {
        let error = intake::check(&tokens, &spec, RunId(Uuid::nil())).unwrap_err();
        assert_eq!((error.fault, error.field.as_deref()), (Fault::Invalid, Some(field)));
    }
    assert!(intake::update(&tokens, &RunSpec::default(), RunId(Uuid::nil())).unwrap().is_none());
}
