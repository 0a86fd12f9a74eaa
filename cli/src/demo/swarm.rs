//! The demo's peers: processes of their own, on folders that are removed with them.

use crate::ask::{Node, Target};
use crate::failure::Failure;
use anthill_node::api::types::Status;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Slots of a swarm.
pub const SLOTS: u64 = 16_384;
/// Longest wait for a peer to open its API.
const START: Duration = Duration::from_secs(30);
/// Longest wait for peers to end once they are told.
const STOP: Duration = Duration::from_secs(12);
/// Between two looks whether something has happened.
const LOOK: Duration = Duration::from_millis(20);

/// Peers of one swarm; killed when dropped.
pub struct Swarm {
    folder: TempDir,
    resolve: Vec<String>,
    peers: Vec<Peer>,
}

struct Peer {
    child: Child,
    data: PathBuf,
}

impl Swarm {
    /// No peer yet; those to come find the hosts of the web by these rules.
    ///
    /// # Errors
    /// When there is no room for temporary files.
    pub fn new(resolve: &[String]) -> Result<Swarm, Failure> {
        let folder = tempfile::Builder::new().prefix("anthill-demo-").tempdir();
        let folder = folder.map_err(|e| Failure::failed(format!("no temporary folder can be made: {e}")))?;
        Ok(Swarm { folder, resolve: resolve.to_vec(), peers: Vec::new() })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Starts so many; each but the first is given the address of the first.
    ///
    /// # Errors
    /// When one ends, or says nothing for long, with what it logged.
    pub async fn start(&mut self, count: usize) -> Result<(), Failure> {
        // Not the user's own settings: there may be seeds in them.
        let settings = self.folder.path().join("demo.toml");
        std::fs::write(&settings, "[network]\nlan = false\nupnp = false\n")
            .map_err(|e| unwritable(&settings, &e))?;
        let mut first = None;
        for n in 0..count {
            self.peers.push(self.spawn(n, &settings, first.as_deref())?);
            self.until_open(n).await?;
            if n == 0 {
                let file = self.peers[0].data.join("peer.addr");
                first = Some(
                    std::fs::read_to_string(&file).map_err(|e| unwritable(&file, &e))?.trim().to_owned(),
                );
            }
        }
        Ok(())
    }

    fn spawn(&self, n: usize, settings: &Path, first: Option<&str>) -> Result<Peer, Failure> {
        let program = std::env::current_exe();
        let program =
            program.map_err(|e| Failure::failed(format!("this program does not find itself: {e}")))?;
        let data = self.folder.path().join(format!("peer-{}", n + 1));
        let log = data.with_extension("log");
        let mut command = Command::new(program);
        command.args(["node", "--leash", "--swarm", "demo", "--api", "127.0.0.1:0", "--host-delay", "100ms"]);
        command.args([
            "--ip-delay",
            "0s",
            "--listen",
            "/ip4/127.0.0.1/tcp/0",
            "--name",
            &format!("peer {}", n + 1),
        ]);
        command.arg("--config").arg(settings).arg("--data").arg(&data);
        self.resolve.iter().for_each(|rule| _ = command.args(["--resolve", rule]));
        first.iter().for_each(|first| _ = command.args(["--bootstrap", first]));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ANTHILL_") {
                command.env_remove(name);
            }
        }
        // Ctrl-C is for the demo, which then ends its peers: by their leash, which is let go however it ends.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let stderr = std::fs::File::create(&log).map_err(|e| unwritable(&log, &e))?;
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(stderr).spawn();
        let child = child.map_err(|e| Failure::failed(format!("a peer cannot be started: {e}")))?;
        Ok(Peer { child, data })
    }

    async fn until_open(&mut self, n: usize) -> Result<(), Failure> {
        let (peer, begun) = (&mut self.peers[n], Instant::now());
        let opened = peer.data.join(anthill_node::api::ADDRESS_FILE);
        loop {
            if std::fs::read_to_string(&opened).is_ok_and(|text| text.ends_with('\n')) {
                return Ok(());
            }
            let ended = peer.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || begun.elapsed() > START {
                let log = std::fs::read_to_string(peer.data.with_extension("log")).unwrap_or_default();
                return Err(Failure::failed(format!("peer {} did not start: {}", n + 1, log.trim())));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The way to ask one of them.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn node(&self, n: usize) -> Result<Node, Failure> {
        Target { node: None, data: Some(self.peers[n].data.clone()) }.node()
    }

    /// What each says of itself.
    ///
    /// # Errors
    /// When one does not answer.
    pub async fn look(&self) -> Result<Vec<Status>, Failure> {
        let mut all = Vec::with_capacity(self.len());
        for n in 0..self.len() {
            all.push(self.node(n)?.get(&["status"], &[]).await?.read()?);
        }
        Ok(all)
    }

    /// Ends all in good order; how many had to be killed.
    pub async fn stop(&mut self) -> usize {
        for peer in &mut self.peers {
            drop(peer.child.stdin.take());
        }
        let begun = Instant::now();
        let mut running: Vec<Peer> = self.peers.drain(..).collect();
        while !running.is_empty() && begun.elapsed() < STOP {
            running.retain_mut(|peer| !peer.child.try_wait().is_ok_and(|status| status.is_some()));
            tokio::time::sleep(LOOK).await;
        }
        running.len()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Of one that has ended this does nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{}: {error}", file.display()))
}
