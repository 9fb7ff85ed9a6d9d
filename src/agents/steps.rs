//! `steps`: walks through as many nodes as it is told to, one a super-step.

use std::time::Duration;

use serde_json::json;

use crate::agents::registry::{Agent, Schemas};
use crate::agents::setting::{DELAY_MS, Number};
use crate::domain::Message;
use crate::engine::{BuildError, Channel, Command, Cx, Graph, Halt, START, Update};

const N: Number =
    Number { name: "n", default: 10, range: 1..=10_000, description: "How many steps it makes." };

/// What comes before the number in the names of its nodes.
const PREFIX: &str = "step_";

pub(crate) fn agent() -> Result<Agent, BuildError> {
    let graph = Graph::builder("steps")
        .channel("steps", Channel::append())
        .nodes_numbered(PREFIX, |_state, cx| step(cx))
        .goes_to(PREFIX, ["step_1"])
        .edge(START, "step_1")
        .build()?;
    let config = json!({N.name: N.schema(), DELAY_MS.name: DELAY_MS.schema()});
    let steps = json!({"type": "array", "items": {"type": "integer"}});
    Ok(Agent::new("steps", "Steps", graph)
        .described("Walks through its steps one after the other.")
        .with_schemas(Schemas::conversation().with_config(config).with_channel("steps", &steps))
        .checked(|spec| {
            N.read(&spec.config.configurable)?;
            DELAY_MS.read(&spec.config.configurable).map(drop)
        }))
}

async fn step(cx: Cx) -> Result<Command, Halt> {
    let last = N.read(cx.configurable())?;
    let number: u64 = cx.node().trim_start_matches(PREFIX).parse()?;
    cx.sleep(Duration::from_millis(DELAY_MS.read(cx.configurable())?)).await;
    let update = Update::new().push("steps", number);
    if number < last {
        return Ok(Command::from(update).goto(format!("{PREFIX}{}", number + 1)));
    }
    let text = format!("done after {last} steps");
    Ok(update.message(Message::assistant(cx.message_id(0), text)).into())
}
