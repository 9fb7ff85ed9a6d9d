//! Ids in a path. A path that names something by what cannot be its id is refused by name.
//!
//! Not called `Path`: the `OpenAPI` macros would take the name for axum's and ask the domain's ids
//! for schemas.

use axum::RequestPartsExt;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use uuid::Uuid;

use super::Problem;
use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::{CheckpointId, RunId, ThreadId};

/// What the path names: one [`Segment`], or a pair of them.
pub struct Ids<T>(pub T);

/// A kind of id that a path can hold.
pub trait Segment: Sized + Send {
    /// What the routes call it.
    const NAME: &'static str;

    fn read(text: &str) -> Result<Self>;
}

macro_rules! uuid_segment {
    ($($id:ident = $name:literal),*) => {$(
        impl Segment for $id {
            const NAME: &'static str = $name;

            fn read(text: &str) -> Result<Self> {
                let wrong = || Error::invalid($name, concat!($name, " must be a UUID"));
                Uuid::try_parse(text).map(Self).map_err(|_| wrong())
            }
        }
    )*};
}

uuid_segment!(ThreadId = "thread_id", RunId = "run_id", CheckpointId = "checkpoint_id");

impl<A: Segment, S: Send + Sync> FromRequestParts<S> for Ids<A> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(required(parts).await?))
    }
}

impl<A: Segment, B: Segment, S: Send + Sync> FromRequestParts<S> for Ids<(A, B)> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self((required(parts).await?, required(parts).await?)))
    }
}

/// The id of this kind, if the route has one.
pub async fn optional_id<A: Segment>(parts: &mut Parts) -> Result<Option<A>, Problem> {
    let Ok(params) = parts.extract::<RawPathParams>().await else {
        let error = Error::new(Fault::Invalid, "invalid_argument", "the path is not valid UTF-8");
        return Err(error.into());
    };
    let found = params.iter().find(|(name, _)| *name == A::NAME);
    Ok(found.map(|(_, text)| A::read(text)).transpose()?)
}

async fn required<A: Segment>(parts: &mut Parts) -> Result<A, Problem> {
    let missing = || Error::internal("the route names no such id").at(A::NAME);
    Ok(optional_id(parts).await?.ok_or_else(missing)?)
}
