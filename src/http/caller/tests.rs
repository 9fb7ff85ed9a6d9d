use super::*;

fn key_of(headers: &[(&'static str, &str)]) -> Option<String> {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    key(&headers).map(str::to_owned)
}

#[test]
fn a_key_is_found_in_each_of_its_places() {
    assert_eq!(key_of(&[("authorization", "Bearer abc")]).as_deref(), Some("abc"));
    assert_eq!(key_of(&[("authorization", "bearer  abc ")]).as_deref(), Some("abc"));
    assert_eq!(key_of(&[("x-api-key", "abc")]).as_deref(), Some("abc"));
    assert_eq!(key_of(&[("sec-websocket-protocol", "v1, bearer.abc")]).as_deref(), Some("abc"));
}

#[test]
fn anything_else_is_no_key() {
    assert_eq!(key_of(&[]), None);
    assert_eq!(key_of(&[("authorization", "Basic abc")]), None);
    assert_eq!(key_of(&[("authorization", "Bearer ")]), None);
    assert_eq!(key_of(&[("x-api-key", "")]), None);
    assert_eq!(key_of(&[("sec-websocket-protocol", "v1")]), None);
}

#[test]
fn the_authorization_header_counts_first() {
    assert_eq!(key_of(&[("x-api-key", "b"), ("authorization", "Bearer a")]).as_deref(), Some("a"));
}
