//! What is counted, for Prometheus and for whoever wants to know what a peer spends its time on?
//!
//! A handle is a shared atomic, cheap to bump from any thread. All names begin with `anthill_`.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// An enumeration whose values are the values of a label.
macro_rules! label {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// The value of the label.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

label! {
    /// How a request to the web ended.
    FetchOutcome {
        /// 2xx
        Ok = "ok",
        /// 304
        NotModified = "not_modified",
        /// Other 3xx
        Redirect = "redirect",
        /// 4xx
        ClientError = "client_error",
        /// 5xx
        ServerError = "server_error",
        /// No connection.
        Connect = "connect",
        /// Too slow.
        Timeout = "timeout",
        /// TLS.
        Tls = "tls",
        /// Not HTTP, or headers over the limits.
        Protocol = "protocol",
        /// Broken off in the body.
        Broken = "broken",
        /// An address that may not be connected to.
        AddressRefused = "address_refused",
        /// Not sent: the permit had expired.
        Expired = "expired",
    }
}

label! {
    /// Where work waits.
    Queue {
        /// For the driver.
        Driver = "driver",
        /// For the store's writer.
        Write = "write",
        /// For the indexer.
        Index = "index",
    }
}

label! {
    /// A part of a page's work.
    Step {
        /// Parsing, language and fingerprint included.
        Parse = "parse",
        /// Adding a document to the index.
        Index = "index",
        /// Answering a query.
        Search = "search",
        /// Answering a request of the API.
        Api = "api",
    }
}

/// One label: its name and value.
type Label = [(&'static str, &'static str); 1];

/// Handles to everything counted. Clones count together.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    fetches: Family<Label, Counter>,
    queues: Family<Label, Gauge>,
    steps: Family<Label, Histogram>,
    peers: Family<Label, Gauge>,
    links: Family<Label, Gauge>,
    negotiations: Family<Label, Gauge>,
    /// Requests in flight to the web.
    pub in_flight: Gauge,
    /// Bytes of bodies received.
    pub fetched_bytes: Counter,
    /// Bytes of bodies after decompression.
    pub decoded_bytes: Counter,
    /// robots.txt asked for.
    pub robots_fetches: Counter,
    /// Pages parsed.
    pub pages_parsed: Counter,
    /// Pages put into the index, again included.
    pub pages_indexed: Counter,
    /// Of these, again for links to them that came to be known.
    pub pages_refreshed: Counter,
    /// Pages taken out of the index.
    pub pages_removed: Counter,
    /// Commits of the index.
    pub index_commits: Counter,
    /// Pages whose body is that of another.
    pub duplicates_exact: Gauge,
    /// Pages whose text is nearly that of another.
    pub duplicates_near: Gauge,
    /// Links found on pages, after filters.
    pub links_found: Counter,
    /// URLs queued, in memory and on disk.
    pub urls_queued: Gauge,
    /// URLs ever admitted.
    pub urls_known: Gauge,
    /// Hosts with URLs queued.
    pub hosts_active: Gauge,
    /// Memory of the store's cache, with what is written and not in files yet.
    pub store_cache_bytes: Gauge,
    /// Memory of what was written lately, which spares the store look-ups.
    pub recent_cache_bytes: Gauge,
    /// Free bytes of the disk that holds the data.
    pub disk_free_bytes: Gauge,
    /// 1 while the index has all that was fetched.
    pub index_settled: Gauge,
    /// 1 while crawling is paused.
    pub paused: Gauge,
    /// Slots held here.
    pub slots_held: Gauge,
    /// Slots of which there is a whole copy here.
    pub slots_kept: Gauge,
    /// Copies at others, of slots held here, that are not whole.
    pub copies_missing: Gauge,
    /// Changes of slots held here that those who keep copies do not have.
    pub changes_missing: Gauge,
    /// Slots taken over by force since the start.
    pub slots_forced: Gauge,
    /// What other peers did that no honest one does, since the start.
    pub misbehaviours: Gauge,
    /// Queries answered.
    pub searches: Counter,
    /// Requests of the API answered.
    pub api_requests: Counter,
    /// Requests of the API refused: token, host, limits.
    pub api_refused: Counter,
    /// Seconds since the peer started.
    pub uptime_seconds: Gauge<f64, AtomicU64>,
}

/// Ten microseconds to some 40 s, in steps of 4: from parsing a small page to a fetch at its time limit.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(1e-5, 4.0, 12))
}

impl Metrics {
    /// Everything at zero.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("anthill");
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "What this program is", version);
        let r = &mut registry;
        let steps = Family::new_with_constructor(seconds as fn() -> Histogram);
        r.register_with_unit(
            "step_duration",
            "Time taken by parts of the work",
            Unit::Seconds,
            steps.clone(),
        );
        let duplicates: Family<Label, Gauge> = labelled(r, "duplicates", "Pages that say what another says");
        let caches: Family<Label, Gauge> = labelled(
            r,
            "cache_bytes",
            "Memory of caches: the store's with its write buffers, and what was written lately",
        );
        Metrics {
            fetches: labelled(r, "fetches", "Requests to the web that ended"),
            queues: labelled(r, "queue_length", "Work that waits inside the peer"),
            steps,
            in_flight: gauge(r, "fetches_in_flight", "Requests to the web in flight"),
            fetched_bytes: counter(r, "fetched_bytes", "Bytes of bodies received"),
            decoded_bytes: counter(r, "decoded_bytes", "Bytes of bodies after decompression"),
            robots_fetches: counter(r, "robots_fetches", "Requests for robots.txt"),
            pages_parsed: counter(r, "pages_parsed", "Pages parsed"),
            pages_indexed: counter(r, "pages_indexed", "Pages put into the index"),
            pages_refreshed: counter(r, "pages_refreshed", "Pages indexed again for links to them"),
            pages_removed: counter(r, "pages_removed", "Pages taken out of the index"),
            index_commits: counter(r, "index_commits", "Commits of the index"),
            duplicates_exact: duplicates.get_or_create_owned(&[("kind", "exact")]),
            duplicates_near: duplicates.get_or_create_owned(&[("kind", "near")]),
            links_found: counter(r, "links_found", "Links found on pages"),
            urls_queued: gauge(r, "urls_queued", "URLs queued"),
            urls_known: gauge(r, "urls_known", "URLs ever admitted"),
            hosts_active: gauge(r, "hosts_active", "Hosts with URLs queued"),
            store_cache_bytes: caches.get_or_create_owned(&[("cache", "store")]),
            recent_cache_bytes: caches.get_or_create_owned(&[("cache", "recent")]),
            disk_free_bytes: gauge(r, "disk_free_bytes", "Free bytes of the disk that holds the data"),
            index_settled: gauge(r, "index_settled", "1 while the index has all that was fetched"),
            paused: gauge(r, "paused", "1 while crawling is paused"),
            peers: labelled(r, "peers", "Other peers of the swarm, by whether they answer"),
            links: labelled(r, "links_exchanged", "Links exchanged with other peers since the start"),
            negotiations: labelled(r, "negotiations", "What happened in negotiations since the start"),
            slots_held: gauge(r, "slots_held", "Slots that this peer fetches from and answers for"),
            slots_kept: gauge(r, "slots_kept", "Slots of which this peer has a whole copy"),
            copies_missing: gauge(
                r,
                "copies_missing",
                "Copies at others, of slots held here, that are not whole, do not count yet, or are at peers that are down",
            ),
            changes_missing: gauge(
                r,
                "changes_missing",
                "Changes of slots held here that copies at others lack",
            ),
            slots_forced: gauge(r, "slots_forced", "Slots taken over by force since the start"),
            misbehaviours: gauge(
                r,
                "misbehaviours",
                "What other peers did that no honest one does, since the start",
            ),
            searches: counter(r, "searches", "Queries answered"),
            api_requests: counter(r, "api_requests", "Requests of the API answered"),
            api_refused: counter(r, "api_refused", "Requests of the API refused"),
            uptime_seconds: {
                let uptime = Gauge::default();
                r.register_with_unit("uptime", "Time since the peer started", Unit::Seconds, uptime.clone());
                uptime
            },
            registry: Arc::new(registry),
        }
    }

    /// Counts a request to the web that ended.
    pub fn fetched(&self, outcome: FetchOutcome) {
        self.fetches.get_or_create(&[("outcome", outcome.name())]).inc();
    }

    /// The length of a queue.
    pub fn queue(&self, queue: Queue) -> Gauge {
        self.queues.get_or_create_owned(&[("queue", queue.name())])
    }

    /// How many other peers there are of a state.
    pub fn peers(&self, state: &'static str) -> Gauge {
        self.peers.get_or_create_owned(&[("state", state)])
    }

    /// How many links went a way.
    pub fn links(&self, way: &'static str) -> Gauge {
        self.links.get_or_create_owned(&[("way", way)])
    }

    /// How often something happened in negotiations.
    pub fn negotiations(&self, what: &'static str) -> Gauge {
        self.negotiations.get_or_create_owned(&[("what", what)])
    }

    /// The histogram of a step's seconds; keep it where it is used often.
    pub fn step(&self, step: Step) -> Histogram {
        self.steps.get_or_create_owned(&[("step", step.name())])
    }

    /// All of it, in the text format of OpenMetrics that Prometheus reads.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail; what is written so far is all there is.
        let _ = prometheus_client::encoding::text::encode(&mut out, &self.registry);
        out
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl FetchOutcome {
    /// The outcome of a response with this status.
    pub fn of_status(status: u16) -> FetchOutcome {
        match status {
            304 => FetchOutcome::NotModified,
            300..=399 => FetchOutcome::Redirect,
            400..=499 => FetchOutcome::ClientError,
            500..=599 => FetchOutcome::ServerError,
            _ => FetchOutcome::Ok,
        }
    }
}

fn counter(registry: &mut Registry, name: &str, help: &str) -> Counter {
    let counter = Counter::default();
    registry.register(name, help, counter.clone());
    counter
}

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

fn labelled<M: Default + Clone + prometheus_client::registry::Metric>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_shown_under_names_of_ours() {
        let metrics = Metrics::new();
        metrics.fetched(FetchOutcome::of_status(200));
        metrics.fetched(FetchOutcome::of_status(503));
        metrics.queue(Queue::Write).set(7);
        metrics.step(Step::Parse).observe(0.0003);
        metrics.clone().pages_indexed.inc_by(3);
        metrics.duplicates_near.set(1);
        metrics.peers("alive").set(4);
        metrics.links("sent").set(9);
        let text = metrics.text();
        for line in [
            "anthill_fetches_total{outcome=\"ok\"} 1",
            "anthill_fetches_total{outcome=\"server_error\"} 1",
            "anthill_queue_length{queue=\"write\"} 7",
            "anthill_step_duration_seconds_count{step=\"parse\"} 1",
            "anthill_pages_indexed_total 3",
            "anthill_peers{state=\"alive\"} 4",
            "anthill_links_exchanged{way=\"sent\"} 9",
            "anthill_slots_held 0",
            "anthill_duplicates{kind=\"near\"} 1",
            "anthill_duplicates{kind=\"exact\"} 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        let names = text.lines().filter(|l| !l.starts_with('#'));
        assert!(names.clone().count() > 20 && names.clone().all(|l| l.starts_with("anthill_")), "{text}");
        assert!(text.ends_with("# EOF\n"));
        let mut types: Vec<_> = text.lines().filter(|l| l.starts_with("# TYPE")).collect();
        let before = types.len();
        types.sort();
        types.dedup();
        assert_eq!(types.len(), before, "a name is registered once");
    }
}
