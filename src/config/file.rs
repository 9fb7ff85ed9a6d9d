//! The configuration file: which one, and what it says.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use figment::providers::{Format, Toml};
use figment::value::Dict;

use super::error::Problem;
use super::reader::Layer;
use super::{Environment, Flags};

/// The file to read: the one that is named, which must exist, else the default one if it does.
pub(super) fn find(
    flags: &Flags,
    environment: &Environment,
    default: &Path,
) -> Result<Option<PathBuf>, Problem> {
    let (named_by, named) = match (&flags.config, environment.get("RUNLOOM_CONFIG")) {
        (Some(path), _) => ("--config", path.clone()),
        (None, Some(path)) => ("RUNLOOM_CONFIG", PathBuf::from(path)),
        (None, None) => return Ok(default.exists().then(|| default.to_path_buf())),
    };
    if named.is_file() {
        return Ok(Some(named));
    }
    let what = format!("there is no file {}; create it or name another", named.display());
    Err(Problem::new(named_by, what))
}

/// The settings in the file.
pub(super) fn read(path: &Path) -> Result<Layer, Problem> {
    let at = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| Problem::new(&at, format!("the file cannot be read: {error}")))?;
    let values: Dict = Toml::from_str(&text)
        .map_err(|error| Problem::new(&at, without_excerpt(&error.to_string())))?;
    Ok(Layer { values, label: Arc::new(move |keys| format!("{} in {at}", keys.join("."))) })
}

/// The parser quotes the line that it cannot read, and that line may hold a secret.
fn without_excerpt(message: &str) -> String {
    let kept = message.lines().filter(|line| !line.trim_start().contains('|'));
    kept.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(": ")
}
