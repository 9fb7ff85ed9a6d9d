use std::time::Duration;

use axum::http::StatusCode;
use futures::StreamExt;
use serde_json::{Value, json};

use super::*;

struct Bare;

impl Shape for Bare {
    fn status(_: &Error) -> StatusCode {
        StatusCode::NOT_FOUND
    }

    fn body(error: &Error) -> Value {
        json!({"code": error.code})
    }
}

async fn after(seconds: u64, answer: Result<Value>) -> Result<Value> {
    sleep(Duration::from_secs(seconds)).await;
    answer
}

async fn chunks(response: Response) -> Vec<String> {
    let chunks = response.into_body().into_data_stream();
    chunks.map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap()).collect().await
}

#[tokio::test(start_paused = true)]
async fn a_quick_answer_is_just_that() {
    let response = waiting::<Bare, _>(after(4, Ok(json!({"a": 1})))).await.unwrap();
    assert_eq!(chunks(response).await, [r#"{"a":1}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_quick_failure_keeps_its_status() {
    let missing = Err(Error::not_found("run_not_found", "there is no such run"));
    assert!(waiting::<Bare, Value>(after(4, missing)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn white_space_comes_every_five_seconds() {
    let begun = Instant::now();
    let response = waiting::<Bare, _>(after(17, Ok(json!({"a": 1})))).await.unwrap();
    let chunks = chunks(response).await;
    assert_eq!(chunks, [" ", " ", " ", r#"{"a":1}"#]);
    assert_eq!(serde_json::from_str::<Value>(&chunks.concat()).unwrap(), json!({"a": 1}));
    assert_eq!(begun.elapsed(), Duration::from_secs(17));
}

#[tokio::test(start_paused = true)]
async fn a_late_failure_is_told_by_the_body() {
    let missing = Err(Error::not_found("run_not_found", "there is no such run"));
    let response = waiting::<Bare, Value>(after(7, missing)).await.unwrap();
    assert_eq!(chunks(response).await, [" ", r#"{"code":"run_not_found"}"#]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_answer_drops_the_work() {
    let (held, dropped) = tokio::sync::oneshot::channel::<()>();
    let work = async move {
        let _held = held;
        after(60, Ok(Value::Null)).await
    };
    let response = waiting::<Bare, _>(work).await.unwrap();
    drop(response);
    assert!(dropped.await.is_err());
}
