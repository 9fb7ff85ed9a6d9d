use futures::stream;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

const GRACE: Duration = Duration::from_secs(25);

/// A lifecycle and the means to send it signals.
fn signalled() -> (Lifecycle, mpsc::UnboundedSender<&'static str>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let signals = stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|name| (name, receiver))
    });
    (Lifecycle::following(signals.boxed(), GRACE), sender)
}

#[tokio::test(start_paused = true)]
async fn nothing_ends_without_a_signal() {
    let (lifecycle, _signals) = signalled();
    tokio::time::sleep(GRACE * 10).await;
    assert!(!lifecycle.draining().is_cancelled());
    assert!(!lifecycle.stopping().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_signal_drains_and_stops_only_after_the_grace_period() {
    let (lifecycle, signals) = signalled();
    let began = Instant::now();
    signals.send("SIGTERM").unwrap();
    lifecycle.draining().cancelled().await;
    assert!(!lifecycle.stopping().is_cancelled());
    lifecycle.stopping().cancelled().await;
    assert!(began.elapsed() >= GRACE, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_second_signal_stops_at_once() {
    let (lifecycle, signals) = signalled();
    let began = Instant::now();
    signals.send("SIGINT").unwrap();
    lifecycle.draining().cancelled().await;
    signals.send("SIGINT").unwrap();
    lifecycle.stopping().cancelled().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn finishing_waits_for_tasks_that_drain() {
    let (lifecycle, _signals) = signalled();
    let draining = lifecycle.draining().clone();
    let task = lifecycle.tasks().spawn(async move {
        draining.cancelled().await;
        tokio::time::sleep(GRACE / 2).await;
    });
    assert!(lifecycle.finish().await, "all tasks ended");
    assert!(task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn finishing_gives_up_on_tasks_that_do_not_end() {
    let (lifecycle, _signals) = signalled();
    drop(lifecycle.tasks().spawn(std::future::pending::<()>()));
    assert!(!lifecycle.finish().await, "a task was left");
}

#[tokio::test(start_paused = true)]
async fn tasks_that_have_ended_are_not_held_against_a_stop() {
    let (lifecycle, signals) = signalled();
    signals.send("SIGTERM").unwrap();
    lifecycle.stopping().cancelled().await;
    assert!(lifecycle.finish().await);
}

#[tokio::test]
async fn the_process_can_be_followed() {
    let lifecycle = Lifecycle::of_process(GRACE).unwrap();
    assert!(!lifecycle.draining().is_cancelled());
}
