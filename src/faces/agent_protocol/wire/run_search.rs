use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{DEFAULT_LIMIT, RunStatus};
use crate::app;
use crate::domain::error::{Error, Result};
use crate::domain::ids::{AgentId, ThreadId};
use crate::domain::json;
use crate::domain::page::Page;
use crate::domain::run::{self, CancelAction};
use crate::http::{FromQuery, Query};

/// Which runs to list.
#[derive(Default, Deserialize, ToSchema)]
pub struct RunSearchRequest {
    /// Contained in the run's metadata.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub metadata: Option<Map<String, Value>>,
    #[schema(nullable = false)]
    pub status: Option<RunStatus>,
    #[schema(nullable = false)]
    pub thread_id: Option<Uuid>,
    /// An id or alias.
    #[schema(nullable = false)]
    pub agent_id: Option<String>,
    #[schema(ignore)]
    pub assistant_id: Option<String>,
    /// How many at most.
    #[schema(nullable = false, default = 10, minimum = 1, maximum = 1000)]
    pub limit: Option<i64>,
    /// How many to skip.
    #[schema(nullable = false, default = 0, minimum = 0)]
    pub offset: Option<i64>,
}

impl RunSearchRequest {
    pub fn page(&self) -> Result<Page> {
        Page::new(self.limit, DEFAULT_LIMIT, self.offset)
    }

    /// `agent_of` knows the agent behind an alias.
    pub fn filter(self, agent_of: impl FnOnce(&str) -> Option<AgentId>) -> Result<app::RunFilter> {
        let agent = self.agent_id.or(self.assistant_id);
        if let Some(agent) = &agent {
            json::refuse_nul_text("agent_id", agent)?;
        }
        Ok(app::RunFilter {
            metadata: self.metadata.unwrap_or_default(),
            status: self.status.map(RunStatus::meaning).unwrap_or_default(),
            thread_id: self.thread_id.map(ThreadId),
            agent_id: agent.map(|agent| agent_of(&agent).unwrap_or_else(|| AgentId::new(agent))),
        })
    }
}

/// Which runs of a thread to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunListQuery {
    #[param(value_type = Option<RunStatus>, nullable = false)]
    pub status: Vec<run::RunStatus>,
    /// How many at most.
    #[param(value_type = Option<i64>, nullable = false, default = 10, minimum = 1, maximum = 1000)]
    pub limit: u32,
    /// How many to skip.
    #[param(value_type = Option<i64>, nullable = false, default = 0, minimum = 0)]
    pub offset: u32,
}

impl FromQuery for RunListQuery {
    fn from_query(query: &Query) -> Result<Self> {
        let status = query.text("status").map(|text| {
            let named = serde_json::from_value::<RunStatus>(text.into());
            named.map_err(|why| Error::invalid("status", format!("status is wrong: {why}")))
        });
        let status = status.transpose()?.map(RunStatus::meaning).unwrap_or_default();
        let page = Page::new(query.integer("limit")?, DEFAULT_LIMIT, query.integer("offset")?)?;
        Ok(Self { status, limit: page.limit, offset: page.offset })
    }
}

/// How to cancel a run.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CancelQuery {
    /// Answer when the run is over, not at once.
    #[param(value_type = Option<bool>, nullable = false, default = false)]
    pub wait: bool,
    /// `interrupt` keeps what the run finished; `rollback` undoes it and deletes the run.
    #[param(schema_with = action, required = false)]
    pub action: CancelAction,
}

fn action() -> Object {
    let names = [CancelAction::Interrupt, CancelAction::Rollback].map(CancelAction::as_str);
    let default = Some(names[0].into());
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).default(default).build()
}

impl FromQuery for CancelQuery {
    fn from_query(query: &Query) -> Result<Self> {
        let wrong = || Error::invalid("action", "action must be interrupt or rollback");
        let action = query.text("action").map(|text| CancelAction::parse(text).ok_or_else(wrong));
        Ok(Self {
            wait: query.flag("wait")?,
            action: action.transpose()?.unwrap_or(CancelAction::Interrupt),
        })
    }
}
