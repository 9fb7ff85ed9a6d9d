use super::*;

#[test]
fn an_unknown_key_names_its_file_and_the_nearest_known_one() {
    assert_eq!(
        Given::file("worker = 3").problem(),
        "worker in runloom.toml: this key is not known; did you mean `workers`?"
    );
    assert_eq!(
        Given::file("[limits]\nbody_byte = 3").problem(),
        "limits.body_byte in runloom.toml: this key is not known; did you mean `body_bytes`?"
    );
    assert_eq!(
        Given::file("[agents.support]\nkidn = \"react\"").problem(),
        "agents.support.kidn in runloom.toml: this key is not known; did you mean `kind`?"
    );
}

#[test]
fn an_unknown_key_that_is_like_no_other_is_told_what_there_is() {
    let problem = Given::file("[playground]\nzzz = 1").problem();
    assert_eq!(
        problem,
        "playground.zzz in runloom.toml: this key is not known; \
         known are `enabled`, `origins`, `features`"
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let problems = Given {
        flags: Flags { workers: Some("many".to_owned()), ..Flags::default() },
        environment: vec![("RUNLOOM_LIMITS_RUN_SECONDS", "soon")],
        file: Some("listne = \"127.0.0.1:1\"\nlog_format = \"xml\"\n[limits]\nlease_seconds = 0"),
    }
    .problems();
    assert_eq!(
        problems,
        [
            "RUNLOOM_LIMITS_RUN_SECONDS: this is not a whole number; give one, or `none`",
            "--workers: this is not a whole number; give one, such as 64",
            "listne in runloom.toml: this key is not known; did you mean `listen`?",
            "log_format in runloom.toml: `xml` is not a log format; known are `pretty`, `json`",
            "limits.lease_seconds in runloom.toml: 0 is too small; give at least 1",
        ]
    );
}

#[test]
fn a_value_of_the_wrong_type_says_what_it_is_and_what_to_give() {
    assert_eq!(
        Given::file("workers = \"many\"").problem(),
        "workers in runloom.toml: this is text; give a whole number that fits"
    );
    assert_eq!(
        Given::file("workers = -1").problem(),
        "workers in runloom.toml: this is a negative number; give a whole number that fits"
    );
    assert_eq!(
        Given::file("demo_agents = 1").problem(),
        "demo_agents in runloom.toml: this is a whole number; give true or false"
    );
    assert_eq!(
        Given::file("limits = 1").problem(),
        "limits in runloom.toml: this is a whole number; give a table"
    );
    assert_eq!(
        Given::file("listen = 8000").problem(),
        "listen in runloom.toml: this is a whole number; give a list in square brackets"
    );
}

#[test]
fn the_source_that_won_is_the_one_that_is_named() {
    let zero = || Given::file("workers = 1").and("RUNLOOM_WORKERS", "0");
    assert!(zero().problem().starts_with("RUNLOOM_WORKERS: 0 runs"), "{}", zero().problem());
    let mut given = zero();
    given.flags.workers = Some("0".to_owned());
    assert!(given.problem().starts_with("--workers: 0 runs"));
    let limit = Given::file("[limits]\nrun_seconds = 1").and("RUNLOOM_LIMITS_RUN_SECONDS", "0");
    assert_eq!(limit.problem(), "RUNLOOM_LIMITS_RUN_SECONDS: 0 is too small; give at least 1");
}

#[test]
fn an_address_needs_a_host_and_a_port() {
    for good in ["127.0.0.1:0", "0.0.0.0:80", "[::1]:8000", "localhost:8000", "my-host.example:1"] {
        assert!(flag(|flags| flags.listen = vec![good.to_owned()]).load().is_ok(), "{good}");
    }
    for bad in ["8000", ":8000", "localhost", "127.0.0.1:65536", "::1:80", "http://a:1", "[::x]:1"]
    {
        let problem = flag(|flags| flags.listen = vec![bad.to_owned()]).problem();
        assert!(problem.starts_with(&format!("--listen: `{bad}` is not an address")), "{problem}");
    }
    assert!(Given::file("listen = []").problem().contains("there is no address"));
}

#[test]
fn a_database_that_is_not_supported_is_refused_without_showing_its_password() {
    let problem = Given::environment(&[("DATABASE_URL", "mysql://root:hunter2@db/x")]).problem();
    assert!(problem.starts_with("DATABASE_URL: this is not the URL of a database"), "{problem}");
    assert!(!problem.contains("hunter2"), "{problem}");
    for bad in ["runloom.db", "sqlite:", "sqlite://", "postgres:db"] {
        assert!(DatabaseUrl::new(bad).is_none(), "{bad}");
    }
}

#[test]
fn a_named_file_must_be_there() {
    let given = flag(|flags| flags.config = Some("nowhere.toml".into()));
    assert_eq!(
        given.problem(),
        "--config: there is no file nowhere.toml; create it or name another"
    );
    let given = Given::environment(&[("RUNLOOM_CONFIG", "nowhere.toml")]);
    assert!(given.problem().starts_with("RUNLOOM_CONFIG: there is no file"));
}

#[test]
fn a_file_that_is_not_toml_is_told_where_but_not_quoted() {
    let problem = Given::file("workers = 1\nwebhook_secret = hunter2").problem();
    assert!(problem.starts_with("runloom.toml: TOML parse error at line 2"), "{problem}");
    assert!(!problem.contains("hunter2") && !problem.contains('\n'), "{problem}");
}

#[test]
fn a_mistyped_variable_is_noticed() {
    assert_eq!(
        Given::environment(&[("RUNLOOM_API_KEY", "a:b")]).problem(),
        "RUNLOOM_API_KEY: this variable is not known; did you mean `RUNLOOM_API_KEYS`?"
    );
    assert_eq!(
        Given::environment(&[("PLAYGROUND_ENABLE", "1")]).problem(),
        "PLAYGROUND_ENABLE: this variable is not known; did you mean `PLAYGROUND_ENABLED`?"
    );
    assert_eq!(
        Given::environment(&[("RUNLOOM_LIMITS_RUN_SECOND", "1")]).problem(),
        "RUNLOOM_LIMITS_RUN_SECOND: this limit is not known; did you mean `RUNLOOM_LIMITS_RUN_SECONDS`?"
    );
}

#[test]
fn a_yes_or_no_is_one_or_the_other() {
    let problem = Given::environment(&[("RUNLOOM_ALLOW_PRIVATE_NETWORKS", "maybe")]).problem();
    assert_eq!(
        problem,
        "RUNLOOM_ALLOW_PRIVATE_NETWORKS: this is neither yes nor no; give `true` or `false`"
    );
}

#[test]
fn an_origin_is_what_a_browser_sends() {
    for bad in ["http://a:1/", "a:1", "http://", "https://a/b"] {
        let problem = Given::environment(&[("PLAYGROUND_ORIGINS", bad)]).problem();
        assert!(problem.starts_with(&format!("PLAYGROUND_ORIGINS: `{bad}` is not an origin")));
    }
}

#[test]
fn the_whole_answer_is_one_list() {
    let invalid = Given::file("worker = 1\nlisten = []").load().unwrap_err();
    assert_eq!(
        invalid.to_string(),
        "the configuration is wrong:\n  \
         worker in runloom.toml: this key is not known; did you mean `workers`?\n  \
         listen in runloom.toml: there is no address; give one, such as `127.0.0.1:8000`"
    );
}
