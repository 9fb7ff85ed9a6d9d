//! The agents with tools that ship with the program: they talk to the offline model.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agents::react::{Policy, React, Subagent};
use crate::agents::registry::Agent;
use crate::agents::review::Allowed;
use crate::domain::tool::Risk;
use crate::engine::BuildError;
use crate::models::scripted::Scripted;
use crate::tools::{Tools, builtin};

pub(crate) fn react() -> Result<Agent, BuildError> {
    let agent = weather_agent().agent("react", "ReAct")?;
    Ok(agent.described("Answers, and looks the weather up where it is asked for."))
}

/// The parts of the agent of this id, for those who change some of them.
pub(crate) fn template(id: &str) -> Option<React> {
    match id {
        "react" => Some(weather_agent()),
        "human-in-the-loop" => Some(reviewed()),
        "subagents" => supervisor().ok(),
        "media_management" => Some(media()),
        _ => None,
    }
}

fn reviewed() -> React {
    let asked = ["delete_file", "send_email"].map(|tool| (tool.to_owned(), Allowed::ALL.to_vec()));
    React {
        tools: Tools::new([builtin::get_weather(), builtin::delete_file(), builtin::send_email()]),
        policy: Policy { by_tool: BTreeMap::from(asked), ..Policy::default() },
        ..offline()
    }
}

pub(crate) fn human_in_the_loop() -> Result<Agent, BuildError> {
    let agent = reviewed().agent("human-in-the-loop", "Human-in-the-loop")?;
    Ok(agent.described("Asks a person before it deletes a file or sends an email."))
}

fn supervisor() -> Result<React, BuildError> {
    let purpose = "Gives a task to an agent that can look the weather up.";
    let graph = weather_agent().graph("react")?;
    let task = Subagent::task(purpose, vec![("react".to_owned(), graph)]);
    Ok(React { subagents: vec![task], ..offline() })
}

pub(crate) fn subagents() -> Result<Agent, BuildError> {
    let agent = supervisor()?.agent("subagents", "Subagents")?;
    Ok(agent.described("Hands tasks to another agent, which runs inside it."))
}

fn media() -> React {
    React {
        tools: Tools::new([
            builtin::search_media(),
            builtin::trim_video(),
            builtin::add_watermark(),
            builtin::delete_media(),
        ]),
        policy: Policy { from: Some(Risk::High), ..Policy::default() },
        ..offline()
    }
}

pub(crate) fn media_management() -> Result<Agent, BuildError> {
    let agent = media().agent("media_management", "Media management")?;
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
