//! A graph inside a node: its state is its own, and its questions are asked at the root.

use runloom::domain::checkpoint::Answers;
use runloom::engine::memory::World;
use runloom::engine::{Graph, START, Update};
use serde_json::json;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it did")]
async fn main() -> anyhow::Result<()> {
    let research = Graph::builder("research")
        .node("search", |state, _cx| async move {
            let topic: String = state.get_as("topic").unwrap_or_default();
            Ok(Update::new()
                .set("found", json!([format!("all about {topic}"), "an advertisement"])))
        })
        .node("choose", |state, cx| async move {
            let found = state.get("found").unwrap_or_default();
            Ok(Update::new().set("chosen", cx.interrupt(json!({"which": found}))?))
        })
        .edge(START, "search")
        .edge("search", "choose")
        .build()?;
    let graph = Graph::builder("report")
        .subgraph(
            "research",
            research,
            |state, _cx| Update::new().set("topic", state.get("topic").unwrap_or_default()),
            |below| Update::new().set("source", below.get("chosen").unwrap_or_default()),
        )
        .node("write", |state, _cx| async move {
            let source: String = state.get_as("source").unwrap_or_default();
            Ok(Update::new().set("report", format!("According to {source}: yes.")))
        })
        .edge(START, "research")
        .edge("research", "write")
        .build()?;
    println!("{}", graph.mermaid());
    let world = World::new();
    let paused = world.start(&graph, Update::new().set("topic", "cats")).await?;
    let mut answers = Answers::new();
    for asked in paused.interrupts() {
        println!("{:?} asks: {}", asked.namespace, asked.value);
        answers.insert(asked.id, json!("all about cats"));
    }
    println!("{:?}", world.resume(&graph, answers).await?.state.values());
    Ok(())
}
