//! What can be asked of the program on its command line.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};

use crate::config::{self, Environment, Flags, LogFormat, Settings};
use crate::{faces, serve, telemetry};

/// Runloom, an Agent Protocol server: threads, runs and long-term memory for LLM agents.
#[derive(Parser)]
#[command(version, about)]
pub struct Cli {
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Start the server (what happens without a subcommand).
    Serve,
    /// Bring the database's schema up to date, and end.
    Migrate,
    /// Print the OpenAPI document.
    Openapi,
    /// Check the configuration, and say what is wrong with it.
    Check,
}

#[derive(Args)]
struct SettingsArgs {
    /// Address to listen on; may be given several times; port 0 picks a free one
    /// [env: RUNLOOM_LISTEN] [default: 127.0.0.1:8000]
    #[arg(long, value_name = "ADDR", global = true)]
    listen: Vec<String>,
    /// `sqlite://FILE`, `sqlite::memory:` or `postgres://…`
    /// [env: DATABASE_URL] [default: sqlite://runloom.db]
    #[arg(long, value_name = "URL", global = true)]
    database_url: Option<String>,
    /// Configuration file [env: RUNLOOM_CONFIG] [default: runloom.toml when it exists]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Runs at a time on this node [env: RUNLOOM_WORKERS] [default: 64]
    #[arg(long, value_name = "N", global = true)]
    workers: Option<usize>,
    /// Form of the log on stderr [env: RUNLOOM_LOG_FORMAT, RUST_LOG] [default: pretty]
    #[arg(long, global = true)]
    log_format: Option<LogFormat>,
}

impl SettingsArgs {
    fn load(self) -> Result<Settings> {
        let flags = Flags {
            listen: self.listen,
            database_url: self.database_url,
            config: self.config,
            workers: self.workers,
            log_format: self.log_format,
        };
        Ok(config::load(flags, Environment::of_process())?)
    }
}

/// Does what the command line asks.
///
/// # Errors
/// A sentence for the operator.
pub fn run(cli: Cli) -> Result<()> {
    match cli.command.unwrap_or(Command::Serve) {
        Command::Openapi => print(&faces::openapi_json()),
        Command::Check => {
            let settings = cli.settings.load()?;
            serve::check(&settings)?;
            print("the configuration is right")
        }
        Command::Serve => {
            let settings = cli.settings.load()?;
            telemetry::log_to_stderr(settings.log_format, &settings.environment);
            runtime()?.block_on(serve::serve(settings))
        }
        Command::Migrate => {
            let settings = cli.settings.load()?;
            telemetry::log_to_stderr(settings.log_format, &settings.environment);
            runtime()?.block_on(serve::migrate(&settings))?;
            print("the database is up to date")
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.context("the runtime cannot be started")
}

/// Prints a line on stdout; a reader that went away is no error.
#[expect(clippy::unnecessary_wraps, reason = "the last step of a command")]
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    let _gone = writeln!(std::io::stdout(), "{text}");
    Ok(())
}
