//! The web of the demo: what a peer crawls that was given neither a seed nor leave to crawl the real web, and what a swarm on one
//! machine does.

use anthill_node::settings::{Origin, Settings};
use anthill_web::{Log, Server, Web, WebSettings, serve};
use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::oneshot;

/// Between requests to one host of the demo, unless somebody set it: polite enough to be watched.
const HOST_DELAY: Duration = Duration::from_millis(100);
/// Requests remembered: nobody asks for more.
const REMEMBERED: usize = 1_000;

/// A web that is served until this is dropped.
pub struct Demo {
    /// Where to begin.
    pub seeds: Vec<String>,
    /// Where its hosts are found: `PATTERN=IP:PORT`.
    pub resolve: Vec<String>,
    log: Arc<Log>,
    _stop: oneshot::Sender<()>,
}

/// What was asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    /// Pages that were given.
    pub pages: usize,
    /// Of these, how many were given more than once.
    pub repeated: usize,
    /// Of how many hosts they are.
    pub hosts: usize,
}

/// Whether the peer was given nothing to crawl and no way to: no seed, no contact, no address for any host.
pub fn is_wanted(settings: &Settings) -> bool {
    settings.seeds.is_empty()
        && settings.contact.is_none()
        && settings.resolve.is_empty()
        && !settings.allow_private
        && settings.bootstrap.is_empty()
}

impl Demo {
    /// Serves a web on loopback, and remembers so many requests.
    ///
    /// # Errors
    /// When it cannot be served.
    pub fn serve(web: WebSettings, remembered: usize) -> anyhow::Result<Demo> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, start) = mpsc::channel();
        let log = Arc::new(Log::new(remembered));
        let remembering = Arc::clone(&log);
        let serving = move || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let begun = begin(web, remembering).await;
                let failed = begun.is_err();
                let (server, told) = match begun {
                    Ok((server, seeds, resolve)) => (Some(server), Ok((seeds, resolve))),
                    Err(error) => (None, Err(error)),
                };
                if started.send(told).is_ok() && !failed {
                    // Ends when the sender is dropped.
                    let _ = stopped.await;
                }
                drop(server);
            });
            Ok(())
        };
        std::thread::Builder::new()
            .name("demo-web".to_owned())
            .spawn(serving)
            .context("no thread for the demo's web")?;
        let (seeds, resolve) = start.recv().context("the demo's web did not start")??;
        Ok(Demo { seeds, resolve, log, _stop: stop })
    }

    /// What was asked of it until now.
    pub fn requests(&self) -> Requests {
        let mut times: BTreeMap<String, u32> = BTreeMap::new();
        for entry in self.log.entries() {
            if entry.status == 200 && entry.path != "/robots.txt" {
                *times.entry(entry.url()).or_default() += 1;
            }
        }
        let hosts: BTreeSet<&str> = times.keys().filter_map(|url| url.split('/').nth(2)).collect();
        let repeated = times.values().filter(|times| **times > 1).count();
        Requests { pages: times.len(), repeated, hosts: hosts.len() }
    }
}

/// Serves the web of a peer that is alone, and sets seeds and addresses to it.
///
/// # Errors
/// When it cannot be served.
pub fn start(settings: &mut Settings) -> anyhow::Result<Demo> {
    let demo = Demo::serve(WebSettings::demo(), REMEMBERED)?;
    settings.seeds.clone_from(&demo.seeds);
    for text in &demo.resolve {
        settings.resolve.push(text.parse().context("the demo's web names an address that is none")?);
    }
    // Hosts of this web are here alone: who joined could not fetch them.
    if settings.origins.of("listen") == Origin::Default {
        settings.offline = true;
    }
    if settings.origins.of("host_delay") == Origin::Default {
        settings.host_delay = HOST_DELAY;
        settings.ip_delay = Duration::ZERO;
    }
    eprintln!(
        "No seed and no contact was given, so this peer crawls a small web of its own, for you to try.\n\
         To crawl the real one:\n\n    anthill node --contact you@example.org --seed https://example.org/\n"
    );
    Ok(demo)
}

async fn begin(web: WebSettings, log: Arc<Log>) -> anyhow::Result<(Server, Vec<String>, Vec<String>)> {
    let web = Web::new(web).context("the demo's web")?;
    let (seeds, addresses) = (web.seeds(), web.addresses());
    let web = Arc::new(web);
    let server = serve(web.clone(), &addresses, 0, log)
        .await
        .context("the demo's web cannot be served on loopback")?;
    let resolve = web.resolve_flags(server.addresses());
    Ok((server, seeds, resolve))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_demo_is_for_who_gave_nothing_to_crawl() {
        let nothing = Settings::with_data(Path::new("/d"));
        assert!(is_wanted(&nothing));
        for settings in [
            Settings { seeds: vec!["http://a.test/".to_owned()], ..nothing.clone() },
            Settings { contact: Some("a@b.test".to_owned()), ..nothing.clone() },
            Settings { resolve: vec!["*.test=127.0.0.1:1".parse().expect("valid")], ..nothing.clone() },
            Settings { allow_private: true, ..nothing.clone() },
            Settings { bootstrap: vec!["/ip4/192.0.2.1/tcp/1".to_owned()], ..nothing.clone() },
        ] {
            assert!(!is_wanted(&settings));
        }
    }

    #[test]
    fn the_demo_gives_the_peer_seeds_and_where_to_find_them() {
        let mut settings = Settings::with_data(Path::new("/d"));
        let demo = start(&mut settings).expect("served");
        assert!(!settings.seeds.is_empty() && !settings.resolve.is_empty());
        assert!(settings.offline, "nobody joins by chance");
        let address = settings.resolve[0].target;
        assert!(address.ip().is_loopback());
        assert!(std::net::TcpStream::connect(address).is_ok());
        drop(demo);
    }
}
