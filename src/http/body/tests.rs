use axum::Router;
use axum::body::{Body as HttpBody, to_bytes};
use axum::http::{Method, Request};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use crate::http::{Idempotent, Options, Shape, observed, shaped};

/// The barest shape: the fault is the status.
struct Bare;

impl Shape for Bare {
    fn status(error: &Error) -> StatusCode {
        match error.fault {
            Fault::Malformed => StatusCode::BAD_REQUEST,
            Fault::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Fault::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn body(error: &Error) -> Value {
        json!({"code": error.code, "message": error.public(), "field": error.field})
    }
}

#[derive(Default, Deserialize)]
struct Wanted {
    name: Option<String>,
    config: Option<Config>,
    list: Option<Vec<u32>>,
    any: Option<Value>,
}

#[derive(Deserialize)]
struct Config {
    limit: u32,
}

async fn panics() -> StatusCode {
    panic!("boom")
}

fn router() -> Router {
    let answer = |wanted: &Wanted| {
        json!({
            "name": wanted.name,
            "limit": wanted.config.as_ref().map(|config| config.limit),
            "list": wanted.list,
            "any": wanted.any,
        })
    };
    let routes = Router::new()
        .route(
            "/strict",
            post(move |Body(wanted): Body<Wanted>| async move { Body(answer(&wanted)) }),
        )
        .route(
            "/maybe",
            post(move |MaybeBody(wanted): MaybeBody<Wanted>| async move { Body(answer(&wanted)) }),
        )
        .route("/twice", post(|twice: Idempotent<Wanted>| async move { Body(json!(twice.key)) }))
        .route("/panic", get(panics))
        .route(
            "/away",
            get(|| async { Problem::from(Error::unavailable("the database is away")) }),
        );
    let options = Options { body_bytes: 1000, json_depth: 100, ..Options::default() };
    observed(shaped::<Bare, ()>(routes), options)
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

async fn send(request: Request<HttpBody>) -> Answer {
    let response = router().oneshot(request).await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Answer { status, headers, body }
}

async fn request(method: Method, path: &str) -> Answer {
    send(Request::builder().method(method).uri(path).body(HttpBody::empty()).unwrap()).await
}

async fn post_json(path: &str, body: impl Into<HttpBody>) -> Answer {
    let request = Request::post(path).header(CONTENT_TYPE, "application/json; charset=utf-8");
    send(request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn a_good_body_is_read_and_unknown_and_null_members_are_absent() {
    let body =
        r#"{"name": "x", "config": null, "list": [1, 2], "any": {"k": null}, "unknown": [true]}"#;
    let answer = post_json("/strict", body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.body,
        json!({"name": "x", "limit": null, "list": [1, 2], "any": {"k": null}})
    );
    assert_eq!(answer.headers[CONTENT_TYPE], "application/json");
}

#[tokio::test]
async fn text_that_is_no_json_is_malformed() {
    for body in [
        "",
        "{",
        "{]",
        "nul",
        "{\"name\": \"x\"} more",
        "{\"name\": \"\\ud800\"}",
        "{\"any\": \"\\udc00\\ud800\"}",
        "{\"any\": 1e999}",
        "{\"name\": 5, \"any\": }",
        "{\"any\": \"\u{1}\"}",
    ] {
        let answer = post_json("/strict", body).await;
        assert_eq!((answer.status, &answer.body["code"]), (400, &json!("malformed")), "{body}");
    }
    assert_eq!(post_json("/strict", &b"{\"any\": \"\xff\"}"[..]).await.status, 400);
}

#[tokio::test]
async fn a_wrong_type_is_told_with_its_path() {
    for (body, field, message) in [
        ("[]", "body", ""),
        (r#" ["x", null, [1], 5]"#, "body", ""),
        (r#"{"name": 5}"#, "name", "name is wrong: invalid type: integer `5`, expected a string"),
        (r#"{"config": {"limit": "x"}}"#, "config.limit", ""),
        (r#"{"config": {"limit": -1}}"#, "config.limit", ""),
        (r#"{"config": {}}"#, "config.limit", "config.limit is missing"),
        (r#"{"list": [1, "2"]}"#, "list[1]", ""),
        (r#""text""#, "body", ""),
    ] {
        let answer = post_json("/strict", body).await;
        assert_eq!(
            (answer.status, &answer.body["field"]),
            (422, &json!(field)),
            "{body}: {}",
            answer.body
        );
        if !message.is_empty() {
            assert_eq!(answer.body["message"], message);
        }
    }
}

#[tokio::test]
async fn an_absent_body_is_the_default_where_it_may_be() {
    let answer = request(Method::POST, "/maybe").await;
    assert_eq!((answer.status, &answer.body["name"]), (200, &Value::Null));
    assert_eq!(request(Method::POST, "/strict").await.status, 400);
}

#[tokio::test]
async fn a_body_must_say_that_it_is_json() {
    for (kind, status) in [
        (Some("application/json"), 200),
        (Some("application/problem+json"), 200),
        (Some("text/plain"), 415),
        (Some("application/x-www-form-urlencoded"), 415),
        (None, 415),
    ] {
        let request = Request::post("/maybe");
        let request =
            kind.into_iter().fold(request, |request, kind| request.header(CONTENT_TYPE, kind));
        assert_eq!(send(request.body("{}".into()).unwrap()).await.status, status, "{kind:?}");
    }
}

#[tokio::test]
async fn size_and_depth_have_limits() {
    let large = format!("{{\"name\": \"{}\"}}", "x".repeat(1000));
    let answer = post_json("/strict", large).await;
    assert_eq!((answer.status, &answer.body["code"]), (413, &json!("body_too_large")));
    let nested =
        |depth: usize| format!("{{\"any\": {}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert_eq!(post_json("/strict", nested(100)).await.status, 200);
    assert_eq!(post_json("/strict", nested(101)).await.status, 400);
    let brackets = format!("{{\"name\": \"{}\"}}", "[\\\"".repeat(200));
    assert_eq!(post_json("/strict", brackets).await.status, 200);
}

#[tokio::test]
async fn what_the_router_refuses_has_the_shape_too() {
    let answer = request(Method::GET, "/nowhere").await;
    assert_eq!((answer.status, &answer.body["code"]), (404, &json!("route_not_found")));
    let answer = request(Method::GET, "/strict").await;
    assert_eq!((answer.status, &answer.body["code"]), (405, &json!("method_not_allowed")));
    assert_eq!(answer.headers["allow"], "POST");
    assert_eq!(request(Method::HEAD, "/away").await.status, 503);
}

#[tokio::test]
async fn a_panic_is_answered_and_says_nothing() {
    let answer = request(Method::GET, "/panic").await;
    assert_eq!((answer.status, &answer.body["code"]), (500, &json!("internal")));
    assert!(!answer.body.to_string().contains("boom"));
}

#[tokio::test]
async fn who_should_come_back_is_told_when() {
    let answer = request(Method::GET, "/away").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.headers["retry-after"], "1");
}

#[tokio::test]
async fn a_request_has_an_id() {
    let given =
        Request::get("/away").header("x-request-id", "mine").body(HttpBody::empty()).unwrap();
    assert_eq!(send(given).await.headers["x-request-id"], "mine");
    let odd = Request::get("/away")
        .header("x-request-id", "x".repeat(500))
        .body(HttpBody::empty())
        .unwrap();
    assert_eq!(send(odd).await.headers["x-request-id"].len(), 36);
    assert_eq!(request(Method::GET, "/away").await.headers["x-request-id"].len(), 36);
}

#[tokio::test]
async fn an_idempotency_key_comes_with_a_fingerprint_of_the_request() {
    let twice = |key: &'static str, body: &'static str| {
        let request = Request::post("/twice").header(CONTENT_TYPE, "application/json");
        send(request.header("idempotency-key", key).body(body.into()).unwrap())
    };
    let first = twice("k", "{}").await;
    assert_eq!(first.body[0], "k");
    assert_eq!(first.body, twice("k", "{}").await.body);
    assert_ne!(first.body[1], twice("k", r#"{"name": "x"}"#).await.body[1]);
    assert_eq!(post_json("/twice", "{}").await.body, Value::Null);
    let answer = twice("", "{}").await;
    assert_eq!((answer.status, &answer.body["field"]), (422, &json!("Idempotency-Key")));
}
