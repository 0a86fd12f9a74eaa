//! A peer as a process.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a peer to open its API.
const START: Duration = Duration::from_secs(30);
/// Longest wait for its end: what it takes at most, and what a machine that does much else adds.
const END: Duration = Duration::from_secs(15);
/// What a peer logs unless the environment says otherwise: also why a request had no response, which explains a page that is missing.
const LOG: &str = "info,anthill_node::worker::fetch=debug";

/// A running `anthill node`; killed when dropped.
pub struct Peer {
    child: Child,
    data: PathBuf,
    api: String,
}

/// The `anthill` binary of this build.
///
/// # Errors
/// When it was not built: `cargo build --workspace --bins` does.
pub fn binary(name: &str) -> Result<PathBuf> {
    let mut dir = std::env::current_exe()?;
    dir.pop();
    if dir.ends_with("deps") {
        dir.pop();
    }
    let path = dir.join(name);
    ensure!(path.exists(), "{} is not there: run `cargo build --workspace --bins` first", path.display());
    Ok(path)
}

impl Peer {
    /// Starts a peer on `data` with a free API port and these further arguments. It talks to no others unless it is told where to listen.
    ///
    /// # Errors
    /// When it ends or stays silent instead of opening its API.
    pub fn start(data: &Path, args: &[&str]) -> Result<Peer> {
        Peer::start_by(&["node"], data, args)
    }

    /// The same for a peer that joins a swarm by a link; it has to be told where to listen.
    ///
    /// # Errors
    /// When it ends or stays silent instead of opening its API.
    pub fn join(link: &str, data: &Path, args: &[&str]) -> Result<Peer> {
        Peer::start_by(&["join", link], data, args)
    }

    fn start_by(command: &[&str], data: &Path, args: &[&str]) -> Result<Peer> {
        let _ = std::fs::remove_file(data.join("api.addr"));
        std::fs::create_dir_all(data)?;
        let log = std::fs::File::options().create(true).append(true).open(data.join("stderr.log"))?;
        let mut child = Command::new(binary("anthill")?)
            .args(command)
            .args(["--api", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(args)
            .args((!args.contains(&"--listen")).then_some("--offline"))
            .env("ANTHILL_LOG", std::env::var("ANTHILL_LOG").unwrap_or_else(|_| LOG.into()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let begun = Instant::now();
        loop {
            if let Ok(api) = std::fs::read_to_string(data.join("api.addr"))
                && !api.trim().is_empty()
            {
                return Ok(Peer { child, data: data.to_owned(), api: api.trim().to_owned() });
            }
            if let Some(status) = child.try_wait()? {
                bail!("the peer ended with {status}: {}", tail(&data.join("stderr.log")));
            }
            if begun.elapsed() > START {
                let _ = child.kill();
                bail!("the peer did not open its API: {}", tail(&data.join("stderr.log")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// `IP:PORT` of its API.
    pub fn api(&self) -> &str {
        &self.api
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The bearer token for writes.
    ///
    /// # Errors
    /// When the file is not there.
    pub fn token(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.data.join("api.token"))?.trim().to_owned())
    }

    /// Runs the `anthill` command line against this peer; standard output on success.
    ///
    /// # Errors
    /// With its exit code and standard error otherwise.
    pub fn command(&self, args: &[&str]) -> Result<String> {
        let output = self.command_output(args)?;
        ensure!(
            output.status.success(),
            "anthill {args:?} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Runs the `anthill` command line against this peer.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn command_output(&self, args: &[&str]) -> Result<std::process::Output> {
        Ok(Command::new(binary("anthill")?)
            .args(args)
            .env("ANTHILL_NODE", format!("http://{}", self.api))
            .env("ANTHILL_TOKEN", self.token()?)
            .stdin(Stdio::null())
            .output()?)
    }

    /// The end of its log, where its answer says that something is wrong with it.
    fn said(&self, status: u16) -> String {
        if status < 500 { String::new() } else { format!("\n{}", tail(&self.data.join("stderr.log"))) }
    }

    /// JSON at an API path.
    ///
    /// # Errors
    /// When the answer is not 200 or no JSON.
    pub fn get(&self, path: &str) -> Result<serde_json::Value> {
        let (status, body) = self.raw(path)?;
        ensure!(status == 200, "{path}: status {status}: {body}{}", self.said(status));
        serde_json::from_str(&body).with_context(|| body)
    }

    /// Status and body at a path, by a plain HTTP/1.0 request.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn raw(&self, path: &str) -> Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.api)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\n\r\n", self.api)?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).context("no status line")?;
        while line.trim() != "" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        let mut body = Vec::new();
        reader.read_to_end(&mut body)?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Waits until a question about its status is answered with yes.
    ///
    /// # Errors
    /// After `limit`, with the last status.
    pub fn wait(&self, limit: Duration, mut done: impl FnMut(&serde_json::Value) -> bool) -> Result<()> {
        let begun = Instant::now();
        loop {
            let status = self.get("/api/v1/status")?;
            if done(&status) {
                return Ok(());
            }
            ensure!(begun.elapsed() < limit, "still not after {limit:?}: {status:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// kill -9.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// SIGTERM, and how it ended.
    ///
    /// # Errors
    /// When it has not ended after 15 s.
    pub fn stop(mut self) -> Result<ExitStatus> {
        // Not the program `kill`: small systems have none.
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(
            pid.context("a process without a number")?,
            rustix::process::Signal::TERM,
        )?;
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(begun.elapsed() < END, "the peer does not end: {}", tail(&self.data.join("stderr.log")));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it wrote to standard error, all runs on this folder together.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.data.join("stderr.log")).unwrap_or_default()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tail(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
}
