//! Who may open a web socket, and which subprotocol is answered.

use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn may_enter(origin: &str) -> bool {
    let door = Door { origins: ["https://App.example".to_owned()].into(), ..Door::default() };
    let headers = headers(&[("host", "runloom.example:8000"), ("origin", origin)]);
    door.check_origin(&headers).is_ok()
}

#[test]
fn pages_of_the_same_or_a_known_origin_may_enter() {
    assert!(may_enter("http://runloom.example:8000"));
    assert!(may_enter("https://RUNLOOM.example:8000"));
    assert!(may_enter("https://app.example"));
}

#[test]
fn pages_of_other_origins_may_not() {
    for origin in [
        "http://runloom.example",
        "http://runloom.example:8000.evil.example",
        "https://app.example.evil.example",
        "null",
        "",
    ] {
        assert!(!may_enter(origin), "{origin}");
    }
}

#[test]
fn whoever_is_no_browser_may_enter() {
    assert!(Door::default().check_origin(&HeaderMap::new()).is_ok());
}

#[test]
fn a_subprotocol_that_is_no_key_is_preferred() {
    let offered = headers(&[("sec-websocket-protocol", "bearer.key, agent-streaming")]);
    assert_eq!(protocols(&offered), ["agent-streaming", "bearer.key"]);
    let only_key = headers(&[("sec-websocket-protocol", "bearer.key")]);
    assert_eq!(protocols(&only_key), ["bearer.key"]);
}
