//! From where on a subscription takes what happens.

use serde_json::json;

use super::*;
use crate::app::{Gap, Opening};
use crate::domain::clock::Ts;
use crate::domain::ids::Namespace;
use crate::domain::state::State;
use crate::faces::agent_protocol::streaming::wire::Data;

fn subscription(after: Option<Number>) -> Subscription {
    let params = serde_json::from_value(json!({"channels": ["values"]})).unwrap();
    Subscription::new(Filter::read(params).unwrap(), after)
}

fn values(number: Number) -> Event {
    let data = Data::Values(State::default());
    Event { number, at: Ts(0), namespace: Namespace::root(), node: None, data }
}

fn opening(after: Option<u64>, gap: Option<Gap>) -> Watched {
    Watched::Opening(Box::new(Opening {
        seq: 5,
        at: Ts(0),
        after,
        gap,
        state: None,
        head: None,
        running: None,
        interrupts: Vec::new(),
    }))
}

#[test]
fn a_fresh_one_takes_how_things_stand() {
    let fresh = subscription(None);
    assert_eq!(fresh.from(), From::Now);
    assert!(fresh.takes(&values(Number::standing(5, 1))) && fresh.takes(&values(Number::of(6, 0))));
}

#[test]
fn one_that_comes_back_takes_what_follows_and_not_how_things_stand() {
    let back = subscription(Some(Number::of(6, 1)));
    assert_eq!(back.from(), From::After(5), "the rest of entry 6 is to come");
    assert!(!back.takes(&values(Number::standing(6, 1))));
    assert!(!back.takes(&values(Number::of(6, 1))) && back.takes(&values(Number::of(6, 2))));
}

#[test]
fn one_that_was_told_how_things_stand_takes_the_rest_of_it() {
    let back = subscription(Some(Number::standing(5, 1)));
    assert_eq!(back.from(), From::After(5));
    assert!(!back.takes(&values(Number::standing(5, 1))));
    assert!(back.takes(&values(Number::standing(5, 2))));
}

#[test]
fn one_that_misses_something_is_told_how_things_stand() {
    let mut back = subscription(Some(Number::of(2, 0)));
    back.notice(&opening(Some(1), Some(Gap { after: 1, first_available: Some(6) })));
    assert!(back.takes(&values(Number::standing(5, 1))));
}

#[test]
fn one_that_is_ahead_of_the_log_takes_what_comes() {
    let mut ahead = subscription(Some(Number::of(1 << 40, 0)));
    ahead.notice(&opening(Some(5), None));
    assert!(ahead.takes(&values(Number::of(6, 0))));
    assert!(!ahead.takes(&values(Number::standing(5, 1))));
}

#[test]
fn an_id_holds_the_filter() {
    let id = subscription(None).id(3);
    assert_eq!(Subscription::restored(&id).as_ref(), Some(subscription(None).filter()));
    for other in ["", "3", "3-", "3-zz", "3-7b7d", "made up"] {
        assert_eq!(Subscription::restored(other), None, "{other}");
    }
}
