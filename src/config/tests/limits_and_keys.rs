use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};

use super::*;

fn sha256(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// Owner and digest of each key.
fn keys(set: &Settings) -> Vec<(&str, [u8; 32])> {
    set.keys.iter().map(|key| (key.owner.as_str(), key.sha256)).collect()
}

#[test]
fn every_limit_has_a_variable_of_its_own() {
    for name in crate::config::limits::names() {
        let variable = format!("RUNLOOM_LIMITS_{}", name.to_uppercase());
        let environment: Environment = [(variable.as_str(), "77")].into_iter().collect();
        let set = load_beside(&Flags::default(), &environment, Path::new("none")).unwrap();
        assert_ne!(set.limits, Limits::default(), "{variable}");
    }
}

#[test]
fn a_limit_that_may_be_absent_is_taken_back_by_none() {
    let set = Given::file("[limits]\nqueued_runs = 5\ninterrupt_seconds = 9")
        .and("RUNLOOM_LIMITS_QUEUED_RUNS", "none")
        .settings();
    assert_eq!((set.limits.queued_runs, set.limits.interrupt_seconds), (None, Some(9)));
}

#[test]
fn a_limit_that_must_be_there_cannot_be_taken_back() {
    let problem = Given::environment(&[("RUNLOOM_LIMITS_RUN_SECONDS", "none")]).problem();
    assert_eq!(
        problem,
        "RUNLOOM_LIMITS_RUN_SECONDS: this is nothing; give a whole number that fits"
    );
}

#[test]
fn limits_have_limits() {
    assert_eq!(
        Given::file("[limits]\njson_depth = 129").problem(),
        "limits.json_depth in runloom.toml: 129 is too large; give at most 128"
    );
    assert!(
        Given::environment(&[("RUNLOOM_LIMITS_RUN_SECONDS", "18446744073709551615")])
            .problem()
            .contains("too large")
    );
    assert!(Given::file("[limits]\nshutdown_grace_seconds = 0\nlog_seconds = 0").load().is_ok());
}

#[test]
fn keys_come_from_a_variable_or_a_table() {
    let set =
        Given::environment(&[("RUNLOOM_API_KEYS", "alice:k1, bob:with:colon,alice:k2")]).settings();
    assert_eq!(
        keys(&set),
        [("alice", sha256("k1")), ("bob", sha256("with:colon")), ("alice", sha256("k2"))]
    );
    let set = Given::file("[keys]\nbob = [\"b\"]\nalice = [\"k1\", \"k2\"]").settings();
    assert_eq!(
        keys(&set),
        [("alice", sha256("k1")), ("alice", sha256("k2")), ("bob", sha256("b"))]
    );
}

#[test]
fn a_hashed_key_is_the_key_it_is_the_hash_of() {
    let hashed = format!("alice:sha256:{}", hex::encode(sha256("k1")).to_uppercase());
    let environment: Environment = [("RUNLOOM_API_KEYS", hashed.as_str())].into_iter().collect();
    let set = load_beside(&Flags::default(), &environment, Path::new("none")).unwrap();
    assert_eq!(keys(&set), [("alice", sha256("k1"))]);
}

#[test]
fn the_variable_replaces_all_keys_of_the_file() {
    let set =
        Given::file("[keys]\nalice = [\"old\"]").and("RUNLOOM_API_KEYS", "bob:new").settings();
    assert_eq!(keys(&set), [("bob", sha256("new"))]);
}

#[test]
fn a_key_that_cannot_be_used_is_refused_without_showing_it() {
    for (text, what) in [
        ("hunter2", "an entry has no owner; write `owner:key`"),
        (":hunter2", "a key has no owner; write `owner:key`"),
        ("alice:", "a key is empty; give one that cannot be guessed"),
        (
            "alice:sha256:hunter2",
            "a hashed key is malformed; give `sha256:` and 64 hexadecimal digits",
        ),
        (",", "there is no key; write `owner:key`, or leave it out"),
        ("alice:k,bob:k", "`alice` and `bob` have the same key; give each their own"),
    ] {
        let problem = Given::environment(&[("RUNLOOM_API_KEYS", text)]).problem();
        assert_eq!(problem, format!("RUNLOOM_API_KEYS: {what}"));
    }
    assert_eq!(
        Given::file("[keys]\nalice = [\"sha256:hunter2\"]").problem(),
        "keys.alice in runloom.toml: a hashed key is malformed; give `sha256:` and 64 hexadecimal digits"
    );
    assert_eq!(
        Given::file("[keys]\nalice = \"hunter2\"").problem(),
        "keys.alice in runloom.toml: this is text; give a list in square brackets"
    );
}

#[test]
fn a_key_that_is_given_twice_to_one_owner_is_one_key() {
    assert_eq!(keys(&Given::environment(&[("RUNLOOM_API_KEYS", "a:k,a:k")]).settings()).len(), 1);
}

#[test]
fn secrets_do_not_show_in_what_is_printed() {
    let set = Given::file(
        "webhook_secret = \"hunter2\"\ndatabase_url = \"postgres://u:hunter2@db:5432/x?password=hunter2\"\n\
         [keys]\nalice = [\"hunter2\"]\n[models.local]\nprovider = \"openai\"\napi_key_env = \"K\"\n\
         headers = { x-key = \"hunter2\" }\n[mcp.files]\ncommand = [\"x\"]\nenv = { T = \"${K}\" }",
    )
    .and("K", "hunter2")
    .settings();
    assert!(!format!("{set:?}").contains("hunter2"), "{set:?}");
    assert!(!set.summary().to_string().contains("hunter2"), "{}", set.summary());
    assert_eq!(set.database_url.to_string(), "postgres://…@db:5432/x");
    assert_eq!(set.webhook_secret.unwrap().expose_secret(), "hunter2");
}

#[test]
fn an_empty_webhook_secret_is_refused() {
    assert!(Given::file("webhook_secret = \"\"").problem().contains("the secret is empty"));
}

#[test]
fn the_summary_says_what_it_comes_to() {
    let set = Given::file("[agents.support]\nmodel = \"openai:gpt-4o-mini\"")
        .and("RUNLOOM_API_KEYS", "alice:1,alice:2,bob:3")
        .settings();
    let summary = set.summary().to_string();
    assert!(summary.contains("keys        3, of 2 owners"), "{summary}");
    assert!(summary.contains("agent       support (openai)"), "{summary}");
    assert!(
        summary.contains("models      openai (openai; OPENAI_API_KEY is not set)"),
        "{summary}"
    );
}
