//! The real program as a process of its own, to be killed.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use super::client::Client;

/// A running server. Dropping it kills it as `kill -9` does.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
}

impl Process {
    /// Starts the program on this database, on a free port, with these variables.
    pub fn start(database_url: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut child = Command::new(env!("CARGO_BIN_EXE_runloom"))
            .args(["--listen", "127.0.0.1:0", "--database-url", database_url])
            .envs(variables.iter().copied())
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect("an address");
        Self { address: address.parse().expect("an address"), child }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Asks it to end, and answers its exit code.
    pub fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        assert!(sent.success());
        self.child.wait().expect("the process ends").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
