//! The `runloom` program: the command line in, an exit code out.

use std::process::ExitCode;

/// Agents make many short-lived values on many threads, which is what this allocator is good at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    runloom::cli::run(std::env::args_os())
}
