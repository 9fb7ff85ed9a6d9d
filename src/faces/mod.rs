//! The protocols this server speaks: each a folder that translates between its wire format and
//! [`crate::app`], and knows nothing of the others.

pub mod agent_protocol;

use axum::Router;
use utoipa::openapi::OpenApi;

use crate::app::App;
use crate::http::{self, Options};

/// Everything the server answers.
pub fn router(app: App, options: Options) -> Router {
    let operations = http::operations(app.clone(), &options);
    let documentation = http::documentation(openapi_json());
    let root = agent_protocol::router().with_state(app).merge(operations).merge(documentation);
    // What belongs to no face is answered in the shape of the one at the root.
    let root = http::shaped::<agent_protocol::Shape, _>(root);
    http::observed(root, options)
}

/// The document that describes it.
pub fn openapi() -> OpenApi {
    agent_protocol::openapi()
}

/// The document as text, the same for the same program: what `openapi/runloom.json` holds.
pub fn openapi_json() -> String {
    openapi().to_pretty_json().map(|text| text + "\n").unwrap_or_default()
}
