//! Command line to exit code.

use std::process::ExitCode;

use clap::Parser;
use runloom::cli::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match runloom::cli::run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("runloom: {error:#}");
            ExitCode::FAILURE
        }
    }
}
