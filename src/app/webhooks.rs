//! Where a webhook may point to, as far as the address itself tells.
//!
//! A name is judged again when it is resolved, at delivery.

use reqwest::Url;

use crate::domain::error::{Error, Result};
use crate::domain::net;

/// The longest webhook URL that is taken.
const MAX_LEN: usize = 65_536;

/// Refuses what no webhook can be sent to, and (unless allowed) what is an address of this
/// machine or of a private network by its own words.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `field`.
pub(super) fn check(field: &str, url: &str, allow_private_networks: bool) -> Result<()> {
    let refuse = |why: &str| Err(Error::invalid(field, format!("{field} {why}")));
    if url.is_empty() || url.len() > MAX_LEN {
        return refuse("must be a URL of 1 to 65536 characters");
    }
    let Ok(parsed) = Url::parse(url) else {
        return refuse("must be an absolute URL");
    };
    if !matches!(parsed.scheme(), "http" | "https") {
        return refuse("must be an http or https URL");
    }
    if !allow_private_networks && parsed.host_str().is_some_and(net::is_private_host) {
        return refuse("must not point to a private address");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
