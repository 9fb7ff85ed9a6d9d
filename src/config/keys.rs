//! API keys: `owner:key`, or `owner:sha256:HEX` where the key itself is not to be written down.

use secrecy::SecretString;

use crate::config::error::ConfigError;

/// One key, and whose data it opens.
#[derive(Clone, Debug)]
pub struct KeySettings {
    pub owner: String,
    pub key: Key,
}

#[derive(Clone, Debug)]
pub enum Key {
    Plain(SecretString),
    Sha256([u8; 32]),
}

/// Reads `owner:key[,owner:key…]`.
pub(super) fn read_list(source: &str, text: &str) -> Result<Vec<KeySettings>, ConfigError> {
    text.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let (owner, key) = entry.split_once(':').ok_or_else(|| {
                ConfigError::new(source, "each entry must be owner:key or owner:sha256:HEX")
            })?;
            read(source, owner, key)
        })
        .collect()
}

/// Reads one key of `owner`.
pub(super) fn read(source: &str, owner: &str, key: &str) -> Result<KeySettings, ConfigError> {
    if owner.is_empty() || key.is_empty() {
        return Err(ConfigError::new(source, "neither the owner nor the key may be empty"));
    }
    let key = match key.strip_prefix("sha256:") {
        None => Key::Plain(SecretString::from(key)),
        Some(digest) => {
            let mut bytes = [0; 32];
            hex::decode_to_slice(digest, &mut bytes).map_err(|_| {
                ConfigError::new(source, "sha256: must be followed by 64 hexadecimal digits")
            })?;
            Key::Sha256(bytes)
        }
    };
    Ok(KeySettings { owner: owner.to_owned(), key })
}
