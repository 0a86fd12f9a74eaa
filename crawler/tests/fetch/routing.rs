//! Where requests go, and where they must not.

use super::support::{HOME, Server, fetcher, get, header, page};
use anthill_crawler::fetch::{
    Answer, FetchConfig, FetchError, Fetcher, Lookup, Request, ResolveError, Resolver, ResolverConfig,
    SendFuture,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

/// A DNS in which every name is at one address.
struct Everything(IpAddr);

impl Lookup for Everything {
    fn lookup<'a>(&'a self, _: &'a str) -> SendFuture<'a, Result<Answer, ResolveError>> {
        Box::pin(async { Ok(Answer { addresses: vec![self.0], ttl: Duration::ZERO }) })
    }
}

fn literal(url: &Url) -> IpAddr {
    match url.host().unwrap() {
        Host::Ipv4(v4) => v4.into(),
        Host::Ipv6(v6) => v6.into(),
        Host::Domain(name) => panic!("{name} is no address"),
    }
}

#[tokio::test]
async fn address_literals_are_refused_in_every_spelling() {
    let server = Server::answering(|_| page("", b"secret")).await;
    let port = server.addr.port();
    let guarded = fetcher(&[], false, |_| {});
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0X7F.0x0.0x0.0x1",
        "017700000001",
        "0177.0.0.01",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "0xa9fea9fe",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "10.0.0.1",
        "192.168.1.1",
    ] {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        let result = guarded.fetch(Request::new(&url, literal(&url))).await;
        assert!(matches!(result, Err(FetchError::AddressRefused(_))), "{host}: {result:?}");
    }
    assert_eq!(server.accepted(), 0);

    let open = fetcher(&[], true, |_| {});
    for host in ["127.0.0.1", "2130706433", "0x7f.1"] {
        let response = get(&open, &format!("http://{host}:{port}/")).await.unwrap();
        assert_eq!(response.body, b"secret", "{host}");
    }
}

#[tokio::test]
async fn a_literal_is_not_fetched_under_another_address() {
    let server = Server::answering(|_| page("", b"secret")).await;
    let url = Url::parse(&format!("http://127.0.0.1:{}/", server.addr.port())).unwrap();
    for allow_private in [false, true] {
        let lie = Request::new(&url, "1.1.1.1".parse().unwrap());
        let result = fetcher(&[], allow_private, |_| {}).fetch(lie).await;
        assert!(matches!(result, Err(FetchError::AddressRefused(_))), "{result:?}");
    }
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn a_name_at_a_private_address_is_refused_by_resolver_and_fetcher() {
    let server = Server::answering(|_| page("", b"secret")).await;
    let url = Url::parse(&format!("http://innocent.example:{}/", server.addr.port())).unwrap();
    for (allow_private, override_) in [(false, None), (true, None), (false, Some("innocent.example"))] {
        let overrides =
            override_.map(|name| format!("{name}={}", server.addr).parse().unwrap()).into_iter().collect();
        let config = ResolverConfig { overrides, allow_private, ..ResolverConfig::default() };
        let resolver = Arc::new(Resolver::with_lookup(config, Box::new(Everything(HOME))));
        let fetcher = Fetcher::new(FetchConfig::new("anthill".into()), resolver.clone()).unwrap();
        let resolved = resolver.resolve("innocent.example").await;
        let fetched = fetcher.fetch(Request::new(&url, HOME)).await;
        if allow_private || override_.is_some() {
            assert!(resolved.unwrap().local);
            assert_eq!(fetched.unwrap().body, b"secret");
        } else {
            assert_eq!(resolved, Err(ResolveError::Refused));
            assert!(matches!(fetched, Err(FetchError::AddressRefused(_))), "{fetched:?}");
            assert_eq!(server.accepted(), 0);
        }
    }
}

#[tokio::test]
async fn an_override_takes_requests_to_its_address_whatever_the_port_and_leaves_the_host_header() {
    let server = Server::answering(|head| page("", header(head, "host").unwrap().as_bytes())).await;
    let own = server.addr.port().to_string();
    let fetcher = server.fetcher(|_| {});
    for host in ["a.test", "a.test:99", "a.test:443", "b.c.test:65535", &format!("a.test:{own}")] {
        let response = get(&fetcher, &format!("http://{host}/")).await.unwrap();
        assert_eq!(response.body, host.as_bytes());
        assert_eq!(response.remote, server.addr);
    }
}

#[tokio::test]
async fn an_override_of_a_literal_goes_to_its_address() {
    let server = Server::answering(|head| page("", header(head, "host").unwrap().as_bytes())).await;
    let rules = [format!("192.0.2.7={}", server.addr), format!("[2001:db8::7]:99={}", server.addr)];
    let fetcher = fetcher(&[&rules[0], &rules[1]], false, |_| {});
    for host in ["192.0.2.7", "192.0.2.7:8080", "[2001:db8::7]:99"] {
        assert_eq!(get(&fetcher, &format!("http://{host}/")).await.unwrap().body, host.as_bytes());
    }
    let url = Url::parse("http://192.0.2.8/").unwrap();
    let other = fetcher.fetch(Request::new(&url, literal(&url))).await;
    assert!(matches!(other, Err(FetchError::AddressRefused(_))), "{other:?}");
}

#[tokio::test]
async fn virtual_hosts_at_one_address_are_not_mixed_up() {
    let server = Server::answering(|head| page("", header(head, "host").unwrap().as_bytes())).await;
    let fetcher = Arc::new(server.fetcher(|config| config.max_idle_connections = 10));
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..20 {
        let fetcher = fetcher.clone();
        tasks.spawn(async move {
            for turn in 0..10 {
                let host = format!("h{}.test:{}", task, 1 + turn % 3);
                let response = get(&fetcher, &format!("http://{host}/")).await.unwrap();
                assert_eq!(response.body, host.as_bytes());
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(server.heads().len(), 200);
}

#[tokio::test]
async fn a_request_goes_to_its_own_address_even_if_a_connection_to_another_is_kept() {
    let one = Server::answering(|_| page("", b"one")).await;
    let elsewhere = SocketAddr::new(Ipv4Addr::new(127, 0, 0, 2).into(), one.addr.port());
    let two = Server::answering_at(elsewhere, |_| page("", b"two")).await;
    let fetcher = fetcher(&[], true, |_| {});
    let url = Url::parse(&format!("http://name.example:{}/", one.addr.port())).unwrap();
    for _ in 0..3 {
        for (server, body) in [(&one, b"one"), (&two, b"two")] {
            let response = fetcher.fetch(Request::new(&url, server.addr.ip())).await.unwrap();
            assert_eq!((response.body.as_slice(), response.remote), (&body[..], server.addr));
        }
    }
    assert_eq!((one.accepted(), two.accepted()), (1, 3), "the first kept its connection");
}

#[tokio::test]
async fn concurrent_requests_for_one_name_go_each_to_its_own_address() {
    let one = Server::answering(|_| page("", b"127.0.0.1")).await;
    let elsewhere = SocketAddr::new(Ipv4Addr::new(127, 0, 0, 2).into(), one.addr.port());
    let _two = Server::answering_at(elsewhere, |_| page("", b"127.0.0.2")).await;
    let fetcher = Arc::new(fetcher(&[], true, |_| {}));
    let url = Url::parse(&format!("http://name.example:{}/", one.addr.port())).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..40_u8 {
        let (fetcher, url) = (fetcher.clone(), url.clone());
        tasks.spawn(async move {
            let address = IpAddr::from([127, 0, 0, 1 + i % 2]);
            let response = fetcher.fetch(Request::new(&url, address)).await.unwrap();
            assert_eq!(response.body, address.to_string().as_bytes());
        });
    }
    tasks.join_all().await;
}

#[tokio::test]
async fn only_http_and_https_are_fetched() {
    let fetcher = fetcher(&[], true, |_| {});
    for url in ["ftp://127.0.0.1/", "file:///etc/passwd", "data:text/plain,x", "mailto:a@b.c"] {
        let result = get(&fetcher, url).await;
        assert!(matches!(result, Err(FetchError::Protocol(_))), "{url}: {result:?}");
    }
}
