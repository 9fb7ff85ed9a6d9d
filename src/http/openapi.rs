//! The `OpenAPI` document and the page that shows it.

use axum::Router;
use axum::routing::get;
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::body::json;

const DOCUMENT: &str = "/openapi.json";

/// `/openapi.json` with this text, and `/docs` that shows it without any other server's help.
pub fn documentation(document: String) -> Router {
    let document = axum::body::Bytes::from(document);
    let page = SwaggerUi::new("/docs").config(Config::from(DOCUMENT));
    Router::new()
        .route(DOCUMENT, get(async move || json(document.clone())))
        .merge(Router::from(page))
}
