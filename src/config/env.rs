//! The process environment as a value: the one place where it is read.

use std::collections::BTreeMap;

/// Environment variables by name.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variables this process was started with.
    #[expect(
        clippy::disallowed_methods,
        reason = "the only reader of the environment; everything else gets it as a value"
    )]
    pub fn of_process() -> Self {
        // Lossy, not skipped: a key that is not UTF-8 must not leave the server open.
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        Self(std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect())
    }

    /// The variable's value. One that is set to nothing counts as not set, because that is how
    /// compose files and shells spell absence.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// The names of all variables that are set.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|name| self.get(name).is_some())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
