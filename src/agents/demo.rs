//! The agents with tools that ship with the program: they talk to the offline model.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agents::react::{Policy, React, Subagent};
use crate::agents::registry::Agent;
use crate::agents::review::Allowed;
use crate::domain::tool::{Risk, ToolSpec};
use crate::engine::BuildError;
use crate::models::scripted::Scripted;
use crate::tools::{Tools, builtin};

pub(crate) fn react() -> Result<Agent, BuildError> {
    let agent = weather_agent().agent("react", "ReAct")?;
    Ok(agent.described("Answers, and looks the weather up where it is asked for."))
}

pub(crate) fn human_in_the_loop() -> Result<Agent, BuildError> {
    let asked = ["delete_file", "send_email"].map(|tool| (tool.to_owned(), Allowed::ALL.to_vec()));
    let agent = React {
        tools: Tools::new([builtin::get_weather(), builtin::delete_file(), builtin::send_email()]),
        policy: Policy { by_tool: BTreeMap::from(asked), ..Policy::default() },
        ..offline()
    };
    let agent = agent.agent("human-in-the-loop", "Human-in-the-loop")?;
    Ok(agent.described("Asks a person before it deletes a file or sends an email."))
}

pub(crate) fn subagents() -> Result<Agent, BuildError> {
    let task = Subagent {
        spec: ToolSpec {
            name: "task".to_owned(),
            description: "Gives a task to an agent that can look the weather up.".to_owned(),
            parameters: serde_json::json!({
                "type": "object",
                "properties": {"description": {"type": "string"}},
                "required": ["description"],
                "additionalProperties": false,
            }),
        },
        graph: weather_agent().graph("react")?,
    };
    let agent = React { subagents: vec![task], ..offline() }.agent("subagents", "Subagents")?;
    Ok(agent.described("Hands tasks to another agent, which runs inside it."))
}

pub(crate) fn media_management() -> Result<Agent, BuildError> {
    let agent = React {
        tools: Tools::new([
            builtin::search_media(),
            builtin::trim_video(),
            builtin::add_watermark(),
            builtin::delete_media(),
        ]),
        policy: Policy { from: Some(Risk::High), ..Policy::default() },
        ..offline()
    };
    let agent = agent.agent("media_management", "Media management")?;
    Ok(agent
        .described("Finds, cuts and marks videos; asks before it deletes one.")
        .alias("video-mixcut"))
}

fn weather_agent() -> React {
    React { tools: Tools::new([builtin::get_weather()]), ..offline() }
}

fn offline() -> React {
    React::new(Arc::new(Scripted))
}
