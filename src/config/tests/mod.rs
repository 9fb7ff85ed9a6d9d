//! The configuration, read from values: no test touches the process's own environment.

mod errors;
mod limits_and_keys;
mod models_and_agents;
mod precedence;
mod tools;

use std::fs;

use tempfile::TempDir;

use super::*;

/// What a configuration is read from.
#[derive(Default)]
struct Given {
    flags: Flags,
    environment: Vec<(&'static str, &'static str)>,
    file: Option<&'static str>,
}

impl Given {
    fn file(text: &'static str) -> Self {
        Self { file: Some(text), ..Self::default() }
    }

    fn environment(variables: &[(&'static str, &'static str)]) -> Self {
        Self { environment: variables.to_vec(), ..Self::default() }
    }

    fn and(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    fn load(self) -> Result<Settings, Invalid> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("runloom.toml");
        if let Some(text) = self.file {
            fs::write(&path, text).unwrap();
        }
        load_beside(&self.flags, &self.environment.into_iter().collect(), &path).map_err(
            |invalid| {
                // The folder has another name each time.
                let prefix = format!("{}/", folder.path().display());
                let shorter =
                    |problem: Problem| Problem { at: problem.at.replace(&prefix, ""), ..problem };
                Invalid { problems: invalid.problems.into_iter().map(shorter).collect() }
            },
        )
    }

    fn settings(self) -> Settings {
        self.load().unwrap()
    }

    /// Each problem as it is printed.
    fn problems(self) -> Vec<String> {
        self.load().unwrap_err().problems.iter().map(ToString::to_string).collect()
    }

    /// The only problem.
    fn problem(self) -> String {
        let problems = self.problems();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        problems.into_iter().next().unwrap()
    }
}

/// As on the command line.
fn flag(set: impl FnOnce(&mut Flags)) -> Given {
    let mut given = Given::default();
    set(&mut given.flags);
    given
}
