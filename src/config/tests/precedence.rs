use super::*;

#[test]
fn nothing_needs_to_be_said() {
    let set = Given::default().settings();
    assert_eq!(set.file, None);
    assert_eq!(set.listen, ["127.0.0.1:8000"]);
    assert_eq!(set.database_url.expose(), "sqlite://runloom.db");
    assert_eq!(set.database_url.engine(), Engine::Sqlite);
    assert_eq!((set.workers, set.log_format, set.log_filter), (64, LogFormat::Pretty, None));
    assert!(set.keys.is_empty() && set.webhook_secret.is_none());
    assert!(set.demo_agents && !set.allow_private_networks);
    assert_eq!(set.playground, Playground::default());
    assert!(!set.playground.enabled);
    assert_eq!(set.playground.origins, ["http://127.0.0.1:8001", "http://localhost:8001"]);
    assert_eq!(set.limits, Limits::default());
    assert!(set.agents.is_empty() && set.mcp.is_empty() && set.http.is_empty());
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let file = "workers = 1\nlisten = \"127.0.0.1:1\"\nlog_format = \"json\"";
    let read =
        |flags: Flags, environment| Given { flags, environment, file: Some(file) }.settings();
    assert_eq!(read(Flags::default(), vec![]).workers, 1);

    let environment = vec![("RUNLOOM_WORKERS", "2"), ("RUNLOOM_LISTEN", "127.0.0.1:2, [::1]:2")];
    let set = read(Flags::default(), environment.clone());
    assert_eq!(set.workers, 2);
    assert_eq!(set.listen, ["127.0.0.1:2", "[::1]:2"]);
    assert_eq!(set.log_format, LogFormat::Json, "what the environment leaves alone stays");

    let flags = Flags {
        workers: Some("3".to_owned()),
        listen: vec!["localhost:3".to_owned()],
        ..Flags::default()
    };
    let set = read(flags, environment);
    assert_eq!(set.workers, 3);
    assert_eq!(set.listen, ["localhost:3"], "a list is replaced, not appended to");
}

#[test]
fn a_file_says_everything_that_the_environment_can() {
    let set = Given::file(
        r#"
        listen = ["127.0.0.1:0", "[::]:8000"]
        database_url = "postgres://u:p@db/runloom"
        workers = 7
        log_format = "json"
        allow_private_networks = true
        webhook_secret = "shh"
        demo_agents = false
        [playground]
        enabled = true
        origins = ["https://play.example"]
        [[playground.features]]
        name = "ReAct"
        agent = "react"
        examples = ["What is the weather in sf?"]
        "#,
    )
    .settings();
    assert_eq!(set.listen, ["127.0.0.1:0", "[::]:8000"]);
    assert_eq!(set.database_url.engine(), Engine::Postgres);
    assert_eq!((set.workers, set.log_format), (7, LogFormat::Json));
    assert!(set.allow_private_networks && !set.demo_agents && set.webhook_secret.is_some());
    assert!(set.playground.enabled);
    assert_eq!(set.playground.origins, ["https://play.example"]);
    let [feature] = set.playground.features.as_slice() else { panic!("{:?}", set.playground) };
    assert_eq!((feature.name.as_str(), feature.agent.as_str()), ("ReAct", "react"));
    assert_eq!(feature.examples, ["What is the weather in sf?"]);
}

#[test]
fn the_environment_says_everything_that_it_can() {
    let set = Given::environment(&[
        ("DATABASE_URL", "sqlite::memory:"),
        ("RUNLOOM_LOG_FORMAT", "JSON"),
        ("RUST_LOG", "debug"),
        ("RUNLOOM_ALLOW_PRIVATE_NETWORKS", "yes"),
        ("RUNLOOM_WEBHOOK_SECRET", "shh"),
        ("PLAYGROUND_ORIGINS", "http://a:1,http://b:2"),
        ("RUNLOOM_DEMO_AGENTS", "off"),
    ])
    .settings();
    assert_eq!(set.database_url.expose(), "sqlite::memory:");
    assert_eq!((set.log_format, set.log_filter.as_deref()), (LogFormat::Json, Some("debug")));
    assert!(set.allow_private_networks && !set.demo_agents && set.webhook_secret.is_some());
    assert_eq!(set.playground.origins, ["http://a:1", "http://b:2"]);
}

#[test]
fn a_variable_and_the_file_may_set_parts_of_one_section() {
    let file = "[playground]\norigins = [\"http://a:1\"]\n[limits]\nrun_seconds = 5";
    let set = Given::file(file)
        .and("PLAYGROUND_ENABLED", "on")
        .and("RUNLOOM_LIMITS_MAX_ATTEMPTS", "9")
        .settings();
    assert!(set.playground.enabled);
    assert_eq!(set.playground.origins, ["http://a:1"]);
    assert_eq!((set.limits.run_seconds, set.limits.max_attempts), (5, 9));
}

#[test]
fn the_playground_is_on_for_a_clear_yes_alone() {
    for yes in ["1", "true", "YES", "On", " true "] {
        assert!(
            Given::environment(&[("PLAYGROUND_ENABLED", yes)]).settings().playground.enabled,
            "{yes}"
        );
    }
    for no in ["0", "false", "off", "no", "", "perhaps", "2"] {
        assert!(
            !Given::environment(&[("PLAYGROUND_ENABLED", no)]).settings().playground.enabled,
            "{no}"
        );
    }
}

#[test]
fn a_variable_that_is_set_to_nothing_is_not_set() {
    let set = Given::file("workers = 5")
        .and("RUNLOOM_WORKERS", " ")
        .and("RUNLOOM_API_KEYS", "")
        .settings();
    assert_eq!(set.workers, 5);
    assert!(set.keys.is_empty());
}

#[test]
fn variables_that_others_put_there_are_let_be() {
    let set = Given::environment(&[
        ("RUNLOOM_SERVICE_HOST", "10.0.0.1"),
        ("RUNLOOM_PORT", "tcp://10.0.0.1:8000"),
        ("RUNLOOM_PORT_8000_TCP_ADDR", "10.0.0.1"),
        ("PATH", "/bin"),
    ]);
    assert!(set.load().is_ok());
}

#[test]
fn a_file_can_be_named_by_flag_or_variable() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (folder.path().join("one.toml"), folder.path().join("two.toml"));
    fs::write(&one, "workers = 1").unwrap();
    fs::write(&two, "workers = 2").unwrap();
    let environment: Environment =
        [("RUNLOOM_CONFIG", one.to_str().unwrap())].into_iter().collect();
    let by_variable = load(&Flags::default(), &environment).unwrap();
    assert_eq!((by_variable.workers, by_variable.file), (1, Some(one)));
    let flags = Flags { config: Some(two.clone()), ..Flags::default() };
    let by_flag = load(&flags, &environment).unwrap();
    assert_eq!((by_flag.workers, by_flag.file), (2, Some(two)));
}
