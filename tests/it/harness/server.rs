//! A whole server in the test's own process, on a free port.

use std::net::SocketAddr;
use std::time::Duration;

use runloom::Server;
use runloom::app::App;
use runloom::server::Builder;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::Client;

/// A running server. Dropping it stops it at once, as a crash would; [`TestServer::drain`] is the
/// polite way.
pub struct TestServer {
    pub address: SocketAddr,
    pub app: App,
    drain: CancellationToken,
    served: Option<JoinHandle<std::io::Result<()>>>,
}

impl TestServer {
    /// A server with the demo agents on this database.
    pub async fn start(database_url: &str) -> Self {
        Self::build(Server::builder().database_url(database_url)).await
    }

    pub async fn build(builder: Builder) -> Self {
        let server = builder.build().await.expect("the server can be put together");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("the listener has an address");
        let (app, drain) = (server.app.clone(), CancellationToken::new());
        let served = tokio::spawn(server.serve(vec![listener], drain.clone()));
        Self { address, app, drain, served: Some(served) }
    }

    /// A client without a key.
    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Shuts the server down and waits until it is.
    pub async fn drain(mut self) {
        self.drain.cancel();
        if let Some(served) = self.served.take() {
            served.await.expect("the server does not panic").expect("the server stops well");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(served) = self.served.take() {
            served.abort();
        }
    }
}

/// Asks again until `done` says so: for what no signal tells of. Fails after twenty seconds.
pub async fn until<F: Future<Output = Value>>(
    mut ask: impl FnMut() -> F,
    done: impl Fn(&Value) -> bool,
) -> Value {
    let asked = async {
        loop {
            let answer = ask().await;
            if done(&answer) {
                return answer;
            }
            // Asking without a pause would take the time from those it waits for.
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asked).await.expect("it comes true in time")
}
