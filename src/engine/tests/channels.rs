//! Channels: what each kind makes of what is written to it, and what it refuses.

use serde_json::{Value, json};

use crate::domain::Message;
use crate::domain::state::State;
use crate::engine::apply::{Done, fold};
use crate::engine::memory::World;
use crate::engine::tests::start;
use crate::engine::{ALL_MESSAGES, Channel, Graph, START, Update, is_full};

/// A graph with a channel `c`; its nodes do not matter.
fn with(channel: Channel) -> std::sync::Arc<Graph> {
    let graph = Graph::builder("channels").channel("c", channel);
    graph.node("n", |_state, _cx| async move { Ok(()) }).edge(START, "n").build().unwrap()
}

/// What `c` holds after steps with these updates, each step's by tasks `a`, `b`, ….
fn folded(channel: Channel, steps: &[&[Update]]) -> Result<Option<Value>, String> {
    let (graph, mut state) = (with(channel), State::default());
    for updates in steps {
        let names = ["a", "b", "c"];
        let done: Vec<Done> = names
            .iter()
            .zip(*updates)
            .map(|(name, update)| Done::new(*name, update.clone()))
            .collect();
        fold(&graph, &mut state, &done)
            .map_err(|wrong| format!("{}: {}", wrong.code, wrong.message))?;
    }
    Ok(state.get("c"))
}

fn set(value: impl Into<Value>) -> Update {
    Update::new().set("c", value)
}

fn push(value: impl Into<Value>) -> Update {
    Update::new().push("c", value)
}

#[test]
fn a_last_value_is_what_was_written_last() {
    let last = Channel::last_value;
    assert_eq!(folded(last(), &[&[set(1)], &[set(json!([2]))]]), Ok(Some(json!([2]))));
    assert_eq!(folded(last(), &[&[set(1).set("c", 2)]]), Ok(Some(json!(2))), "one task may");
    assert_eq!(folded(last(), &[&[set(1)], &[Update::new().clear("c")]]), Ok(None));
    assert_eq!(folded(last(), &[&[set(Value::Null)]]), Ok(Some(Value::Null)));
    let wrong = folded(last(), &[&[set(1), Update::new(), set(2)]]).unwrap_err();
    assert!(wrong.starts_with("conflicting_writes: nodes `a` and `c`"), "{wrong}");
    let wrong = folded(last(), &[&[push(1)]]).unwrap_err();
    assert!(wrong.starts_with("invalid_update: node `a` wrote to channel `c`"), "{wrong}");
}

#[test]
fn an_append_channel_adds_in_the_order_of_the_tasks() {
    let append = Channel::append;
    let steps: &[&[Update]] = &[&[set(json!([1, 2])), push(json!([3])), set(4)]];
    assert_eq!(folded(append(), steps), Ok(Some(json!([1, 2, [3], 4]))));
    let replaced = Update::new().replace("c", json!([7])).push("c", 8);
    assert_eq!(folded(append(), &[&[push(1)], &[replaced]]), Ok(Some(json!([7, 8]))));
    assert_eq!(folded(append(), &[&[push(1)], &[Update::new().clear("c")]]), Ok(None));
}

#[test]
fn a_custom_channel_folds_with_its_own_rule() {
    let sum = || {
        Channel::custom(|held, written| {
            json!(held.and_then(Value::as_i64).unwrap_or(0) + written.as_i64().unwrap_or(0))
        })
    };
    assert_eq!(folded(sum(), &[&[set(1), set(2)], &[push(3)]]), Ok(Some(json!(6))));
    assert_eq!(
        folded(sum(), &[&[set(1)], &[Update::new().replace("c", 9), set(1)]]),
        Ok(Some(json!(10)))
    );
    assert_eq!(folded(sum(), &[&[set(1)], &[Update::new().clear("c")]]), Ok(None));
}

#[test]
fn an_ephemeral_value_lasts_one_step() {
    assert_eq!(folded(Channel::ephemeral(), &[&[set(1)]]), Ok(Some(json!(1))));
    assert_eq!(folded(Channel::ephemeral(), &[&[set(1)], &[]]), Ok(None));
    assert_eq!(folded(Channel::ephemeral(), &[&[set(1)], &[set(2)]]), Ok(Some(json!(2))));
    let wrong = folded(Channel::ephemeral(), &[&[set(1), set(2)]]).unwrap_err();
    assert!(wrong.starts_with("conflicting_writes"), "{wrong}");
}

#[test]
fn a_barrier_fills_up_and_empties_after_the_step_that_saw_it_full() {
    let barrier = || Channel::barrier(["x", "y"]);
    assert_eq!(folded(barrier(), &[&[set("y")], &[set("y")]]), Ok(Some(json!(["y"]))));
    assert_eq!(folded(barrier(), &[&[set("y")], &[push("x")]]), Ok(Some(json!(["y", "x"]))));
    assert_eq!(folded(barrier(), &[&[set("y"), set("x")], &[]]), Ok(None));
    assert_eq!(
        folded(barrier(), &[&[set(json!(["x", "y"]))], &[set("x")]]),
        Ok(Some(json!(["x"])))
    );
    let wrong = folded(barrier(), &[&[set("z")]]).unwrap_err();
    assert!(wrong.starts_with("invalid_update"), "{wrong}");
}

#[tokio::test]
async fn a_condition_can_wait_for_a_barrier() {
    let graph = Graph::builder("gate")
        .channel("ready", Channel::barrier(["a", "b"]))
        .node("a", |_state, _cx| async move { Ok(Update::new().set("ready", "a")) })
        .node("b", |_state, _cx| async move { Ok(Update::new().set("ready", "b")) })
        .node("go", |state, _cx| async move {
            Ok(Update::new().set("full", is_full(&state, "ready", 2)))
        })
        .edge(START, "a")
        .edge("a", "b")
        .branch("a", ["go"], |state| if is_full(state, "ready", 2) { vec!["go"] } else { vec![] })
        .branch("b", ["go"], |state| if is_full(state, "ready", 2) { vec!["go"] } else { vec![] })
        .build()
        .unwrap();
    let outcome = start(&World::new(), &graph, Update::new()).await;
    assert_eq!(outcome.state.values(), *json!({"full": true}).as_object().unwrap());
}

#[test]
fn messages_merge_by_id_where_they_stand() {
    let graph = with(Channel::append());
    let mut state = State::default();
    let text =
        |state: &State| state.messages().iter().map(Message::text).collect::<Vec<_>>().join(" ");
    let mut step = |update: Update| {
        let update = crate::engine::messages::prepare(update, uuid::Uuid::nil()).unwrap();
        fold(&graph, &mut state, &[Done::new("a", update)]).unwrap();
        text(&state)
    };
    let say = |id: &str, said: &str| Message::user(id, said);
    assert_eq!(step(Update::new().messages([say("1", "one"), say("2", "two")])), "one two");
    assert_eq!(step(Update::new().message(say("1", "uno"))), "uno two");
    assert_eq!(step(Update::new().remove_message("1")), "two");
    assert_eq!(
        step(Update::new().remove_message("unknown").message(say("3", "three"))),
        "two three"
    );
    let removal = json!([{"role": "remove", "id": "2"}, {"role": "human", "content": "four"}]);
    assert_eq!(step(Update::new().set("messages", removal)), "three four");
    let anew = Update::new().replace("messages", json!([{"role": "ai", "content": "five"}]));
    assert_eq!(step(anew), "five");
    assert_eq!(step(Update::new().remove_message(ALL_MESSAGES).message(say("6", "six"))), "six");
}

#[test]
fn a_step_that_does_not_fit_changes_nothing() {
    let (graph, mut state) = (with(Channel::append()), State::default());
    let done = [Done::new("a", push(1)), Done::new("b", Update::new().push("other", 1))];
    fold(&graph, &mut state, &done).unwrap_err();
    assert!(state.is_empty());
}
