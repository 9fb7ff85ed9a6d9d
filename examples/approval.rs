//! Asks before it acts: the run pauses until a human has decided.

use runloom::domain::checkpoint::Answers;
use runloom::engine::memory::World;
use runloom::engine::{Cx, END, Graph, Halt, START, Update};
use serde_json::json;

/// Runs twice: it asks the first time, and finds the answer the second time. What it has done
/// before it asked is not done again.
async fn send(cx: Cx) -> Result<Update, Halt> {
    let draft = cx.once("draft", async { Ok("Dear Ada, …".to_owned()) }).await?;
    let answer = cx.interrupt(json!({"send": draft}))?;
    if answer != json!("yes") {
        return Ok(Update::new().set("outcome", "not sent"));
    }
    // The same in every attempt: a mail server that knows it delivers once.
    let key = cx.idempotency_key(0);
    Ok(Update::new().set("outcome", format!("sent under {key}")))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it did")]
async fn main() -> anyhow::Result<()> {
    let graph = Graph::builder("approval")
        .node("send", |_state, cx| send(cx))
        .edge(START, "send")
        .edge("send", END)
        .build()?;
    let world = World::new();
    let paused = world.start(&graph, Update::new()).await?;
    let mut answers = Answers::new();
    for asked in paused.interrupts() {
        println!("it asks: {}", asked.value);
        answers.insert(asked.id, json!("yes"));
    }
    let done = world.resume(&graph, answers).await?;
    println!("{:?}", done.state.values());
    Ok(())
}
