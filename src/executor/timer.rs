//! The passing of real time.

use std::time::Duration;

use crate::domain::ports::{BoxFuture, Timer};

/// Sleeps on the runtime's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemTimer;

impl Timer for SystemTimer {
    fn sleep(&self, span: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(span))
    }
}
