//! Pages of a listing.

use crate::domain::error::{Error, Result};

/// `limit` rows after skipping `offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    pub limit: u32,
    pub offset: u32,
}

impl Page {
    pub const MAX_LIMIT: i64 = 1000;

    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid) for a limit outside 1…1000 or a negative offset.
    pub fn new(limit: Option<i64>, default_limit: u32, offset: Option<i64>) -> Result<Self> {
        let limit = match limit {
            None => default_limit,
            Some(limit) if (1..=Self::MAX_LIMIT).contains(&limit) => {
                u32::try_from(limit).unwrap_or(default_limit)
            }
            Some(_) => return Err(Error::invalid("limit", "limit must be from 1 to 1000")),
        };
        let offset = u32::try_from(offset.unwrap_or(0))
            .map_err(|_| Error::invalid("offset", "offset must be from 0 to 4294967295"))?;
        Ok(Self { limit, offset })
    }
}
