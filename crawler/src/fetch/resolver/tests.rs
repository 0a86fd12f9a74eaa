//! What a resolver answers, with a stand-in for the DNS.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Answers from a table; counts what it is asked and how many at once.
#[derive(Default)]
struct Table {
    rows: Vec<(&'static str, Vec<&'static str>, u64)>,
    asked: Arc<AtomicUsize>,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    wait: Duration,
}

impl Lookup for Table {
    fn lookup<'a>(&'a self, name: &'a str) -> SendFuture<'a, Result<Answer, ResolveError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(now, Ordering::Relaxed);
            tokio::time::sleep(self.wait).await;
            self.now.fetch_sub(1, Ordering::Relaxed);
            if name == "silent.test" {
                return Err(ResolveError::Unavailable);
            }
            let row = self.rows.iter().find(|row| row.0 == name).ok_or(ResolveError::NoSuchName)?;
            let addresses = row.1.iter().map(|a| a.parse().unwrap()).collect();
            Ok(Answer { addresses, ttl: Duration::from_secs(row.2) })
        })
    }
}

fn table(rows: &[(&'static str, &[&'static str], u64)]) -> Table {
    Table { rows: rows.iter().map(|(n, a, t)| (*n, a.to_vec(), *t)).collect(), ..Table::default() }
}

fn resolver(config: ResolverConfig, rows: &[(&'static str, &[&'static str], u64)]) -> Resolver {
    Resolver::with_lookup(config, Box::new(table(rows)))
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_resolver_starts_outside_of_a_runtime() {
    Resolver::new(ResolverConfig::default());
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_is_refused_after_resolution() {
    let rows: &[(&str, &[&str], u64)] = &[
        ("loop.test", &["127.0.0.1"], 1),
        ("six.test", &["::1", "fe80::1"], 1),
        ("mapped.test", &["::ffff:10.0.0.1"], 1),
        ("meta.test", &["169.254.169.254"], 1),
        ("mixed.test", &["10.0.0.1", "192.168.0.1", "1.1.1.1"], 1),
    ];
    let guarded = resolver(ResolverConfig::default(), rows);
    for name in ["loop.test", "six.test", "mapped.test", "meta.test"] {
        assert_eq!(guarded.resolve(name).await, Err(ResolveError::Refused), "{name}");
    }
    let mixed = guarded.resolve("mixed.test").await.unwrap();
    assert_eq!((mixed.address, mixed.local), (ip("1.1.1.1"), false));

    let open = resolver(ResolverConfig { allow_private: true, ..ResolverConfig::default() }, rows);
    let found = open.resolve("loop.test").await.unwrap();
    assert_eq!((found.address, found.local), (ip("127.0.0.1"), true));
}

#[tokio::test]
async fn address_literals_are_guarded_in_every_spelling_and_cost_no_lookup() {
    let lookup = table(&[]);
    let asked = lookup.asked.clone();
    let guarded = Resolver::with_lookup(ResolverConfig::default(), Box::new(lookup));
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "017700000001",
        "127.0.0.1.",
        "127.0.0.1:80",
        "0",
        "[::1]",
        "::1",
        "[::1]:8080",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ] {
        assert_eq!(guarded.resolve(host).await, Err(ResolveError::Refused), "{host}");
    }
    assert_eq!(guarded.resolve("1.1.1.1:8080").await.unwrap().address, ip("1.1.1.1"));
    assert_eq!(guarded.resolve("[2606:4700::1111]:443").await.unwrap().address, ip("2606:4700::1111"));
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_override_answers_first_and_is_exempt_from_the_guard() {
    let overrides = vec!["a.test:99=127.0.0.1:1".parse().unwrap(), "*.test=[::1]:8080".parse().unwrap()];
    let config = ResolverConfig { overrides, ..ResolverConfig::default() };
    let resolver = resolver(config, &[("a.test", &["1.1.1.1"], 1), ("test", &["1.1.1.1"], 1)]);
    let a = resolver.resolve("a.test").await.unwrap();
    assert_eq!((a.address, a.port_override, a.local), (ip("::1"), Some(8080), true));
    let a = resolver.resolve("A.test:99").await.unwrap();
    assert_eq!((a.address, a.port_override), (ip("127.0.0.1"), Some(1)));
    let other = resolver.resolve("test").await.unwrap();
    assert_eq!((other.address, other.port_override, other.local), (ip("1.1.1.1"), None, false));
}

#[tokio::test]
async fn the_preferred_family_wins_if_it_is_there() {
    let rows: &[(&str, &[&str], u64)] =
        &[("a.test", &["2606:4700::1", "1.1.1.1"], 1), ("b.test", &["2606:4700::2"], 1)];
    let v4 = resolver(ResolverConfig::default(), rows);
    assert_eq!(v4.resolve("a.test").await.unwrap().address, ip("1.1.1.1"));
    assert_eq!(v4.resolve("b.test").await.unwrap().address, ip("2606:4700::2"));
    let v6 = resolver(ResolverConfig { prefer: Family::V6, ..ResolverConfig::default() }, rows);
    assert_eq!(v6.resolve("a.test").await.unwrap().address, ip("2606:4700::1"));
}

#[tokio::test]
async fn an_address_that_cannot_be_connected_to_gives_way_to_the_next_that_is_permitted() {
    let rows: &[(&str, &[&str], u64)] =
        &[("a.test", &["2606:4700::1", "10.0.0.1", "1.1.1.1", "1.1.1.2"], 1), ("one.test", &["1.1.1.1"], 1)];
    let overrides = vec!["*.fixed.test=127.0.0.1:1".parse().unwrap()];
    let resolver = resolver(ResolverConfig { overrides, ..ResolverConfig::default() }, rows);
    let mut given = Vec::new();
    for others in [true, true, false] {
        let found = resolver.resolve("a.test:81").await.unwrap();
        given.push(found.address);
        assert_eq!(resolver.unreachable("a.test:81", found.address), others, "{given:?}");
    }
    assert_eq!(given, [ip("1.1.1.1"), ip("1.1.1.2"), ip("2606:4700::1")]);
    assert_eq!(resolver.resolve("a.test").await.unwrap().address, ip("1.1.1.1"), "round again");
    assert!(resolver.resolve("one.test").await.is_ok());
    for (host, address) in [("one.test", "1.1.1.1"), ("x.fixed.test", "127.0.0.1"), ("1.1.1.1", "1.1.1.1")] {
        assert!(!resolver.unreachable(host, ip(address)), "{host}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_hold_for_their_time_within_bounds() {
    let lookup = table(&[("short.test", &["1.1.1.1"], 0), ("long.test", &["1.1.1.1"], 1_000_000)]);
    let asked = lookup.asked.clone();
    let resolver = Resolver::with_lookup(ResolverConfig::default(), Box::new(lookup));
    assert_eq!(resolver.resolve("short.test").await.unwrap().ttl, MIN_TTL);
    assert_eq!(resolver.resolve("long.test:99").await.unwrap().ttl, MAX_TTL);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    tokio::time::advance(MIN_TTL / 2).await;
    assert_eq!(resolver.resolve("short.test.").await.unwrap().ttl, MIN_TTL / 2);
    assert_eq!(asked.load(Ordering::Relaxed), 2, "answered from the cache");
    tokio::time::advance(MIN_TTL / 2).await;
    assert!(resolver.resolve("short.test").await.is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn failures_are_told_apart_and_kept_too() {
    let lookup = table(&[("empty.test", &[], 1)]);
    let asked = lookup.asked.clone();
    let resolver = Resolver::with_lookup(ResolverConfig::default(), Box::new(lookup));
    for _ in 0..2 {
        assert_eq!(resolver.resolve("none.test").await, Err(ResolveError::NoSuchName));
        assert_eq!(resolver.resolve("empty.test").await, Err(ResolveError::NoSuchName));
        assert_eq!(resolver.resolve("silent.test").await, Err(ResolveError::Unavailable));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    let long = format!("{}.test", "a.".repeat(200));
    for host in ["", ".", ":80", "a b", "a.test:x", "[::1", &long] {
        assert_eq!(resolver.resolve(host).await, Err(ResolveError::NoSuchName), "{host:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 3, "what cannot be a name is not asked for");
}

#[tokio::test(start_paused = true)]
async fn lookups_at_once_are_bounded() {
    let lookup = Table { wait: Duration::from_secs(1), ..Table::default() };
    let most = lookup.most.clone();
    let resolver = Arc::new(Resolver::with_lookup(ResolverConfig::default(), Box::new(lookup)));
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..3 * MAX_LOOKUPS {
        let resolver = resolver.clone();
        tasks.spawn(async move { resolver.resolve(&format!("{i}.test")).await });
    }
    assert!(tasks.join_all().await.iter().all(Result::is_err));
    assert_eq!(most.load(Ordering::Relaxed), MAX_LOOKUPS);
}

#[tokio::test(start_paused = true)]
async fn when_no_name_server_answers_later_names_do_not_wait_for_its_patience() {
    /// Answers nothing for ten seconds; the hosts file's name at once.
    struct Silent;
    impl Lookup for Silent {
        fn lookup<'a>(&'a self, name: &'a str) -> SendFuture<'a, Result<Answer, ResolveError>> {
            Box::pin(async move {
                if name == "hosts.test" {
                    return Ok(Answer { addresses: vec![ip("1.1.1.1")], ttl: MIN_TTL });
                }
                tokio::time::sleep(Duration::from_secs(10)).await;
                Err(ResolveError::Unavailable)
            })
        }
    }
    let resolver = Resolver::with_lookup(ResolverConfig::default(), Box::new(Silent));
    for n in 0..OUTAGE {
        assert_eq!(resolver.resolve(&format!("h{n}.test")).await, Err(ResolveError::Unavailable));
    }
    let begun = Instant::now();
    assert_eq!(resolver.resolve("late.test").await, Err(ResolveError::Unavailable));
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(resolver.resolve("hosts.test").await.is_ok());
    let begun = Instant::now();
    assert!(resolver.resolve("later.test").await.is_err());
    assert!(begun.elapsed() >= Duration::from_secs(10), "an answer ends the outage");
}
