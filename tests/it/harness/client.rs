//! An HTTP client that says what it expects.

use std::net::SocketAddr;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use super::sse::{self, Frame};

/// A caller of one server, with or without a key.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
}

/// An answer: status, headers and body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { http: reqwest::Client::default(), base: format!("http://{address}"), key: None }
    }

    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: response.text().await.expect("the body is text") }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::PUT, path).json(body)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::PATCH, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    pub async fn delete_with(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::DELETE, path).json(body)).await
    }

    /// The response of a stream, its body unread.
    pub async fn open(&self, request: RequestBuilder) -> Response {
        request.send().await.expect("the server answers")
    }

    /// All frames of a stream that ends by itself.
    pub async fn frames(&self, request: RequestBuilder) -> Vec<Frame> {
        let answer = self.send(request).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        sse::frames(&answer.text)
    }
}

impl Answer {
    /// The body as JSON, after checking the status.
    #[track_caller]
    pub fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        serde_json::from_str(&self.text).expect("the body is JSON")
    }

    #[track_caller]
    pub fn empty(&self, status: u16) {
        assert_eq!((self.status, self.text.as_str()), (status, ""));
    }
}
