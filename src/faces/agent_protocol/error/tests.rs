use serde_json::json;

use super::*;
use crate::http::Shape as _;

#[test]
fn each_fault_has_its_status() {
    for (fault, status) in [
        (Fault::Malformed, 400),
        (Fault::Unauthenticated, 401),
        (Fault::Forbidden, 403),
        (Fault::NotFound, 404),
        (Fault::Conflict, 409),
        (Fault::Busy, 409),
        (Fault::Fenced, 409),
        (Fault::Invalid, 422),
        (Fault::Limited, 429),
        (Fault::Internal, 500),
        (Fault::Unavailable, 503),
    ] {
        assert_eq!(Shape::status(&Error::new(fault, "code", "text")).as_u16(), status, "{fault:?}");
    }
}

#[test]
fn the_body_names_the_field_and_no_cause() {
    let error = Error::invalid("config.tags[0]", "it is wrong").caused_by("a secret");
    let body = json!({
        "code": "invalid_argument",
        "message": "it is wrong",
        "metadata": {"field": "config.tags[0]"},
    });
    assert_eq!(Shape::body(&error), body);
    let error = Error::not_found("run_not_found", "there is no such run");
    assert_eq!(Shape::body(&error)["metadata"], json!({}));
}
