use std::fs;
use std::path::PathBuf;

use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::{ConfigError, Environment, Flags, Key, LogFormat, Settings, load};

/// Loads a file with this text.
fn with_file<const N: usize>(
    text: &str,
    variables: [(&str, &str); N],
) -> Result<Settings, ConfigError> {
    let (_folder, path) = file(text);
    let flags = Flags { config: Some(path), ..Flags::default() };
    load(flags, Environment::from(variables))
}

fn file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runloom.toml");
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn without_a_word_the_defaults_hold() {
    let settings = load(Flags::default(), Environment::default()).unwrap();
    assert_eq!(settings.listen, ["127.0.0.1:8000".parse().unwrap()]);
    assert_eq!(settings.database_url.expose_secret(), "sqlite://runloom.db");
    assert_eq!((settings.workers, settings.log_format), (64, LogFormat::Pretty));
    assert!(settings.demo_agents && !settings.playground.enabled && settings.keys.is_empty());
    assert_eq!(settings.limits.run_seconds, 3600);
}

#[test]
fn a_flag_beats_the_environment_and_that_beats_the_file() {
    let (_folder, path) = file("workers = 1\nlisten = '1.1.1.1:1'\n[limits]\nrun_seconds = 5\n");
    let environment = Environment::from([
        ("RUNLOOM_WORKERS", "2"),
        ("RUNLOOM_LISTEN", "2.2.2.2:2, 3.3.3.3:3"),
        ("RUNLOOM_LIMITS_RUN_SECONDS", "6"),
    ]);
    let flags = Flags { config: Some(path), workers: Some(3), ..Flags::default() };
    let settings = load(flags, environment).unwrap();
    assert_eq!((settings.workers, settings.listen.len()), (3, 2));
    assert_eq!(settings.limits.run_seconds, 6);
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    let error = with_file("[limits]\nrun_secconds = 5\n", []).unwrap_err();
    assert!(
        error.source.ends_with("limits.run_secconds") || error.source.ends_with("limits"),
        "{error}"
    );
    assert_eq!(error.message, "unknown key run_secconds; did you mean run_seconds?");
}

#[test]
fn a_wrong_type_names_file_and_key() {
    let error = with_file("workers = 'many'\n", []).unwrap_err();
    assert!(error.source.ends_with("runloom.toml: workers"), "{error}");
}

#[test]
fn a_wrong_variable_is_named() {
    let error = with_file("", [("RUNLOOM_WORKERS", "many")]).unwrap_err();
    assert!(error.to_string().starts_with("RUNLOOM_WORKERS: must be a number of runs"), "{error}");
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let flags = Flags { config: Some(PathBuf::from("nowhere.toml")), ..Flags::default() };
    let error = load(flags, Environment::default()).unwrap_err();
    assert_eq!(error.to_string(), "nowhere.toml: there is no such file");
}

#[test]
fn keys_are_plain_or_hashed() {
    let digest = "00".repeat(32);
    let listed = format!("ann:hunter2, bob:sha256:{digest}");
    let settings = with_file("", [("RUNLOOM_API_KEYS", listed.as_str())]).unwrap();
    assert_eq!(settings.keys[0].owner, "ann");
    assert!(matches!(settings.keys[1].key, Key::Sha256(bytes) if bytes == [0; 32]));
    assert!(!format!("{settings:?}").contains("hunter2"));
    let error = with_file("", [("RUNLOOM_API_KEYS", "ann")]).unwrap_err();
    assert_eq!(error.source, "RUNLOOM_API_KEYS");
}

#[test]
fn the_playground_is_switched_on_in_many_words() {
    for word in ["1", "true", "YES", "On"] {
        assert!(with_file("", [("PLAYGROUND_ENABLED", word)]).unwrap().playground.enabled);
    }
    assert!(with_file("[playground]\nenabled = true\n", []).unwrap().playground.enabled);
}

#[test]
fn agents_models_and_tools_are_read() {
    let text = r#"
        [agents.support]
        model = "local:small"
        tools = ["get_weather", "http:orders"]
        review = { get_weather = ["approve"] }
        [models.local]
        provider = "openai"
        base_url = "http://127.0.0.1:8399/v1"
        [http.orders]
        description = "Looks an order up"
        url = "https://shop.example/orders/{id}"
        [mcp.files]
        command = ["mcp-server-files"]
    "#;
    let settings = with_file(text, []).unwrap();
    assert_eq!(settings.agents["support"].kind, "react");
    assert_eq!(settings.models["local"].timeout_seconds, 120);
    assert_eq!(settings.http["orders"].method, "GET");
    assert_eq!(settings.mcp["files"].command, ["mcp-server-files"]);
}
