//! The same over TLS. The certificate is for `a.test` and `b.test`, signed by its own key, good for a hundred years.

use super::support::{Server, fetcher, get, header, page, read_head};
use anthill_crawler::fetch::{BuildError, FetchConfig, FetchError, Fetcher, Resolver, ResolverConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What is to be trusted.
pub const ROOT: &[u8] = include_bytes!("cert.pem");

fn acceptor(protocols: &[&str]) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(ROOT).unwrap()],
            PrivateKeyDer::from_pem_slice(include_bytes!("key.pem")).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

async fn with<F, R>(protocols: &[&str], delay: Duration, serve: F) -> Server
where
    F: Fn(TlsStream<TcpStream>) -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let acceptor = acceptor(protocols);
    Server::raw(move |stream| {
        let (acceptor, serve) = (acceptor.clone(), serve.clone());
        async move {
            tokio::time::sleep(delay).await;
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(stream).await;
            }
        }
    })
    .await
}

/// An HTTP/1.1 server over TLS that waits before each handshake.
pub async fn server(delay: Duration, answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let (answer, log) = (Arc::new(answer), heads.clone());
    let server = with(&["http/1.1"], delay, move |mut stream| {
        let (answer, log) = (answer.clone(), log.clone());
        async move {
            while let Some(head) = read_head(&mut stream).await {
                log.lock().unwrap().push(head.clone());
                stream.write_all(&answer(&head)).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
    })
    .await;
    server.with_heads(heads)
}

/// An HTTP/2 server that answers with the authority asked for.
async fn h2_server() -> Server {
    with(&["h2", "http/1.1"], Duration::ZERO, |stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let authority = request.uri().authority().unwrap().to_string();
            let mut body = respond.send_response(http::Response::new(()), false).unwrap();
            body.send_data(authority.into(), true).unwrap();
        }
    })
    .await
}

fn trusting(config: &mut FetchConfig) {
    config.extra_roots = vec![ROOT.to_vec()];
}

#[tokio::test]
async fn https_is_fetched_at_an_override_with_name_and_host_unchanged() {
    let server = server(Duration::ZERO, |head| page("", header(head, "host").unwrap().as_bytes())).await;
    let fetcher = server.fetcher(trusting);
    for host in ["a.test", "a.test:99", "b.test:8443", "a.test"] {
        let response = get(&fetcher, &format!("https://{host}/")).await.unwrap();
        assert_eq!((response.body.as_slice(), response.remote), (host.as_bytes(), server.addr));
    }
    assert_eq!(server.accepted(), 3, "the last used the connection of the first");
}

#[tokio::test]
async fn extra_roots_are_trusted_besides_the_systems() {
    let server = server(Duration::ZERO, |_| page("", b"")).await;
    let set = |config: &mut FetchConfig| {
        trusting(config);
        config.system_roots = true;
    };
    assert!(get(&server.fetcher(set), "https://a.test/").await.is_ok());
}

#[test]
fn a_fetcher_starts_with_its_defaults_outside_of_a_runtime() {
    // Also where the system has no root certificates at all: then only https fails.
    let resolver = Arc::new(Resolver::new(ResolverConfig::default()));
    assert!(Fetcher::new(FetchConfig::new("anthill".into()), resolver).is_ok());
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    let resolver = || Arc::new(Resolver::new(ResolverConfig::default()));
    let config = FetchConfig::new("anthill\r\nX: y".into());
    assert!(matches!(Fetcher::new(config, resolver()), Err(BuildError::Header(_))));
    let mut config = FetchConfig::new("anthill".into());
    config.extra_roots = vec![b"-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n".to_vec()];
    assert!(matches!(Fetcher::new(config, resolver()), Err(BuildError::Root(_))));
}

#[tokio::test]
async fn http_2_is_spoken_if_the_server_offers_it() {
    let server = h2_server().await;
    let fetcher = server.fetcher(trusting);
    for _ in 0..3 {
        let response = get(&fetcher, "https://a.test/").await.unwrap();
        assert_eq!((response.version, response.body.as_slice()), (http::Version::HTTP_2, &b"a.test"[..]));
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn http_2_can_be_turned_off() {
    let server = server(Duration::ZERO, |_| page("", b"")).await;
    let set = |config: &mut FetchConfig| {
        trusting(config);
        config.http2 = false;
    };
    let response = get(&server.fetcher(set), "https://a.test/").await.unwrap();
    assert_eq!(response.version, http::Version::HTTP_11);
}

#[tokio::test]
async fn an_http_2_header_list_over_the_limit_is_refused() {
    let server = with(&["h2"], Duration::ZERO, |stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let mut response = http::Response::new(());
            for i in 0..1_000 {
                let name = http::HeaderName::try_from(format!("x-{i}")).unwrap();
                response.headers_mut().insert(name, http::HeaderValue::try_from("y".repeat(1_000)).unwrap());
            }
            let _ = respond.send_response(response, true);
        }
    })
    .await;
    let result = get(&server.fetcher(trusting), "https://a.test/").await;
    assert!(matches!(result, Err(FetchError::Protocol(_))), "{result:?}");
}

#[tokio::test]
async fn an_http_2_stream_reset_in_mid_body_is_no_response() {
    let server = with(&["h2"], Duration::ZERO, |stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let mut body = respond.send_response(http::Response::new(()), false).unwrap();
            body.send_data("half".into(), false).unwrap();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                body.send_reset(h2::Reason::INTERNAL_ERROR);
            });
        }
    })
    .await;
    let result = get(&server.fetcher(trusting), "https://a.test/").await;
    assert!(matches!(result, Err(FetchError::Broken(_))), "{result:?}");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_or_not_of_the_name_is_refused() {
    let server = server(Duration::ZERO, |_| page("", b"")).await;
    let rules = format!("*={}", server.addr);
    for (url, roots) in [
        ("https://a.test/", vec![]),
        ("https://other.example/", vec![ROOT.to_vec()]),
        ("https://192.0.2.1/", vec![ROOT.to_vec()]),
    ] {
        let fetcher = fetcher(&[&rules], false, |config| config.extra_roots = roots);
        let result = get(&fetcher, url).await;
        assert!(matches!(result, Err(FetchError::Tls(_))), "{url}: {result:?}");
    }
    assert!(server.heads().is_empty());
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_a_tls_failure() {
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b""] {
        let server = Server::raw(move |mut stream| async move {
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
            read_head(&mut stream).await;
        })
        .await;
        let result = get(&server.fetcher(trusting), "https://a.test/").await;
        assert!(matches!(result, Err(FetchError::Tls(_))), "{result:?}");
    }
}

#[tokio::test]
async fn a_body_without_length_may_end_without_tls_goodbye_and_counts_as_cut() {
    let server = with(&["http/1.1"], Duration::ZERO, |mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nwhat there is").await.unwrap();
        stream.flush().await.unwrap();
        // Closes the socket and leaves TLS without its goodbye.
        stream.get_mut().0.shutdown().await.unwrap();
    })
    .await;
    let response = get(&server.fetcher(trusting), "https://a.test/").await.unwrap();
    assert_eq!((response.body.as_slice(), response.truncated), (&b"what there is"[..], true));

    let server = with(&["http/1.1"], Duration::ZERO, |mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nwhat there is").await.unwrap();
        stream.flush().await.unwrap();
        stream.get_mut().0.shutdown().await.unwrap();
    })
    .await;
    let result = get(&server.fetcher(trusting), "https://a.test/").await;
    assert!(matches!(result, Err(FetchError::Broken(_))), "{result:?}");
}
