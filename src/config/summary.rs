//! What the settings come to, for whoever checks them. Shows no secret.

use std::fmt;

use super::{Settings, Wire};

impl Settings {
    /// A line for each thing that is set.
    pub fn summary(&self) -> impl fmt::Display + '_ {
        Summary(self)
    }
}

struct Summary<'s>(&'s Settings);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.0;
        match &set.file {
            Some(file) => writeln!(f, "file        {}", file.display())?,
            None => writeln!(f, "file        none")?,
        }
        writeln!(f, "listen      {}", set.listen.join(", "))?;
        writeln!(f, "database    {}", set.database_url)?;
        writeln!(f, "workers     {}", set.workers)?;
        writeln!(f, "keys        {}", keys(set))?;
        writeln!(
            f,
            "webhooks    {}",
            if set.webhook_secret.is_some() { "signed" } else { "unsigned" }
        )?;
        writeln!(
            f,
            "private     {}",
            if set.allow_private_networks { "reachable" } else { "not reachable" }
        )?;
        writeln!(f, "playground  {}", if set.playground.enabled { "on" } else { "off" })?;
        writeln!(f, "demo agents {}", if set.demo_agents { "listed" } else { "not listed" })?;
        for (id, agent) in &set.agents {
            let model = agent.model.as_ref().map_or("its own model", |model| &model.provider);
            writeln!(f, "agent       {id} ({model})")?;
        }
        for (name, model) in &set.models {
            let wire = match model.provider {
                Wire::OpenAi => "openai",
                Wire::Anthropic => "anthropic",
            };
            let missing = model.missing_key().map(|variable| format!("; {variable} is not set"));
            writeln!(f, "models      {name} ({wire}{})", missing.unwrap_or_default())?;
        }
        set.mcp.keys().try_for_each(|name| writeln!(f, "mcp         {name}"))?;
        set.http.keys().try_for_each(|name| writeln!(f, "http        {name}"))
    }
}

fn keys(set: &Settings) -> String {
    if set.keys.is_empty() {
        return "none: open to everybody who reaches it".to_owned();
    }
    let mut owners: Vec<&str> = set.keys.iter().map(|key| key.owner.as_str()).collect();
    let keys = owners.len();
    owners.sort_unstable();
    owners.dedup();
    format!("{keys}, of {} owners", owners.len())
}
