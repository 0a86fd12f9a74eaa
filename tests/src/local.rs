//! A local web on a thread of its own.

use anthill_web::{Folder, Log, Server, Web, WebSettings, hostile, politeness, serve};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Requests remembered: more than any test makes.
const REMEMBERED: usize = 500_000;

/// A web that is served until this is dropped.
pub struct LocalWeb {
    /// What is served.
    pub web: Arc<Web>,
    server: Option<Server>,
    runtime: Runtime,
}

impl LocalWeb {
    /// Serves a generated web.
    ///
    /// # Errors
    /// When the settings make no sense, or loopback cannot be listened on.
    pub fn start(settings: WebSettings) -> Result<LocalWeb> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let web = Arc::new(Web::new(settings).context("the web's settings")?);
        let log = Arc::new(Log::new(REMEMBERED));
        let server = runtime.block_on(serve(web.clone(), &web.addresses(), 0, log))?;
        Ok(LocalWeb { web, server: Some(server), runtime })
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("there until dropped")
    }

    /// Arguments that send a peer's requests here and name the seeds.
    pub fn arguments(&self) -> Vec<String> {
        let resolve = self.web.resolve_flags(self.server().addresses());
        let resolve = resolve.into_iter().flat_map(|r| ["--resolve".to_owned(), r]);
        let seeds = self.web.seeds().into_iter().flat_map(|s| ["--seed".to_owned(), s]);
        resolve.chain(seeds).collect()
    }

    /// What was requested so far.
    pub fn log(&self) -> Vec<anthill_web::LogEntry> {
        self.server().log().entries()
    }

    /// URLs requested, robots.txt left out.
    pub fn requested(&self) -> BTreeSet<String> {
        self.log().iter().filter(|e| e.path != "/robots.txt").map(anthill_web::LogEntry::url).collect()
    }

    /// What of politeness was broken so far.
    pub fn violations(
        &self,
        host_delay: Duration,
        ip_delay: Duration,
        adjust: impl FnOnce(&mut politeness::Expect<'_>),
    ) -> Vec<politeness::Violation> {
        let web = Arc::clone(&self.web);
        let allows = move |host: &str, path: &str| web.allows(host, path);
        let mut expect = politeness::Expect::of(&self.web, host_delay, ip_delay);
        expect.allows = Some(&allows);
        adjust(&mut expect);
        politeness::check(&self.log(), &expect)
    }
}

impl Drop for LocalWeb {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = self.runtime.block_on(server.shutdown());
        }
    }
}

/// A folder of pages, `hosts/HOST/PATH`, that is served until this is dropped.
pub struct LocalFolder {
    folder: Arc<Folder>,
    server: Option<Server>,
    runtime: Runtime,
}

impl LocalFolder {
    /// Serves it on loopback.
    ///
    /// # Errors
    /// When it has no folder `hosts`, or loopback cannot be listened on.
    pub fn start(dir: &Path) -> Result<LocalFolder> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let folder = Arc::new(Folder::open(dir).with_context(|| dir.display().to_string())?);
        let log = Arc::new(Log::new(REMEMBERED));
        let server = runtime.block_on(serve(folder.clone(), &[IpAddr::V4(Ipv4Addr::LOCALHOST)], 0, log))?;
        Ok(LocalFolder { folder, server: Some(server), runtime })
    }

    /// Arguments that send a peer's requests here.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn arguments(&self) -> Result<Vec<String>> {
        let address = self.server.as_ref().expect("there until dropped").address();
        let resolve = self.folder.resolve_flags(address)?;
        Ok(resolve.into_iter().flat_map(|rule| ["--resolve".to_owned(), rule]).collect())
    }

    /// URLs requested so far, in order, robots.txt left out.
    pub fn requested(&self) -> Vec<String> {
        let log = self.server.as_ref().expect("there until dropped").log().entries();
        log.iter().filter(|e| e.path != "/robots.txt").map(anthill_web::LogEntry::url).collect()
    }
}

impl Drop for LocalFolder {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = self.runtime.block_on(server.shutdown());
        }
    }
}

/// The hostile server.
pub struct Hostile {
    server: Option<Server>,
    runtime: Runtime,
}

impl Hostile {
    /// Serves it on loopback, of both families where the machine has both.
    ///
    /// # Errors
    /// When loopback cannot be listened on.
    pub fn start() -> Result<Hostile> {
        // A bomb takes a second to pack: on a single thread everything else would wait for it, and time out.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
        let v4 = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let serve = |addresses: &[IpAddr]| {
            runtime.block_on(hostile::serve(addresses, 0, Arc::new(Log::new(REMEMBERED))))
        };
        let server = serve(&[v4, IpAddr::V6(Ipv6Addr::LOCALHOST)]).or_else(|_| serve(&[v4]))?;
        Ok(Hostile { server: Some(server), runtime })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.as_ref().expect("there until dropped").address()
    }

    /// Whether it listens on `::1` too.
    pub fn is_on_both(&self) -> bool {
        self.server.as_ref().expect("there until dropped").addresses().len() == 2
    }

    /// What was requested so far.
    pub fn log(&self) -> Vec<anthill_web::LogEntry> {
        self.server.as_ref().expect("there until dropped").log().entries()
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = self.runtime.block_on(server.shutdown());
        }
    }
}
