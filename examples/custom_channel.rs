//! A channel with a rule of its own: tasks that run side by side vote, and the votes are counted.

use runloom::engine::memory::World;
use runloom::engine::{Channel, END, Graph, START, Update, send};
use serde_json::{Value, json};

/// Adds one vote to the counts held so far.
fn count(held: Option<&Value>, vote: &Value) -> Value {
    let mut counts = held.and_then(Value::as_object).cloned().unwrap_or_default();
    let choice = vote.as_str().unwrap_or("void").to_owned();
    let votes = counts.get(&choice).and_then(Value::as_u64).unwrap_or(0);
    counts.insert(choice, json!(votes + 1));
    counts.into()
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it did")]
async fn main() -> anyhow::Result<()> {
    let graph = Graph::builder("election")
        .channel("votes", Channel::custom(count))
        .node("vote", |_state, cx| async move {
            let voter: u64 = cx.input_as()?;
            let choice = if voter.is_multiple_of(3) { "tea" } else { "coffee" };
            Ok(Update::new().set("votes", choice))
        })
        .branch(START, ["vote"], |_state| {
            (1..=7).map(|voter| send("vote", voter)).collect::<Vec<_>>()
        })
        .edge("vote", END)
        .build()?;
    let outcome = World::new().start(&graph, Update::new()).await?;
    println!("{:?}", outcome.state.values());
    Ok(())
}
