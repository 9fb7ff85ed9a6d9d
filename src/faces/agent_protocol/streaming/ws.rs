//! A thread over a WebSocket: commands in, replies and events out, in one order.

use std::collections::VecDeque;

use super::commands::On;
use super::session::Session;
use crate::http::{Gone, Socket};

/// Events are gathered up to this many before they are sent: all that a connection holds.
const GATHERED: usize = 64;

/// Serves a connection until the client goes, the thread is gone or the connection is old.
pub async fn serve(on: On, mut socket: Socket) {
    let thread = on.thread;
    let mut session = Session::new(on);
    let mut said = VecDeque::new();
    loop {
        let turn = tokio::select! {
            command = socket.hear() => match command {
                Ok(command) => {
                    session.obey(command, &mut said).await;
                    Ok(())
                }
                Err(Gone) => return,
            },
            watched = session.next() => match watched {
                Ok(Some(watched)) => session.tell(watched, &mut said, GATHERED).await,
                Ok(None) => return socket.close("the thread is gone").await,
                Err(error) => Err(error),
            },
        };
        if let Err(error) = turn {
            tracing::error!(thread.id = %thread, error.code, "a connection broke off: {error:?}");
            return socket.close("something went wrong here; come back").await;
        }
        if socket.say(&mut said).await.is_err() {
            return;
        }
    }
}
