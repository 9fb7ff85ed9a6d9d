use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use serde_json::json;

use super::*;
use crate::domain::clock::Ts;
use crate::domain::event::{Logged, RunEvent};
use crate::domain::ids::{Namespace, RunId};

/// Shows the number of each event.
struct Numbers;

impl Frames for Numbers {
    fn feed(&mut self, followed: &Followed, out: &mut Out) {
        if let Followed::Event(logged) = followed {
            out.frame(logged.seq, Some("n"), &json!({"n": logged.seq}));
        }
    }

    fn broken(&mut self, error: &Error, out: &mut Out) {
        out.frame(0, None, &error.code);
    }
}

#[expect(clippy::unnecessary_wraps, reason = "an item of a follow")]
fn event(seq: u64) -> Result<Followed> {
    Ok(Followed::Event(Arc::new(Logged {
        seq,
        at: Ts(0),
        run_id: RunId(uuid::Uuid::nil()),
        attempt: 1,
        namespace: Namespace::root(),
        event: RunEvent::Custom { name: None, payload: json!(null), node: "n".into() },
    })))
}

async fn body(events: impl Stream<Item = Result<Followed>> + Send + 'static) -> Vec<String> {
    let body = Told {
        events: Some(Box::pin(events)),
        frames: Numbers,
        out: Out::default(),
        silence: Box::pin(sleep(KEEP_ALIVE)),
    };
    body.map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap()).collect().await
}

#[tokio::test]
async fn what_is_ready_goes_out_together() {
    let chunks = body(stream::iter([event(1), event(2)])).await;
    assert_eq!(
        chunks,
        ["id: 1\nevent: n\ndata: {\"n\":1}\n\nid: 2\nevent: n\ndata: {\"n\":2}\n\n"]
    );
}

#[tokio::test]
async fn a_lot_of_it_goes_out_in_pieces() {
    let chunks = body(stream::iter((1..10_000).map(event))).await;
    assert!(chunks.len() > 5);
    assert!(chunks.iter().all(|chunk| chunk.len() < WRITE_BYTES + 100));
    assert_eq!(chunks.concat().matches("id: ").count(), 9_999);
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_every_five_seconds() {
    let late = stream::once(async {
        sleep(Duration::from_secs(12)).await;
        event(1)
    });
    let chunks = body(late).await;
    assert_eq!(
        chunks,
        [": keep-alive\n\n", ": keep-alive\n\n", "id: 1\nevent: n\ndata: {\"n\":1}\n\n"]
    );
}

#[tokio::test]
async fn a_stream_that_breaks_says_so_and_ends() {
    let chunks = body(stream::iter([event(1), Err(Error::unavailable("away")), event(2)])).await;
    assert_eq!(
        chunks.concat(),
        "id: 1\nevent: n\ndata: {\"n\":1}\n\nid: 0\ndata: \"unavailable\"\n\n"
    );
}

#[test]
fn no_text_can_break_out_of_its_frame() {
    let mut out = Out::default();
    out.frame("1\n2", Some("a\r\n\nb"), &json!({"text": "x\n\ny"}));
    assert_eq!(&out.take()[..], b"id: 12\nevent: ab\ndata: {\"text\":\"x\\n\\ny\"}\n\n");
}
