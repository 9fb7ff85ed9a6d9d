use secrecy::ExposeSecret;
use serde_json::json;

use super::*;

const SUPPORT: &str = r#"
[agents.support]
name = "Support"
description = "Answers customers"
kind = "react"
model = "openai:gpt-4o-mini"
fallback_model = "anthropic:small"
temperature = 0.5
max_tokens = 400
history_turns = 20
prompt = "You are kind."
tools = ["get_weather", "mcp:files", "http:orders"]
review = { delete_file = ["approve", "edit", "reject"] }
review_locked = true
subagents = ["research"]
metadata = { team = "care", level = 2 }

[mcp.files]
command = ["mcp-server-files"]

[http.orders]
url = "https://shop.example/orders"
"#;

#[test]
fn an_agent_is_described_by_its_section() {
    let set = Given::file(SUPPORT).settings();
    let agent = &set.agents["support"];
    assert_eq!(agent.name.as_deref(), Some("Support"));
    assert_eq!(agent.description.as_deref(), Some("Answers customers"));
    assert_eq!(agent.kind, Some(AgentKind::React));
    let model = agent.model.clone().unwrap();
    assert_eq!((model.provider.as_str(), model.model.as_str()), ("openai", "gpt-4o-mini"));
    assert_eq!(agent.fallback_model.as_ref().unwrap().provider, "anthropic");
    assert_eq!((agent.temperature, agent.max_tokens), (Some(0.5), Some(400)));
    assert_eq!((agent.history_turns, agent.history_tokens), (Some(20), None));
    assert_eq!(agent.prompt.as_deref(), Some("You are kind."));
    assert_eq!(
        agent.tools.clone().unwrap(),
        [
            ToolRef::Builtin("get_weather".to_owned()),
            ToolRef::Mcp("files".to_owned()),
            ToolRef::Http("orders".to_owned()),
        ]
    );
    assert_eq!(agent.review["delete_file"], [Decision::Approve, Decision::Edit, Decision::Reject]);
    assert!(agent.review_locked);
    assert_eq!(agent.subagents, ["research"]);
    assert_eq!(json!(agent.metadata), json!({"team": "care", "level": 2}));
}

#[test]
fn a_shipped_agent_is_changed_in_what_is_said() {
    let set = Given::file("[agents.react]\nmodel = \"anthropic:some-model\"").settings();
    let agent = &set.agents["react"];
    assert_eq!((&agent.name, &agent.kind, &agent.tools), (&None, &None, &None));
}

#[test]
fn the_scripted_model_needs_no_name_and_no_section() {
    for model in ["scripted", "scripted:any"] {
        let file = format!("[agents.a]\nmodel = \"{model}\"").leak();
        let set = Given::file(file).settings();
        assert_eq!(set.agents["a"].model.as_ref().unwrap().provider, "scripted");
    }
}

#[test]
fn what_an_agent_refers_to_must_be_there() {
    let wrong = |line: &str| {
        Given::file(format!("[agents.a]\n{line}\n[mcp.files]\nurl = \"http://m\"").leak()).problem()
    };
    assert_eq!(
        wrong("model = \"opnai:x\""),
        "agents.a.model in runloom.toml: there are no models under `opnai`; did you mean `openai`?"
    );
    assert_eq!(
        wrong("model = \"openai\""),
        "agents.a.model in runloom.toml: the model is missing; write `openai:MODEL`"
    );
    assert_eq!(
        wrong("tools = [\"mcp:file\"]"),
        "agents.a.tools in runloom.toml: there is no section `[mcp.file]`; did you mean `files`?"
    );
    assert_eq!(
        wrong("tools = [\"http:orders\"]"),
        "agents.a.tools in runloom.toml: there is no section `[http.orders]`; there is none"
    );
    assert_eq!(
        wrong("tools = [\"ftp:x\"]"),
        "agents.a.tools in runloom.toml: `ftp:` is no kind of tool; write `mcp:NAME`, `http:NAME` or a name"
    );
    assert_eq!(
        wrong("kind = \"reakt\""),
        "agents.a.kind in runloom.toml: `reakt` is not known; did you mean `react`?"
    );
    assert_eq!(
        wrong("review = { x = [\"aprove\"] }"),
        "agents.a.review.x.0 in runloom.toml: `aprove` is not known; did you mean `approve`?"
    );
    assert_eq!(
        wrong("review = { x = [] }"),
        "agents.a.review.x in runloom.toml: there is no decision; give one at least, such as `approve`"
    );
    assert_eq!(
        wrong("subagents = [\"a\"]"),
        "agents.a.subagents in runloom.toml: an agent cannot be its own; take it out"
    );
}

#[test]
fn the_two_providers_are_there_without_a_section() {
    let set = Given::environment(&[
        ("OPENAI_API_KEY", "hunter2"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:8399/v1"),
    ])
    .settings();
    let openai = &set.models["openai"];
    assert_eq!(openai.provider, Wire::OpenAi);
    assert_eq!(openai.base_url.as_deref(), Some("http://127.0.0.1:8399/v1"));
    assert_eq!(openai.api_key.as_ref().unwrap().expose_secret(), "hunter2");
    assert_eq!(openai.missing_key(), None);
    let anthropic = &set.models["anthropic"];
    assert_eq!((anthropic.provider, &anthropic.base_url), (Wire::Anthropic, &None));
    assert_eq!(anthropic.missing_key(), Some("ANTHROPIC_API_KEY"));
}

#[test]
fn a_model_server_of_ones_own_has_its_own_key_and_headers() {
    let file = "[models.local]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:8399/v1\"\n\
                api_key_env = \"LOCAL_KEY\"\nheaders = { x-team = \"care\", x-token = \"a-${TOKEN}\" }\n\
                [agents.a]\nmodel = \"local:some:model\"";
    let set = Given::file(file).and("LOCAL_KEY", "k").and("TOKEN", "t").settings();
    let local = &set.models["local"];
    assert_eq!(local.api_key.as_ref().unwrap().expose_secret(), "k");
    assert_eq!(local.headers["x-team"].expose_secret(), "care");
    assert_eq!(local.headers["x-token"].expose_secret(), "a-t");
    assert_eq!(set.agents["a"].model.as_ref().unwrap().model, "some:model");
}

#[test]
fn a_model_without_a_key_variable_sends_no_key() {
    let set = Given::file("[models.local]\nprovider = \"anthropic\"").settings();
    assert_eq!(set.models["local"].missing_key(), None);
    assert!(set.models["local"].api_key.is_none());
}

#[test]
fn a_missing_key_does_not_stop_the_server() {
    let file = "[models.local]\nprovider = \"openai\"\napi_key_env = \"LOCAL_KEY\"";
    assert_eq!(Given::file(file).settings().models["local"].missing_key(), Some("LOCAL_KEY"));
}

#[test]
fn the_environment_wins_over_a_provider_s_section() {
    let file = "[models.openai]\nbase_url = \"http://file/v1\"\napi_key_env = \"MINE\"";
    let set = Given::file(file).and("OPENAI_BASE_URL", "http://env/v1").and("MINE", "k").settings();
    let openai = &set.models["openai"];
    assert_eq!(openai.base_url.as_deref(), Some("http://env/v1"));
    assert_eq!(openai.api_key.as_ref().unwrap().expose_secret(), "k");
}

#[test]
fn models_that_cannot_be_are_refused() {
    assert_eq!(
        Given::file("[models.local]").problem(),
        "models.local in runloom.toml: `provider` is missing; add `openai` or `anthropic`, the wire format"
    );
    assert!(
        Given::file("[models.scripted]\nprovider = \"openai\"")
            .problem()
            .contains("this name cannot be used")
    );
    assert!(
        Given::file("[models.local]\nprovider = \"openai\"\nbase_url = \"localhost\"")
            .problem()
            .starts_with(
                "models.local.base_url in runloom.toml: what begins with `localhos` is not a URL"
            )
    );
    assert_eq!(
        Given::file("[models.local]\nprovider = \"opnai\"").problem(),
        "models.local.provider in runloom.toml: `opnai` is not known; did you mean `openai`?"
    );
}
