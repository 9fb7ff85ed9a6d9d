//! Accepting connections.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long streams may take to say their last words when the server has nothing left to run.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(200);

/// Serves `router` on `listener` until `drain` fires and the open connections are done.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    drain: CancellationToken,
) -> std::io::Result<()> {
    // Without this a stream of small events takes forty milliseconds where it needs one.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(error = %error, "TCP_NODELAY could not be set");
        }
    });
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(drain.cancelled_owned()).await
}
