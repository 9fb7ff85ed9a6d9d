//! Server-sent events, as a client reads them.

use serde_json::Value;

/// One frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    pub id: Option<String>,
    pub event: String,
    pub data: Value,
}

/// The frames of a whole body; comments are passed over.
pub fn frames(body: &str) -> Vec<Frame> {
    assert!(!body.contains('\r'), "lines end with LF alone");
    body.split("\n\n").filter_map(frame).collect()
}

fn frame(text: &str) -> Option<Frame> {
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let data = field("data")?;
    Some(Frame {
        id: field("id"),
        event: field("event").unwrap_or_else(|| "message".to_owned()),
        data: serde_json::from_str(&data).expect("the data is JSON"),
    })
}
