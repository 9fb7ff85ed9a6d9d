//! The document of this face: what the routes say of themselves, and what holds for all of them.

use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{KnownFormat, SchemaFormat, SchemaType, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ContentBuilder, InfoBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Required, Response,
    ResponseBuilder, Tag,
};

/// The whole document: a function of the program alone.
pub fn openapi() -> OpenApi {
    let mut document = super::documented().into_openapi();
    document.info = InfoBuilder::new()
        .title("Runloom")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "An Agent Protocol server (0.1.6): agents, threads, runs and long-term memory.",
        ))
        .build();
    document.tags = Some(tags());
    add_thread_scope(&mut document);
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            add_common_responses(operation);
        }
    }
    add_keys(&mut document);
    document
}

fn tags() -> Vec<Tag> {
    let tag = |name: &str, description: &str| {
        TagBuilder::new().name(name).description(Some(description)).build()
    };
    vec![
        tag("Agents", "What can be run, and what it takes."),
        tag(
            "Threads",
            "State over many turns: what is kept between the runs of a conversation, with its history.",
        ),
        tag("Runs", "Runs that are waited for or streamed by whoever starts them."),
        tag(
            "Background Runs",
            "Runs that go on by themselves, and everything that can be done with a run.",
        ),
        tag("Streaming", "Watching, steering and rewinding a thread over one connection."),
        tag("Store", "Long-term memory: documents that every thread can reach."),
    ]
}

/// The paths under `/runs` that also exist under a thread's path, with the same answers.
fn add_thread_scope(document: &mut OpenApi) {
    const UNSCOPED: &str = "/runs/search";
    let paths = &mut document.paths.paths;
    let runs = paths.iter().filter(|(path, _)| path.starts_with("/runs") && *path != UNSCOPED);
    let scoped: Vec<(String, PathItem)> = runs
        .map(|(path, item)| {
            let mut item = item.clone();
            operations(&mut item).into_iter().for_each(scope);
            (format!("/threads/{{thread_id}}{path}"), item)
        })
        .collect();
    for (path, item) in scoped {
        match paths.get_mut(&path) {
            Some(there) => there.merge_operations(item),
            None => {
                paths.insert(path, item);
            }
        }
    }
}

/// Makes the operation one on a thread's run.
fn scope(operation: &mut Operation) {
    let thread_id = ParameterBuilder::new()
        .name("thread_id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The thread"))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(SchemaType::Type(Type::String))
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid))),
        ))
        .build();
    operation.parameters.get_or_insert_default().insert(0, thread_id.into());
    operation.operation_id = operation.operation_id.take().map(|id| format!("{id}_on_thread"));
}

/// What any request may be answered.
fn add_common_responses(operation: &mut Operation) {
    let with_body = operation.request_body.is_some();
    let common = [
        ("400", "The request cannot be read", with_body),
        ("401", "No key, or an unknown one", true),
        ("413", "The body is too large", with_body),
        ("415", "The body is not JSON", with_body),
        ("422", "A member of the request is wrong", true),
        ("429", "A limit is reached", with_body),
        ("503", "Something this server needs is away", true),
    ];
    let responses = &mut operation.responses.responses;
    for (status, description, applies) in common {
        if applies && !responses.contains_key(status) {
            responses.insert(status.to_owned(), RefOr::T(refusal(description)));
        }
    }
}

fn refusal(description: &str) -> Response {
    let content =
        ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorResponse"))).build();
    ResponseBuilder::new().description(description).content("application/json", content).build()
}

/// A key may be wanted, in either of two headers.
fn add_keys(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    let header = ApiKey::Header(ApiKeyValue::new("X-Api-Key"));
    components.add_security_scheme("api_key", SecurityScheme::ApiKey(header));
    let none: [&str; 0] = [];
    document.security = Some(vec![
        SecurityRequirement::default(),
        SecurityRequirement::new("bearer", none),
        SecurityRequirement::new("api_key", none),
    ]);
}

fn operations(item: &mut PathItem) -> Vec<&mut Operation> {
    let PathItem { get, put, post, delete, options, head, patch, trace, query, .. } = item;
    let all = [get, put, post, delete, options, head, patch, trace, query];
    all.into_iter().filter_map(Option::as_mut).collect()
}

#[cfg(test)]
mod tests;
