use std::path::Path;

use clap::CommandFactory;

use super::*;

fn parsed(line: &str) -> Cli {
    Cli::try_parse_from(line.split_whitespace()).expect("the line is a command")
}

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn no_command_means_serve() {
    assert_eq!(parsed("runloom").command.unwrap_or_default(), Command::Serve);
    assert_eq!(parsed("runloom serve").command.unwrap_or_default(), Command::Serve);
}

#[test]
fn each_command_is_known_by_its_name() {
    assert_eq!(parsed("runloom migrate").command, Some(Command::Migrate));
    assert_eq!(parsed("runloom openapi").command, Some(Command::Openapi));
    assert_eq!(parsed("runloom check").command, Some(Command::Check));
}

#[test]
fn flags_stand_before_or_after_the_command() {
    for line in ["runloom --workers 3 serve", "runloom serve --workers 3", "runloom --workers 3"] {
        assert_eq!(parsed(line).options.workers.as_deref(), Some("3"), "{line}");
    }
}

#[test]
fn every_flag_reaches_the_configuration_as_it_was_typed() {
    let flags: Flags = parsed(
        "runloom --listen 127.0.0.1:1 --listen [::1]:2 --database-url sqlite::memory: \
         --config a.toml --workers many --log-format json",
    )
    .options
    .into();
    assert_eq!(flags.listen, ["127.0.0.1:1", "[::1]:2"]);
    assert_eq!(flags.database_url.as_deref(), Some("sqlite::memory:"));
    assert_eq!(flags.config.as_deref(), Some(Path::new("a.toml")));
    assert_eq!(flags.workers.as_deref(), Some("many"));
    assert_eq!(flags.log_format.as_deref(), Some("json"));
}

#[test]
fn an_unknown_flag_is_refused() {
    assert!(Cli::try_parse_from(["runloom", "--port", "1"]).is_err());
}
