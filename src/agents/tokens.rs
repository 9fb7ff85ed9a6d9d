//! `tokens`: streams a message of as many chunks as it is told to.

use std::time::Duration;

use serde_json::json;

use crate::agents::registry::{Agent, Schemas};
use crate::agents::setting::{DELAY_MS, Number};
use crate::engine::{BuildError, Cx, END, Graph, Halt, START, Update};

const N: Number = Number {
    name: "n",
    default: 50,
    range: 0..=100_000,
    description: "How many chunks the message has.",
};

pub(crate) fn agent() -> Result<Agent, BuildError> {
    let graph = Graph::builder("tokens")
        .node("tokens", |_state, cx| tokens(cx))
        .edge(START, "tokens")
        .edge("tokens", END)
        .build()?;
    let config = json!({N.name: N.schema(), DELAY_MS.name: DELAY_MS.schema()});
    Ok(Agent::new("tokens", "Tokens", graph)
        .described("Streams one message, chunk by chunk.")
        .with_schemas(Schemas::conversation().with_config(config))
        .checked(|spec| {
            N.read(&spec.config.configurable)?;
            DELAY_MS.read(&spec.config.configurable).map(drop)
        }))
}

async fn tokens(cx: Cx) -> Result<Update, Halt> {
    let count = N.read(cx.configurable())?;
    let delay = Duration::from_millis(DELAY_MS.read(cx.configurable())?);
    let mut writer = cx.stream_message(cx.message_id(0)).await;
    for ordinal in 0..count {
        if ordinal > 0 {
            cx.sleep(delay).await;
        }
        writer.text(format!("tok{ordinal} ")).await;
    }
    Ok(Update::new().message(writer.finish().await))
}
