//! The query string, member by member, with errors that name the member.
//!
//! Read by hand rather than through serde: lists repeat their key, numbers and flags are text,
//! and each mistake is to be told in the same words as in a body.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::Problem;
use crate::domain::error::{Error, Result};

/// The query of a request, read into `T`.
pub struct Params<T>(pub T);

/// What can be read from a query. Members it does not know are ignored.
pub trait FromQuery: Sized {
    fn from_query(query: &Query) -> Result<Self>;
}

/// The members of a query, in order.
pub struct Query(Vec<(String, String)>);

impl<T: FromQuery, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        Ok(Self(T::from_query(&query)?))
    }
}

impl Query {
    pub fn parse(text: &str) -> Self {
        let uri = axum::http::Uri::builder().path_and_query(format!("/?{text}")).build();
        let pairs = uri.ok().and_then(|uri| axum::extract::Query::try_from_uri(&uri).ok());
        Self(pairs.map(|axum::extract::Query(pairs)| pairs).unwrap_or_default())
    }

    /// The member's last value; an empty one counts as absent.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values(name).next_back().filter(|value| !value.is_empty())
    }

    /// All values of a member that may be repeated.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.values(name).map(str::to_owned).collect()
    }

    pub fn integer(&self, name: &str) -> Result<Option<i64>> {
        let read = |text: &str| {
            text.parse().map_err(|_| Error::invalid(name, format!("{name} must be a whole number")))
        };
        self.text(name).map(read).transpose()
    }

    /// `true`, `false`, `1` or `0`; absent is `false`.
    pub fn flag(&self, name: &str) -> Result<bool> {
        match self.text(name) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(Error::invalid(name, format!("{name} must be true or false"))),
        }
    }

    fn values<'a, 'n>(
        &'a self,
        name: &'n str,
    ) -> impl DoubleEndedIterator<Item = &'a str> + use<'a, 'n> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
