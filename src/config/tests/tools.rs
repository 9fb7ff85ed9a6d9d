use secrecy::ExposeSecret;
use serde_json::json;

use super::*;

#[test]
fn an_mcp_server_is_a_program() {
    let file = "[mcp.files]\ncommand = [\"mcp-server-files\", \"--root\", \"data\"]\nenv = { TOKEN = \"${FILES_TOKEN}\" }";
    let set = Given::file(file).and("FILES_TOKEN", "t").settings();
    let McpTransport::Command { program, arguments, environment } = &set.mcp["files"].transport
    else {
        panic!("{:?}", set.mcp["files"])
    };
    assert_eq!(
        (program.as_str(), arguments.as_slice()),
        ("mcp-server-files", ["--root".to_owned(), "data".to_owned()].as_slice())
    );
    assert_eq!(environment["TOKEN"].expose_secret(), "t");
}

#[test]
fn an_mcp_server_is_a_url() {
    let file = "[mcp.files]\nurl = \"https://mcp.example/x\"\nheaders = { Authorization = \"Bearer ${T}\" }";
    let set = Given::file(file).and("T", "t").settings();
    let McpTransport::Http { url, headers } = &set.mcp["files"].transport else {
        panic!("{:?}", set.mcp["files"])
    };
    assert_eq!(url, "https://mcp.example/x");
    assert_eq!(headers["Authorization"].expose_secret(), "Bearer t");
}

#[test]
fn an_mcp_server_is_one_of_the_two() {
    for (body, what) in [
        ("", "mcp.x in runloom.toml: there is neither `command` nor `url`; add one"),
        (
            "command = [\"a\"]\nurl = \"http://a\"",
            "mcp.x in runloom.toml: there are both `command` and `url`; keep one",
        ),
        (
            "command = []",
            "mcp.x.command in runloom.toml: the command is empty; give the program and its arguments",
        ),
        (
            "command = [\"a\"]\nheaders = { a = \"b\" }",
            "mcp.x.headers in runloom.toml: a program takes no headers; use `env`",
        ),
        (
            "url = \"http://a\"\nenv = { a = \"b\" }",
            "mcp.x.env in runloom.toml: a URL takes no `env`; use `headers`",
        ),
    ] {
        assert_eq!(Given::file(format!("[mcp.x]\n{body}").leak()).problem(), what);
    }
}

#[test]
fn an_http_request_is_a_tool() {
    let file = r#"
        [http.orders]
        description = "Looks an order up"
        method = "get"
        url = "https://shop.example/orders/{id}"
        headers = { Authorization = "Bearer ${SHOP_TOKEN}" }
        parameters = { type = "object", properties = { id = { type = "string" } }, required = ["id"] }
    "#;
    let set = Given::file(file).and("SHOP_TOKEN", "t").settings();
    let tool = &set.http["orders"];
    assert_eq!((tool.description.as_str(), tool.method.as_str()), ("Looks an order up", "GET"));
    assert_eq!(tool.url, "https://shop.example/orders/{id}");
    assert_eq!(tool.headers["Authorization"].expose_secret(), "Bearer t");
    assert_eq!(
        tool.parameters,
        json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]})
    );
}

#[test]
fn an_http_tool_without_parameters_takes_none() {
    let set = Given::file("[http.ping]\nurl = \"http://a/ping\"").settings();
    assert_eq!(set.http["ping"].method, "GET");
    assert_eq!(set.http["ping"].parameters, json!({"type": "object", "properties": {}}));
}

#[test]
fn http_tools_that_cannot_be_are_refused() {
    for (body, what) in [
        ("", "http.x in runloom.toml: `url` is missing; add it"),
        (
            "url = \"http://a/{id}\"",
            "http.x.url in runloom.toml: `{id}` is not among `parameters.properties`; add it there",
        ),
        (
            "url = \"http://a\"\nmethod = \"TRACE\"",
            "http.x.method in runloom.toml: `TRACE` is not a method for tools; give one of `GET`, `POST`, `PUT`, `PATCH`, `DELETE`",
        ),
        (
            "url = \"http://a\"\nheaders = { \"a b\" = \"c\" }",
            "http.x.headers.a b in runloom.toml: this is not the name of a header; use letters, digits and `-`",
        ),
        (
            "url = \"http://a\"\nheaders = { a = \"b\\nc\" }",
            "http.x.headers.a in runloom.toml: a header's value has no line breaks or control characters; take them out",
        ),
        (
            "url = \"http://a\"\nheaders = { a = \"${NOPE}\" }",
            "http.x.headers.a in runloom.toml: the environment variable `NOPE` is not set; set it, or take it out here",
        ),
        (
            "url = \"http://a\"\nheaders = { a = \"${NOPE\" }",
            "http.x.headers.a in runloom.toml: a `${` has no `}`; write `${NAME}`",
        ),
    ] {
        assert_eq!(Given::file(format!("[http.x]\n{body}").leak()).problem(), what);
    }
}
