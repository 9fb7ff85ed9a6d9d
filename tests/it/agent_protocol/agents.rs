//! Agents for these tests, beside those that ship with the program.

use std::sync::Arc;

use runloom::agents::registry::{Agent, Registry};
use runloom::domain::Message;
use runloom::domain::state::State;
use runloom::engine::{Channel, Command, Cx, END, Graph, Halt, START, Update};
use serde_json::json;

use super::probe::Probe;

pub(super) fn agents() -> Registry {
    let graphs = [
        ("door", door()),
        ("walk", walk()),
        ("asks", asks()),
        ("parallel", parallel()),
        ("outer", outer()),
        ("breaks", breaks()),
        ("panics", panics()),
        ("endless", endless()),
    ];
    graphs.into_iter().fold(Registry::demo(), |agents, (id, graph)| {
        agents.with(Agent::new(id, &format!("The {id} agent"), graph))
    })
}

/// What the user said last.
fn said(state: &State) -> String {
    let last = state.messages().last().cloned();
    last.map(|message| message.text()).unwrap_or_default()
}

/// Waits at the door, then adds what the user said to `log`.
fn door() -> Arc<Graph> {
    let pass = |state: State, cx: Cx| async move {
        let probe = Probe::of(&cx);
        let _at_work = probe.at_work();
        probe.note(&said(&state));
        probe.wait().await;
        Ok::<_, Halt>(Update::new().push("log", said(&state)))
    };
    Graph::builder("door")
        .channel("log", Channel::append())
        .node("pass", pass)
        .edge(START, "pass")
        .edge("pass", END)
        .build()
        .expect("the graph is well formed")
}

/// Counts its four steps, and waits at the door in the middle of the one that `hold` names.
fn walk() -> Arc<Graph> {
    let step = |_: State, cx: Cx| async move {
        let (probe, number) = (Probe::of(&cx), cx.node().trim_start_matches("step_").to_owned());
        if cx.setting::<u64>("hold").is_some_and(|hold| hold.to_string() == number) {
            probe.wait().await;
        }
        probe.note(&number);
        Ok::<_, Halt>(Update::new().push("steps", number))
    };
    let builder = Graph::builder("walk").channel("steps", Channel::append());
    let builder = ["step_1", "step_2", "step_3", "step_4"]
        .into_iter()
        .fold(builder, |builder, name| builder.node(name, step));
    let path = [START, "step_1", "step_2", "step_3", "step_4", END];
    path.windows(2)
        .fold(builder, |builder, pair| builder.edge(pair[0], pair[1]))
        .build()
        .expect("the graph is well formed")
}

/// Asks one question, and notes that it was answered.
fn asks() -> Arc<Graph> {
    let ask = |state: State, cx: Cx| async move {
        let answer = cx.interrupt(json!({"question": said(&state)}))?;
        Probe::of(&cx).note("answered");
        Ok::<_, Halt>(Update::new().set("answer", answer))
    };
    Graph::builder("asks")
        .node("ask", ask)
        .edge(START, "ask")
        .edge("ask", END)
        .build()
        .expect("the graph is well formed")
}

/// Two nodes that ask and one that does not, side by side.
fn parallel() -> Arc<Graph> {
    let ask = |_: State, cx: Cx| async move {
        let answer = cx.interrupt(json!({"from": &**cx.node()}))?;
        Probe::of(&cx).note(cx.node());
        Ok::<_, Halt>(Update::new().set(cx.node(), answer))
    };
    let quiet = |_: State, cx: Cx| async move {
        Probe::of(&cx).note("quiet");
        Ok::<_, Halt>(Update::new().set("quiet", true))
    };
    Graph::builder("parallel")
        .node("left", ask)
        .node("right", ask)
        .node("quiet", quiet)
        .edge(START, "left")
        .edge(START, "right")
        .edge(START, "quiet")
        .edge("left", END)
        .edge("right", END)
        .edge("quiet", END)
        .build()
        .expect("the graph is well formed")
}

/// Runs another graph inside of its one node, and tells whoever watches.
fn outer() -> Arc<Graph> {
    let inside = |_: State, cx: Cx| async move {
        cx.custom(None, json!({"depth": cx.depth()})).await;
        Ok::<_, Halt>(Update::new().set("inner", "done"))
    };
    let inner = Graph::builder("inner")
        .node("inside", inside)
        .edge(START, "inside")
        .edge("inside", END)
        .build()
        .expect("the graph is well formed");
    let outside = |_: State, cx: Cx| async move {
        cx.custom(None, json!({"depth": cx.depth()})).await;
        let reply = Message::assistant(cx.message_id(0), "outside");
        Ok::<_, Halt>(Update::new().set("outer", "done").message(reply))
    };
    Graph::builder("outer")
        .node("outside", outside)
        .subgraph(
            "nested",
            inner,
            |_, _| Update::new(),
            |state| Update::new().set("inner", state.get("inner").unwrap_or_default()),
        )
        .edge(START, "outside")
        .edge("outside", "nested")
        .edge("nested", END)
        .build()
        .expect("the graph is well formed")
}

/// Writes `kept`, then fails.
fn breaks() -> Arc<Graph> {
    let fail = |_: State, _: Cx| async { Err::<Update, _>(Halt::coded("broken", "it broke")) };
    after_one_step("breaks", fail)
}

/// Writes `kept`, then panics.
fn panics() -> Arc<Graph> {
    let panic = |_: State, cx: Cx| async move {
        assert!(cx.step() < 0, "what a node says when it panics is not told");
        Ok::<_, Halt>(Update::new())
    };
    after_one_step("panics", panic)
}

fn after_one_step<F, Fut>(name: &str, then: F) -> Arc<Graph>
where
    F: Fn(State, Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Update, Halt>> + Send + 'static,
{
    let keep = |_: State, _: Cx| async { Ok::<_, Halt>(Update::new().set("kept", true)) };
    Graph::builder(name)
        .node("keep", keep)
        .node("then", then)
        .edge(START, "keep")
        .edge("keep", "then")
        .edge("then", END)
        .build()
        .expect("the graph is well formed")
}

/// Goes round in a circle.
fn endless() -> Arc<Graph> {
    let round = |_: State, _: Cx| async {
        Ok::<_, Halt>(Command::from(Update::new().push("rounds", 1)).goto("round"))
    };
    Graph::builder("endless")
        .channel("rounds", Channel::append())
        .node("round", round)
        .goes_to("round", ["round"])
        .edge(START, "round")
        .build()
        .expect("the graph is well formed")
}
