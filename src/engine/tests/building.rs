//! What is wrong with a graph is said when it is built, with what to do about it.

use serde::Deserialize;
use serde_json::json;

use crate::engine::memory::World;
use crate::engine::port::RunContext;
use crate::engine::{Begin, Builder, Channel, END, Graph, START, Update, drive};

fn with(nodes: &[&str]) -> Builder {
    nodes.iter().fold(Graph::builder("g"), |builder, node| {
        builder.node(node, |_state, _cx| async move { Ok(()) })
    })
}

fn a() -> Builder {
    with(&["a"]).edge(START, "a")
}

fn refusal(builder: Builder) -> String {
    builder.build().unwrap_err().to_string()
}

#[test]
fn every_refusal_says_what_to_do() {
    let numbered = |builder: Builder, prefix: &str| {
        builder.nodes_numbered(prefix, |_state, _cx| async move { Ok(()) })
    };
    let refusals = [
        refusal(with(&["a", "a"])),
        refusal(numbered(numbered(a(), "n"), "n")),
        refusal(with(&["a:b"])),
        refusal(with(&[""])),
        refusal(numbered(a(), "step2")),
        refusal(a().channel("c", Channel::append()).channel("c", Channel::append())),
        refusal(a().channel("messages", Channel::append())),
        refusal(a().edge("a", "b")),
        refusal(a().edge("b", "a")),
        refusal(a().branch("a", ["a", "b"], |_| END)),
        refusal(a().join(["a", "b"], "a")),
        refusal(a().goes_to("a", ["b"])),
        refusal(a().goes_to("b", ["a"])),
        refusal(a().retry("b", crate::engine::Retry::attempts(2))),
        refusal(a().time_limit("b", std::time::Duration::ZERO)),
        refusal(a().writes("b", ["messages"])),
        refusal(with(&["a"])),
        refusal(with(&["a", "b"]).edge(START, "a")),
        refusal(numbered(a(), "n_")),
        refusal(a().edge("a", START)),
        refusal(a().edge(END, "a")),
        refusal(a().join([START], "a")),
        refusal(a().join([], "a")),
        refusal(a().writes("a", ["messages", "notes"])),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    there are two nodes named `a` in graph `g`; give one of them another name
    there are two nodes named `n*` in graph `g`; give one of them another name
    `a:b` is no name for a node of graph `g`: names are not empty, hold no `|`, `:` or `*`, and do not begin with `__`
    `` is no name for a node of graph `g`: names are not empty, hold no `|`, `:` or `*`, and do not begin with `__`
    `step2` is no prefix for numbered nodes of graph `g`: it holds no `|`, `:` or `*`, does not begin with `__`, and does not end with a digit
    there are two channels named `c` in graph `g` (`messages` is always there); give one of them another name
    there are two channels named `messages` in graph `g` (`messages` is always there); give one of them another name
    the edge `a` → `b` of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    the edge `b` → `a` of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    the condition after `a` of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    the join into `a` of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    the `.goes_to` of `a` of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    a `.goes_to` of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    a retry policy of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    a time limit of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    a `.writes` of graph `g` names `b`, which is no node; add `.node("b", …)` or correct the name
    nothing follows the start of graph `g`; add `.edge(START, …)` to its first node
    nothing leads from the start to node `b` of graph `g`; add an edge, name it among the targets of a condition, or declare with `.goes_to(…)` which node's command goes there
    nothing leads from the start to node `n_*` of graph `g`; add an edge, name it among the targets of a condition, or declare with `.goes_to(…)` which node's command goes there
    the edge `a` → `__start__` of graph `g` leads back to the start; name the first node instead
    the edge `__end__` → `a` of graph `g` comes from the end, where nothing goes on; drop it
    the join into `a` of graph `g` waits for the start; use `.edge(START, …)` instead
    the join into `a` of graph `g` waits for nothing; name the nodes it waits for
    node `a` of graph `g` declares that it writes channel `notes`, which is not declared; add `.channel("notes", …)` or correct the name
    "#);
}

#[test]
fn a_drawing_is_the_same_every_time() {
    let below = with(&["x", "y"]).edge(START, "x").edge(START, "y").join(["x", "y"], END);
    let graph = with(&["ask", "say \"hi\"", "last"])
        .subgraph("below", below.build().unwrap(), |_, _| Update::new(), |_| Update::new())
        .nodes_numbered("step_", |_state, _cx| async move { Ok(()) })
        .goes_to("step_", ["step_1", END])
        .goes_to("ask", ["below"])
        .edge(START, "ask")
        .branch("ask", ["say \"hi\"", "step_1"], |_| END)
        .join(["below", "say \"hi\"", "step_3"], "last")
        .build()
        .unwrap();
    insta::assert_snapshot!(graph.mermaid(), @r#"
    flowchart TD
        start([start])
        n0["ask"]
        n1["say #quot;hi#quot;"]
        n2["last"]
        subgraph n3["below"]
            n3_start([start])
            n3_n0["x"]
            n3_n1["y"]
            n3_j0((all))
            n3_finish([end])
            n3_start --> n3_n0
            n3_start --> n3_n1
            n3_n0 --> n3_j0
            n3_n1 --> n3_j0
            n3_j0 --> n3_finish
        end
        n4["step_*"]
        j0((all))
        finish([end])
        start --> n0
        n0 -.-> n1
        n0 -.-> n4
        n0 -. command .-> n3
        n1 --> j0
        n2 --> finish
        n3 --> j0
        n4 --> j0
        n4 -. command .-> n4
        n4 -. command .-> finish
        j0 --> n2
    "#);
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Config {
    /// How loud.
    #[serde(default)]
    volume: u8,
}

#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct Held {
    topic: String,
    config: Option<Config>,
}

#[test]
fn schemas_come_from_types_without_references() {
    let graph = a().input::<String>().state::<Held>().config::<Config>().build().unwrap();
    let schemas = graph.schemas();
    assert_eq!(schemas.input.as_ref().unwrap()["type"], "string");
    assert_eq!(schemas.output, None);
    assert_eq!(
        schemas.config.as_ref().unwrap()["properties"]["volume"]["description"],
        "How loud."
    );
    let state = schemas.state.as_ref().unwrap();
    assert_eq!(state["required"], json!(["topic"]));
    assert!(!state.to_string().contains("$ref"), "{state}");
}

#[tokio::test]
async fn a_node_reads_its_configuration_as_a_type() {
    let graph = Graph::builder("loud")
        .node("a", |_state, cx| async move {
            let Config { volume } = cx.config()?;
            Ok(Update::new().set("volume", volume))
        })
        .config::<Config>()
        .edge(START, "a")
        .build()
        .unwrap();
    for (given, heard) in
        [(json!({"volume": 3, "other": true}), Some(3)), (json!({"volume": "x"}), None)]
    {
        let configurable = std::sync::Arc::new(given.as_object().unwrap().clone());
        let run = RunContext { configurable, ..World::new().run() };
        let begin = Begin { input: Some(Update::new()), ..Begin::default() };
        let outcome = drive(&graph, begin, &run).await.unwrap();
        assert_eq!(outcome.state.get_as("volume"), heard);
    }
}
