//! The command line: `serve`, `migrate`, `openapi` and `check`, and how each of them ends.
//!
//! It parses, loads the settings, calls, and turns the outcome into an exit code and a sentence
//! on stderr. It must not know what serving is made of.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

use crate::config::{self, Environment, Flags, Settings};
use crate::{faces, serve, telemetry};

/// Runloom, an Agent Protocol server: threads, runs and long-term memory for LLM agents.
#[derive(Parser, Debug)]
#[command(name = "runloom", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Command {
    /// Serve until SIGTERM or SIGINT (this is what runs when no command is given)
    #[default]
    Serve,
    /// Bring the database's schema up to date and stop
    Migrate,
    #[command(about = "Print the OpenAPI document")]
    Openapi,
    /// Say what is wrong with the configuration, or what it comes to
    Check,
}

// Not clap's `env`: the configuration reads flags, environment and file alike, so that one place
// knows which of them wins and every error can name its source.
#[derive(Args, Debug)]
struct Options {
    #[arg(
        long,
        global = true,
        value_name = "ADDR",
        help = "Address to listen on; may be repeated; port 0 picks a free one [RUNLOOM_LISTEN]"
    )]
    listen: Vec<String>,
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "sqlite://FILE, sqlite::memory: or postgres://… [DATABASE_URL]"
    )]
    database_url: Option<String>,
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help = "Configuration file [RUNLOOM_CONFIG; default: runloom.toml if it exists]"
    )]
    config: Option<PathBuf>,
    #[arg(
        long,
        global = true,
        value_name = "N",
        help = "Runs at a time on this node [RUNLOOM_WORKERS]"
    )]
    workers: Option<String>,
    #[arg(
        long,
        global = true,
        value_name = "pretty|json",
        help = "How log lines look [RUNLOOM_LOG_FORMAT]"
    )]
    log_format: Option<String>,
}

impl From<Options> for Flags {
    fn from(options: Options) -> Self {
        let Options { listen, database_url, config, workers, log_format } = options;
        Self { listen, database_url, config, workers, log_format }
    }
}

/// Does what the arguments say.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(answer) => return told(&answer),
    };
    let outcome = match cli.command.unwrap_or_default() {
        // Needs no settings, so that it works in a build without any.
        Command::Openapi => print(faces::openapi_json()),
        command => configured(command, &cli.options.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(io::stderr(), "runloom: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Help and version go to stdout and are a success; a usage error is neither.
fn told(answer: &clap::Error) -> ExitCode {
    let _ = answer.print();
    u8::try_from(answer.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn configured(command: Command, flags: &Flags) -> anyhow::Result<()> {
    let settings = config::load(flags, &Environment::of_process())?;
    // Before anything else, so that `check` finds a bad filter too.
    let filter = telemetry::filter(settings.log_filter.as_deref())?;
    if command == Command::Check {
        serve::check(&settings)?;
        return print(settings.summary());
    }
    telemetry::init(settings.log_format, filter)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(started(command, settings))
}

async fn started(command: Command, settings: Settings) -> anyhow::Result<()> {
    match command {
        Command::Migrate => serve::migrate(&settings).await,
        _ => serve::serve(settings).await,
    }
}

/// Prints what was asked for.
fn print(text: impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        // `runloom openapi | head` has had enough, and that is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to stdout"),
    }
}

#[cfg(test)]
mod tests;
