//! The environment, read in one place and passed on as a value.

use std::collections::BTreeMap;
use std::fmt;

/// Environment variables. Some of them are secrets: `Debug` shows the names only.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// This process's environment; variables that are no Unicode are passed over.
    pub fn of_process() -> Self {
        let unicode = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(unicode).collect())
    }

    /// What the variable says; an empty one says nothing.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Self {
        Self(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
