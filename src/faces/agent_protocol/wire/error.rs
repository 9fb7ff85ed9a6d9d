use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What went wrong. Written by [`super::super::Shape`]; this describes it.
#[derive(Serialize, ToSchema)]
pub struct ErrorResponse {
    /// Short and stable, for programs.
    pub code: String,
    /// One sentence for people.
    pub message: String,
    /// More about it: `field` names the request member at fault.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}
