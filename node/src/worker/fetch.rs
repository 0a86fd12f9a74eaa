//! The fetching tasks: each permit becomes one request; its end is told to the driver at once, its response goes to
//! the makers.

use super::make::Job;
use crate::clock::Clock;
use crate::driver::ToDriver;
use crate::metrics::{FetchOutcome, Metrics};
use crate::shared::Shared;
use crate::store::Store;
use anthill_agent::io::{End, Failure, Input, Made, Permit, PermitId, ResolveFailure, Task};
use anthill_crawler::canon::Rules;
use anthill_crawler::fetch::{
    FetchError, Fetcher, Request, ResolveError, Resolver, Response, Stage, Validators,
};
use anthill_crawler::record::UrlRecord;
use anthill_crawler::time::Instant;
use anthill_protocol::key::HostId;
use crossbeam_channel::Sender;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use url::Position;

/// What is read of a robots.txt: what RFC 9309 section 2.5 asks for, and a little to see that there is more.
const ROBOTS_BYTES: u64 = 501 << 10;
/// What is read of a sitemap after decompression (sitemaps.org: at most 50 MB).
const SITEMAP_BYTES: u64 = 50 << 20;
/// When a name server that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// What the fetching tasks are asked. Bounded by the permits and look-ups the agent lets be outstanding.
pub enum ToFetcher {
    /// Make a request; its permit is on disk.
    Fetch(Box<Permit>),
    /// Find an address.
    Resolve {
        /// For whom.
        host: HostId,
        /// `name` or `name:port`.
        name: String,
    },
}

/// What all tasks share.
pub struct Fetching {
    /// The HTTP client.
    pub fetcher: Arc<Fetcher>,
    /// The resolver.
    pub resolver: Arc<Resolver>,
    /// For records of what was fetched before.
    pub store: Arc<Store>,
    /// The time.
    pub clock: Clock,
    /// Whom to tell.
    pub driver: Sender<ToDriver>,
    /// How URLs are made canonical.
    pub canon: Rules,
    /// Who makes pages of responses.
    pub makers: Sender<Job>,
    /// What everybody may look at.
    pub shared: Arc<Shared>,
    /// Numbers.
    pub metrics: Arc<Metrics>,
    /// Whether public addresses may be asked: only with a contact.
    pub contact: bool,
}

impl Fetching {
    /// Runs until the driver is gone.
    pub async fn run(self: Arc<Self>, mut inbox: UnboundedReceiver<ToFetcher>) {
        while let Some(message) = inbox.recv().await {
            let this = Arc::clone(&self);
            match message {
                ToFetcher::Fetch(permit) => {
                    tokio::spawn(async move { this.fetch(permit).await });
                }
                ToFetcher::Resolve { host, name } => {
                    tokio::spawn(async move { this.resolve(host, name).await });
                }
            }
        }
    }

    async fn resolve(&self, host: HostId, name: String) {
        let (result, ttl) = match self.resolver.resolve(&name).await {
            Ok(found) if !found.local && !self.contact => {
                tracing::warn!(
                    host = name,
                    "not crawled: public addresses need a contact (--contact or `contact` in the settings)"
                );
                (Err(ResolveFailure::Refused), ASK_AGAIN)
            }
            Ok(found) => (Ok((found.address, found.local)), found.ttl),
            Err(error) => {
                tracing::debug!(host = name, %error, "no address");
                let failure = match error {
                    ResolveError::NoSuchName => ResolveFailure::NoSuchName,
                    ResolveError::Unavailable => ResolveFailure::Unavailable,
                    ResolveError::Refused => ResolveFailure::Refused,
                };
                (Err(failure), error.ttl())
            }
        };
        self.tell(Input::Resolved { host, result, ttl });
    }

    async fn fetch(&self, permit: Box<Permit>) {
        let previous = self.previous(&permit);
        let validators = previous
            .as_deref()
            .filter(|r| r.last_success_s > 0)
            .map(|r| Validators { etag: r.etag.clone(), last_modified: r.last_modified.clone() });
        let Some(url) = url_of(&permit, &self.canon) else {
            tracing::warn!(
                url = permit.url,
                "not asked for: it is no URL of its host, as another peer may have it"
            );
            self.end(&permit, End::Failed(Failure::Protocol), None);
            return self.nothing(permit.id, previous);
        };
        let mut request = Request::new(&url, permit.address);
        request.not_after = Some(self.tokio_time(permit.not_after));
        request.validators = validators.as_ref();
        request.max_body = match &permit.task {
            Task::Robots { .. } => Some(ROBOTS_BYTES),
            Task::Entry(item) if item.entry.kind == anthill_crawler::record::EntryKind::Sitemap => {
                Some(SITEMAP_BYTES)
            }
            Task::Entry(_) => None,
        };
        if permit.report_first_byte {
            let (id, clock, driver) = (permit.id, self.clock, self.driver.clone());
            request.on_first_byte = Some(Box::new(move |_| {
                let _ = driver.send(ToDriver::Input(Input::FirstByte(id, clock.now())));
            }));
        }
        if matches!(permit.task, Task::Robots { .. }) {
            self.metrics.robots_fetches.inc();
        }
        match self.fetcher.fetch(request).await {
            Ok(response) => self.answered(permit, response, previous),
            Err(error) => {
                tracing::debug!(url = permit.url, %error, "no response");
                self.metrics.fetched(outcome(&error));
                let unconnected =
                    matches!(error, FetchError::Connect(_) | FetchError::Timeout(Stage::Connect));
                let end = match &url[Position::BeforeHost..Position::AfterPort] {
                    host if unconnected && self.resolver.unreachable(host, permit.address) => {
                        End::Failed(Failure::Address)
                    }
                    _ => ended(&error),
                };
                self.end(&permit, end, None);
                self.nothing(permit.id, previous);
            }
        }
    }

    /// The record of a URL that was tried before: for a conditional request, and for the agent.
    fn previous(&self, permit: &Permit) -> Option<Box<UrlRecord>> {
        let Task::Entry(item) = &permit.task else { return None };
        // A seed may have been fetched before by another crawl.
        if item.entry.untried() && item.entry.depth > 0 {
            return None;
        }
        match self.store.url(&item.id) {
            Ok(record) => record.map(Box::new),
            Err(error) => {
                tracing::error!(%error, url = permit.url, "its record cannot be read; fetched as if new");
                None
            }
        }
    }

    fn answered(&self, permit: Box<Permit>, response: Response, previous: Option<Box<UrlRecord>>) {
        let bytes = response.body.len() as u64;
        self.shared.responded(bytes);
        self.metrics.fetched(FetchOutcome::of_status(response.status));
        self.metrics.fetched_bytes.inc_by(response.wire_bytes);
        self.metrics.decoded_bytes.inc_by(bytes);
        let end = End::Response {
            status: response.status,
            retry_after: response.retry_after(self.clock.now().unix_s()),
            bytes,
        };
        self.end(&permit, end, Some(response.remote.ip()));
        let at_us = self.clock.now().0;
        let _ = self.makers.send(Job { permit, response: response.into(), at_us, previous });
    }

    fn end(&self, permit: &Permit, end: End, remote: Option<std::net::IpAddr>) {
        self.tell(Input::Ended { permit: permit.id, at: self.clock.now(), end, remote });
    }

    fn nothing(&self, permit: PermitId, previous: Option<Box<UrlRecord>>) {
        let (links, targets) = (Vec::new(), Vec::new());
        self.tell(Input::Made { permit, made: Made::Nothing(String::new()), links, targets, previous });
    }

    fn tell(&self, input: Input) {
        let _ = self.driver.send(ToDriver::Input(input));
    }

    fn tokio_time(&self, at: Instant) -> tokio::time::Instant {
        tokio::time::Instant::now() + at.since(self.clock.now())
    }
}

/// What is to be asked for, if the permit's host answers for it: queues come from other peers too, and a host has one pace under its own
/// name only.
fn url_of(permit: &Permit, canon: &Rules) -> Option<url::Url> {
    let asked = canon.canonical(&permit.url, None).ok()?;
    let url = url::Url::parse(&permit.url).ok()?;
    (asked.host_id() == permit.host).then_some(url)
}

fn outcome(error: &FetchError) -> FetchOutcome {
    match error {
        FetchError::Connect(_) => FetchOutcome::Connect,
        FetchError::Timeout(_) => FetchOutcome::Timeout,
        FetchError::Tls(_) => FetchOutcome::Tls,
        FetchError::Protocol(_) => FetchOutcome::Protocol,
        FetchError::Broken(_) => FetchOutcome::Broken,
        FetchError::AddressRefused(_) => FetchOutcome::AddressRefused,
        FetchError::Expired => FetchOutcome::Expired,
    }
}

fn ended(error: &FetchError) -> End {
    End::Failed(match error {
        FetchError::Connect(_) => Failure::Connect,
        FetchError::Timeout(_) => Failure::Timeout,
        FetchError::Tls(_) => Failure::Tls,
        FetchError::Protocol(_) => Failure::Protocol,
        FetchError::Broken(_) => Failure::Broken,
        FetchError::AddressRefused(_) => Failure::AddressRefused,
        FetchError::Expired => return End::Expired,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_crawler::canon::Canon;
    use anthill_protocol::key::SiteId;

    fn permit(url: &str, host: HostId) -> Permit {
        Permit {
            id: PermitId(1),
            host,
            url: url.to_owned(),
            task: Task::Robots { of: host, scheme: anthill_crawler::frontier::Scheme::of(url), hops: 0 },
            address: [127, 0, 0, 1].into(),
            not_after: Instant::ZERO,
            report_first_byte: false,
        }
    }

    #[test]
    fn a_url_is_asked_for_as_its_own_host_only() {
        let rules = Rules::default();
        let canonical = |url: &str| -> Canon { rules.canonical(url, None).expect("a URL") };
        let asked = |url: &str, host| url_of(&permit(url, host), &rules).map(String::from);
        for url in
            ["http://a.b.test/", "https://a.b.test/x?y", "http://a.b.test:8080/", "http://127.0.0.1:1/"]
        {
            assert_eq!(asked(url, canonical(url).host_id()).as_deref(), Some(url));
        }
        let url = "http://a.test/";
        let others = [
            canonical("http://b.a.test/").host_id(),
            canonical("https://a.test/").host_id(),
            canonical("http://a.test:8080/").host_id(),
            HostId::of(SiteId::of("other.test"), "a.test"),
        ];
        assert!(others.iter().all(|other| asked(url, *other).is_none()));
        assert_eq!(asked("no URL", others[0]), None);
        assert_eq!(asked("http://who@a.test/", HostId::of(SiteId::of("a.test"), "who@a.test")), None);
    }
}
