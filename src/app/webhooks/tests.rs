use super::*;

#[test]
fn public_targets_are_taken() {
    for url in ["https://example.org/hook", "http://1.1.1.1:8080/", "https://example.org./x?y=z"] {
        check("webhook", url, false).unwrap();
    }
}

#[test]
fn private_targets_are_refused_unless_allowed() {
    for url in [
        "http://127.0.0.1/",
        "http://localhost:9/",
        "http://a.localhost/",
        "http://LOCALHOST./",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://10.0.0.7",
        "http://169.254.169.254/",
    ] {
        assert_eq!(
            check("webhook", url, false).unwrap_err().field.as_deref(),
            Some("webhook"),
            "{url}"
        );
        check("webhook", url, true).unwrap();
    }
}

#[test]
fn what_is_no_web_address_is_refused() {
    for url in [
        "",
        "hook",
        "/hook",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
    ] {
        assert!(check("webhook", url, true).is_err(), "{url}");
    }
}
