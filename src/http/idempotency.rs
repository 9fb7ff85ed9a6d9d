//! A body that may be sent twice and shall count once: `Idempotency-Key`.

use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::Problem;
use super::body::Raw;
use crate::domain::error::Error;

const HEADER: &str = "idempotency-key";
const MAX_LEN: usize = 255;

/// A JSON body, with the caller's key and a fingerprint of the request if it came with a key.
pub struct Idempotent<T> {
    pub body: T,
    pub key: Option<(String, String)>,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Idempotent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let key = request.headers().get(HEADER).map(|key| {
            let key = key.to_str().ok().filter(|key| (1..=MAX_LEN).contains(&key.len()));
            let public = format!("Idempotency-Key must be 1 to {MAX_LEN} ASCII characters");
            key.map(str::to_owned).ok_or_else(|| Error::invalid("Idempotency-Key", public))
        });
        let key = key.transpose()?;
        let path = request.uri().path().to_owned();
        let raw = Raw::read(request, state).await?;
        let body = raw.parse()?;
        let key = key.map(|key| (key, fingerprint(&path, &raw.bytes)));
        Ok(Self { body, key })
    }
}

fn fingerprint(path: &str, body: &[u8]) -> String {
    let digest = Sha256::new().chain_update(path).chain_update("\n").chain_update(body).finalize();
    hex::encode(digest)
}
