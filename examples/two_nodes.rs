//! Two nodes and a conditional edge: draft until the draft is long enough, then publish.

use runloom::engine::memory::World;
use runloom::engine::{Graph, START, Update};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it did")]
async fn main() -> anyhow::Result<()> {
    let graph = Graph::builder("writer")
        .node("draft", |state, _cx| async move {
            let draft: String = state.get_as("draft").unwrap_or_default();
            Ok(Update::new().set("draft", draft + "word "))
        })
        .node("publish", |_, _| async move { Ok(Update::new().set("published", true)) })
        .edge(START, "draft")
        .branch("draft", ["draft", "publish"], |state| {
            let draft: String = state.get_as("draft").unwrap_or_default();
            if draft.len() < 20 { "draft" } else { "publish" }
        })
        .build()?;
    println!("{:?}", World::new().start(&graph, Update::new()).await?.state.values());
    Ok(())
}
