//! The tools that ship with the program: they show how agents work and touch nothing.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::domain::ports::BoxFuture;
use crate::domain::tool::{Risk, ToolSpec};
use crate::tools::tool::{Call, Failure, Output, Tool};

/// What a builtin makes of its arguments.
type Act = fn(&Args) -> String;

/// A tool that is a function of its arguments.
struct Builtin {
    spec: ToolSpec,
    risk: Risk,
    act: Act,
}

impl Tool for Builtin {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn risk(&self) -> Risk {
        self.risk
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        let content = (self.act)(&Args(call.args));
        Box::pin(std::future::ready(Ok(Output { content })))
    }
}

/// Checked arguments.
struct Args(Map<String, Value>);

impl Args {
    fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> String {
        self.0.get(name).map(Value::to_string).unwrap_or_default()
    }
}

/// The builtin of this name, as configurations name it.
pub fn by_name(name: &str) -> Option<Arc<dyn Tool>> {
    all().into_iter().find(|tool| tool.spec().name == name)
}

/// All builtins.
pub fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        get_weather(),
        delete_file(),
        send_email(),
        search_media(),
        trim_video(),
        add_watermark(),
        delete_media(),
    ]
}

pub fn get_weather() -> Arc<dyn Tool> {
    tool("get_weather", "Tells the weather in a place.", Risk::None, &["location"], |args| {
        let place = args.text("location");
        if place == "sf" || place == "San Francisco" {
            return "It's sunny in San Francisco, but you better look out if you're a Gemini 😈."
                .to_owned();
        }
        format!("It's cloudy in {place}.")
    })
}

pub fn delete_file() -> Arc<dyn Tool> {
    tool("delete_file", "Deletes a file.", Risk::High, &["path"], |args| {
        format!("Deleted {}.", args.text("path"))
    })
}

pub fn send_email() -> Arc<dyn Tool> {
    let arguments = &["to", "subject", "body"];
    tool("send_email", "Sends an email.", Risk::Medium, arguments, |args| {
        format!("Sent an email to {}.", args.text("to"))
    })
}

pub fn search_media() -> Arc<dyn Tool> {
    let purpose = "Finds media by what can be seen in them.";
    tool("search_media_by_semantics", purpose, Risk::None, &["query"], |_| {
        json!({"Recall": [{"file_id": "vod-file-001"}]}).to_string()
    })
}

pub fn trim_video() -> Arc<dyn Tool> {
    let parameters = json!({
        "type": "object",
        "properties": {
            "file_id": {"type": "string"},
            "start": {"type": "number", "minimum": 0, "description": "seconds"},
            "end": {"type": "number", "minimum": 0, "description": "seconds"},
        },
        "required": ["file_id", "start", "end"],
        "additionalProperties": false,
    });
    build("trim_video", "Cuts a part out of a video.", Risk::Low, parameters, |args| {
        let (start, end) = (args.number("start"), args.number("end"));
        format!("Trimmed {} from {start} to {end} seconds.", args.text("file_id"))
    })
}

pub fn add_watermark() -> Arc<dyn Tool> {
    let purpose = "Writes a text over a video.";
    tool("add_watermark", purpose, Risk::Medium, &["file_id", "text"], |args| {
        format!("Added the watermark {} to {}.", args.text("text"), args.text("file_id"))
    })
}

pub fn delete_media() -> Arc<dyn Tool> {
    tool("delete_media", "Deletes a media file.", Risk::High, &["file_id"], |args| {
        format!("Deleted {}.", args.text("file_id"))
    })
}

/// A tool whose arguments are texts, all needed.
fn tool(name: &str, purpose: &str, risk: Risk, arguments: &[&str], act: Act) -> Arc<dyn Tool> {
    let properties: Map<String, Value> =
        arguments.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let parameters = json!({
        "type": "object",
        "properties": properties,
        "required": arguments,
        "additionalProperties": false,
    });
    build(name, purpose, risk, parameters, act)
}

fn build(name: &str, purpose: &str, risk: Risk, parameters: Value, act: Act) -> Arc<dyn Tool> {
    let (name, description) = (name.to_owned(), purpose.to_owned());
    Arc::new(Builtin { spec: ToolSpec { name, description, parameters }, risk, act })
}
