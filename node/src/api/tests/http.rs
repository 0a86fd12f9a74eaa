//! Who may ask what over HTTP, and what comes back.

use super::Server;
use reqwest::{Method, header};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What comes back when these bytes are sent.
async fn raw(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.expect("connect");
    stream.write_all(request.as_bytes()).await.expect("send");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("read");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn reads_are_open_on_loopback_and_answer_json() {
    let server = Server::start().await;
    for (path, field) in [
        ("/api/v1/status", "peer_id"),
        ("/api/v1/peers", "peers"),
        ("/api/v1/site/a.test", "site"),
        ("/api/v1/explain?url=http%3A%2F%2Fa.test%2F%3Fx%3D1", "url"),
        ("/api/v1/lexicon/ants%2Fbees", "term"),
        ("/api/v1/search?q=ants", "hits"),
        ("/api/v1/exclusions", "exclusions"),
        ("/api/v1/crawl/7", "done"),
        ("/api/v1/config", "settings"),
        ("/api/v1/openapi.json", "openapi"),
    ] {
        let (status, body) = server.json(server.get(path)).await;
        assert_eq!(status, 200, "{path}");
        assert!(body.get(field).is_some(), "{path}: {body}");
    }
    let (_, explained) = server.json(server.get("/api/v1/explain?url=http%3A%2F%2Fa.test%2F%3Fx%3D1")).await;
    assert_eq!(explained["url"], "http://a.test/?x=1");
    let (_, term) = server.json(server.get("/api/v1/lexicon/ants%2Fbees")).await;
    assert_eq!(term["term"], "ants/bees");
    assert_eq!(server.get("/healthz").send().await.expect("answer").text().await.expect("text"), "ok\n");
    let metrics = server.get("/metrics").send().await.expect("answer").text().await.expect("text");
    assert!(metrics.contains("\nanthill_pages_indexed_total 0\n"), "{metrics}");
    server.end().await;
}

#[tokio::test]
async fn every_change_needs_the_token() {
    let server = Server::start().await;
    let crawl = json!({"seeds": ["http://a.test/"]});
    let exclude = json!({"pattern": "a.test"});
    for (method, path, body) in [
        (Method::POST, "/api/v1/crawl", &crawl),
        (Method::POST, "/api/v1/exclusions", &exclude),
        (Method::DELETE, "/api/v1/crawl/7", &json!(null)),
        (Method::POST, "/api/v1/import/warc", &json!(null)),
    ] {
        let without = server.request(method.clone(), path).body(body.to_string());
        let (status, answer) = server.json(without).await;
        assert_eq!((status, &answer["error"]["code"]), (401, &json!("unauthorized")), "{path}");
        assert!(answer["error"]["message"].as_str().expect("text").contains("api.token"));
        let wrong = server.request(method.clone(), path).bearer_auth("0".repeat(64)).body(body.to_string());
        assert_eq!(server.json(wrong).await.0, 401, "{path}");
        let right = server.change(method, path).body(body.to_string());
        assert!(server.json(right).await.0 < 300, "{path}");
    }
    assert_eq!(server.peer.crawls.lock().expect("lock").len(), 1);
    assert_eq!(server.peer.changes.lock().expect("lock").len(), 1);
}

#[tokio::test]
async fn other_names_than_the_peers_own_are_refused() {
    let server = Server::start().await;
    for (host, status) in [
        ("localhost", 200),
        ("anthill.example:80", 200),
        ("127.0.0.1", 200),
        ("evil.example", 403),
        ("anthill.example.evil.test", 403),
    ] {
        let request = server.get("/api/v1/status").header(header::HOST, host);
        assert_eq!(server.json(request).await.0, status, "{host}");
    }
    for request in [
        "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\nConnection: close\r\n\r\n",
        "GET http://evil.test/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ] {
        let answer = raw(&server, request).await;
        assert!(answer.contains(" 403 ") && answer.contains("host_not_allowed"), "{request}: {answer}");
    }
}

#[tokio::test]
async fn refusals_have_a_code_a_message_and_the_fitting_status() {
    let server = Server::start().await;
    let long = format!("/api/v1/search?q={}", "a".repeat(1_025));
    for (path, status, code) in [
        ("/api/v1/site/nowhere.test", 404, "not_found"),
        ("/api/v1/site/broken.test", 500, "internal"),
        ("/api/v1/crawl/8", 404, "not_found"),
        ("/api/v1/crawl/x", 400, "bad_request"),
        ("/api/v1/nothing", 404, "not_found"),
        ("/api/v1/search", 400, "bad_request"),
        ("/api/v1/search?q=%20", 400, "bad_request"),
        ("/api/v1/search?q=a&n=0", 400, "bad_request"),
        ("/api/v1/search?q=a&n=101", 400, "bad_request"),
        ("/api/v1/search?q=a&n=x", 400, "bad_request"),
        ("/api/v1/search?q=a&offset=9999", 400, "bad_request"),
        ("/api/v1/search?q=a&offset=18446744073709551615", 400, "bad_request"),
        ("/api/v1/search?q=down", 503, "unavailable"),
        (long.as_str(), 400, "bad_request"),
        ("/api/v1/explain", 400, "bad_request"),
        ("/api/v1/explain?url=", 400, "bad_request"),
        ("/api/v1/site/%FF", 400, "bad_request"),
        ("/api/v1/export/everything", 400, "bad_request"),
        ("/api/v1/export/warc?warc_name=..%2Fx", 400, "bad_request"),
    ] {
        let (found, body) = server.json(server.get(path)).await;
        assert_eq!((found, body["error"]["code"].as_str()), (status, Some(code)), "{path}");
        assert!(!body["error"]["message"].as_str().expect("message").is_empty(), "{path}");
    }
    let (status, body) = server.json(server.change(Method::PUT, "/api/v1/status")).await;
    assert_eq!((status, body["error"]["code"].as_str()), (405, Some("method_not_allowed")));
}

#[tokio::test]
async fn a_body_that_will_not_do_is_refused() {
    let server = Server::start().await;
    let post = |body: String| server.change(Method::POST, "/api/v1/crawl").body(body);
    for (body, status, says) in [
        ("".to_owned(), 400, "not the JSON"),
        ("{}".to_owned(), 400, "seeds"),
        (json!({"seeds": []}).to_string(), 400, "empty"),
        (json!({"seeds": ["http://a.test/"], "dept": 3}).to_string(), 400, "unknown field `dept`"),
        (json!({"seeds": ["http://a.test/"], "scope": "web"}).to_string(), 400, "unknown variant `web`"),
        (json!({"seeds": ["http://a.test/"], "max_time_s": -1}).to_string(), 400, "max_time_s"),
        (json!({"seeds": ["x", "y"]}).to_string(), 422, "x: no URL; y: no URL"),
        (json!({"seeds": vec!["http://a.test/"; 50_001]}).to_string(), 400, "at most 50000"),
        ("[".repeat(200_000), 400, "invalid type: sequence"),
        (" ".repeat((4 << 20) + 1), 413, "send less"),
    ] {
        let (found, answer) = server.json(post(body)).await;
        let message = answer["error"]["message"].as_str().expect("message");
        assert!(found == status && message.contains(says), "{found} {message}");
    }
    assert_eq!(server.peer.crawls.lock().expect("lock").len(), 1, "only the one whose seeds were no URLs");
    let change = json!({"pattern": " "}).to_string();
    let (status, _) = server.json(server.change(Method::POST, "/api/v1/exclusions").body(change)).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn what_is_asked_reaches_the_peer_as_it_was_meant() {
    let server = Server::start().await;
    let body = json!({"seeds": ["http://a.test/", "b"], "depth": 2, "max_pages": 3, "max_sites": 4,
                      "max_time_s": 1.5, "scope": "site"});
    let (status, accepted) = server.json(server.change(Method::POST, "/api/v1/crawl").json_text(&body)).await;
    assert_eq!(status, 202);
    assert_eq!(
        accepted,
        json!({"crawl": 7, "accepted": ["http://a.test/"], "refused": [{"url": "b", "reason": "no URL"}]})
    );
    let crawl = server.peer.crawls.lock().expect("lock")[0].clone();
    assert_eq!(
        (crawl.depth, crawl.max_pages, crawl.max_sites, crawl.max_time_s),
        (Some(2), Some(3), Some(4), Some(1.5))
    );
    let (_, ended) = server.json(server.change(Method::DELETE, "/api/v1/crawl/7")).await;
    assert_eq!(ended["ended"], "somebody's word");

    let (_, results) =
        server.json(server.get("/api/v1/search?q=+ants%20bees+&n=2&offset=4&prefer=EN,xx,1,deu")).await;
    assert_eq!(
        (results["query"].as_str(), results["hits"][0]["rank"].as_u64()),
        (Some("ants bees"), Some(5))
    );
    let search = server.peer.searches.lock().expect("lock")[0].clone();
    assert_eq!(
        (search.n, search.offset, search.languages),
        (2, 4, vec!["en".into(), "xx".into(), "deu".into()])
    );

    let change = json!({"pattern": " a.test ", "take_back": true});
    let (_, done) = server.json(server.change(Method::POST, "/api/v1/exclusions").json_text(&change)).await;
    assert_eq!(done, json!({"pattern": "a.test", "in_force": false, "purged": 3}));
}

/// reqwest is built here without its `json` feature.
trait JsonText {
    fn json_text(self, value: &serde_json::Value) -> Self;
}
impl JsonText for reqwest::RequestBuilder {
    fn json_text(self, value: &serde_json::Value) -> Self {
        self.header(header::CONTENT_TYPE, "application/json").body(value.to_string())
    }
}

#[tokio::test]
async fn exports_and_imports_are_streams() {
    let server = Server::start().await;
    let response =
        server.get("/api/v1/export/warc?gzip=true&warc_name=my.warc.gz").send().await.expect("answer");
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/gzip");
    assert_eq!(response.headers()[header::CONTENT_DISPOSITION], "attachment; filename=\"my.warc.gz\"");
    assert!(response.headers().get(header::CONTENT_LENGTH).is_none());
    assert_eq!(response.text().await.expect("body").lines().count(), 1_000);
    for kind in ["cdx", "links"] {
        let response = server.get(&format!("/api/v1/export/{kind}")).send().await.expect("answer");
        assert_eq!(response.status(), 200);
    }
    let asked: Vec<_> =
        server.peer.exports.lock().expect("lock").iter().map(|e| e.warc_name.clone()).collect();
    assert_eq!(asked, ["my.warc.gz", "anthill.warc", "anthill.warc"]);

    let archive = vec![b'x'; 10 << 20];
    let (status, report) =
        server.json(server.change(Method::POST, "/api/v1/import/warc?name=my.warc").body(archive)).await;
    assert_eq!((status, report["name"].as_str()), (200, Some("my.warc")));
    assert_eq!(*server.peer.imports.lock().expect("lock"), [("my.warc".to_owned(), 10 << 20)]);
}

#[tokio::test]
async fn an_export_says_at_its_end_how_many_pages_were_left_out() {
    let server = Server::start().await;
    for (name, damaged) in [("whole.warc", "0"), ("damaged.warc", "3")] {
        let request = server.get(&format!("/api/v1/export/warc?warc_name={name}")).header("te", "trailers");
        let response = request.send().await.expect("answer");
        assert_eq!(response.headers()[header::TRAILER], crate::api::DAMAGED_TRAILER);
        let body = http::Response::<reqwest::Body>::from(response).into_body();
        let collected = http_body_util::BodyExt::collect(body).await.expect("body");
        assert_eq!(collected.trailers().expect("trailers")[crate::api::DAMAGED_TRAILER], damaged);
    }
}

#[tokio::test]
async fn an_archive_that_breaks_off_is_an_error_for_the_peer() {
    let server = Server::start().await;
    let head = format!(
        "POST /api/v1/import/warc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Length: 100\r\n\r\nhalf",
        server.token
    );
    let mut stream = TcpStream::connect(server.address).await.expect("connect");
    stream.write_all(head.as_bytes()).await.expect("send");
    stream.shutdown().await.expect("shut down");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert!(server.peer.imports.lock().expect("lock").is_empty(), "{answer}");
}

#[tokio::test]
async fn only_so_many_exports_run_at_once() {
    let server = Server::start().await;
    let export = || server.get("/api/v1/export/warc?warc_name=endless.warc").send();
    let mut running = Vec::new();
    for _ in 0..crate::api::MAX_TRANSFERS {
        let answer = export().await.expect("answer");
        assert_eq!(answer.status(), 200);
        running.push(answer);
    }
    let refused = export().await.expect("answer");
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key(header::RETRY_AFTER));
    running.pop();
    // The server notices that nobody reads any more when it next looks at the connection.
    for _ in 0..1_000 {
        if export().await.expect("answer").status() == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the place of an export that ended was not given back");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = Server::start().await;
    let many = "x: y\r\n".repeat(200);
    let large = format!("x: {}\r\n", "y".repeat(100_000));
    for headers in [many, large] {
        let answer =
            raw(&server, &format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
}

#[tokio::test]
async fn every_answer_carries_the_headers_of_security() {
    let server = Server::start().await;
    for path in ["/", "/search?q=ants", "/api/v1/status", "/nothing", "/style.css"] {
        let response = server.get(path).send().await.expect("answer");
        let header = |name: &str| response.headers().get(name).map(|v| v.to_str().expect("text").to_owned());
        assert!(header("content-security-policy").expect(path).starts_with("default-src 'none'"));
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"));
        assert_eq!(header("referrer-policy").as_deref(), Some("no-referrer"));
    }
}

#[tokio::test]
async fn the_server_ends_when_told_even_while_an_answer_is_under_way() {
    let server = Server::start().await;
    let slow = server.get("/api/v1/search?q=slow").send();
    let slow = tokio::spawn(slow);
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    tokio::time::timeout(std::time::Duration::from_secs(9), server.end()).await.expect("ended");
    slow.abort();
}
