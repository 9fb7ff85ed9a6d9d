use super::super::frames::Slot;
use super::*;
use crate::app::From;

fn join(header: Option<&str>, query: &str) -> Result<Join> {
    Join::read(header, &Query::parse(query))
}

#[test]
fn without_a_place_a_client_sees_what_is_to_come() {
    let join = join(None, "").unwrap();
    assert_eq!((join.after, join.modes), (None, None));
}

#[test]
fn zero_and_minus_one_mean_all() {
    for join in
        [join(Some("0"), ""), join(Some("-1"), ""), join(None, "after=0"), join(None, "after=-1")]
    {
        assert_eq!(join.unwrap().after.map(Cursor::follow), Some(From::After(0)));
    }
}

#[test]
fn the_header_counts_before_the_query() {
    assert_eq!(join(Some("80"), "after=8").unwrap().after, Some(Cursor::of(10, Slot::Metadata)));
    assert_eq!(join(Some(" "), "after=8").unwrap().after, Some(Cursor::of(1, Slot::Metadata)));
}

#[test]
fn what_is_no_number_is_refused_by_name() {
    for (header, query, field) in [
        (Some("x"), "", "Last-Event-ID"),
        (Some("-2"), "", "Last-Event-ID"),
        (Some("99999999999999999999999"), "", "Last-Event-ID"),
        (None, "after=1.5", "after"),
    ] {
        assert_eq!(join(header, query).unwrap_err().field.as_deref(), Some(field));
    }
}

#[test]
fn an_event_is_followed_again_unless_all_of_it_was_seen() {
    assert_eq!(Cursor::of(10, Slot::Updates).follow(), From::After(9));
    assert_eq!(Cursor::of(10, Slot::End).follow(), From::After(10));
}

#[test]
fn modes_are_named_in_several_ways() {
    use StreamMode::{Updates, Values};
    for query in [
        "stream_mode=values&stream_mode=updates",
        "stream_mode=values,updates",
        "stream_mode=%5B%22values%22%2C%20%22updates%22%5D",
    ] {
        assert_eq!(join(None, query).unwrap().modes, Some(vec![Values, Updates]), "{query}");
    }
    let wrong = join(None, "stream_mode=tools").unwrap_err();
    assert_eq!(wrong.field.as_deref(), Some("stream_mode"));
    assert!(wrong.public().contains("tools"));
}
