//! `/agents`: which agents there are and what they take.

use axum::extract::State;

use super::wire::{Agent, AgentSchema, AgentSearchRequest, ErrorResponse};
use crate::app::{App, Caller};
use crate::http::{Body, Ids, MaybeBody, Problem, Segment};

/// An agent's id or alias in a path.
pub(super) struct AgentName(String);

impl Segment for AgentName {
    const NAME: &'static str = "agent_id";

    fn read(text: &str) -> crate::domain::Result<Self> {
        crate::domain::json::refuse_nul_text(Self::NAME, text)?;
        Ok(Self(text.to_owned()))
    }
}

/// List agents
///
/// In the order in which they were registered.
#[utoipa::path(post, path = "/agents/search", tag = "Agents",
    request_body(content = AgentSearchRequest),
    responses(
        (status = 200, description = "The agents", body = Vec<Agent>),
        (status = 404, description = "Not used: a search that finds nothing is empty", body = ErrorResponse),
    ))]
pub(super) async fn search_agents(
    State(app): State<App>,
    _: Caller,
    MaybeBody(search): MaybeBody<AgentSearchRequest>,
) -> Result<Body<Vec<Agent>>, Problem> {
    let page = search.page()?;
    let (name, metadata) = search.filters()?;
    let found = app.agents_search(name.as_deref(), &metadata, page);
    Ok(Body(found.iter().map(|agent| Agent::from(&**agent)).collect()))
}

/// Get an agent
#[utoipa::path(get, path = "/agents/{agent_id}", tag = "Agents",
    params(("agent_id" = String, Path, description = "The agent's id or alias")),
    responses(
        (status = 200, description = "The agent", body = Agent),
        (status = 404, description = "There is no such agent", body = ErrorResponse),
    ))]
pub(super) async fn get_agent(
    State(app): State<App>,
    _: Caller,
    Ids(AgentName(id)): Ids<AgentName>,
) -> Result<Body<Agent>, Problem> {
    Ok(Body(Agent::from(&*app.agent(&id)?)))
}

/// Get an agent's schemas
///
/// What it takes as input and configuration, what it gives, and the state it keeps.
#[utoipa::path(get, path = "/agents/{agent_id}/schemas", tag = "Agents",
    params(("agent_id" = String, Path, description = "The agent's id or alias")),
    responses(
        (status = 200, description = "The schemas", body = AgentSchema),
        (status = 404, description = "There is no such agent", body = ErrorResponse),
    ))]
pub(super) async fn get_agent_schemas(
    State(app): State<App>,
    _: Caller,
    Ids(AgentName(id)): Ids<AgentName>,
) -> Result<Body<AgentSchema>, Problem> {
    Ok(Body(AgentSchema::from(&*app.agent(&id)?)))
}
