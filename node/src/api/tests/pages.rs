//! The search page as a browser gets it.

use super::Server;
use reqwest::header;

async fn page(server: &Server, path: &str) -> (u16, String) {
    let response = server.get(path).header(header::ACCEPT, "text/html").send().await.expect("answer");
    (response.status().as_u16(), response.text().await.expect("body"))
}

#[tokio::test]
async fn the_start_asks_for_a_query_and_says_how_much_there_is() {
    let server = Server::start().await;
    let (status, html) = page(&server, "/").await;
    assert_eq!(status, 200);
    assert!(html.contains("<form role=\"search\" action=\"/search\" method=\"get\">"));
    assert!(html.contains("12,345 pages can be found"));
    assert!(html.contains(" autofocus"));
}

#[tokio::test]
async fn results_are_shown_and_nothing_in_them_is_markup() {
    let server = Server::start().await;
    let (status, html) = page(&server, "/search?q=%3Cscript%3E%22ants").await;
    assert_eq!(status, 200);
    assert!(!html.contains("<script"), "{html}");
    assert!(html.contains("<title>&lt;script&gt;&quot;ants – Anthill</title>"));
    assert!(html.contains("value=\"&lt;script&gt;&quot;ants\""));
    assert!(html.contains("all about <b>ants</b> &amp; &lt;script&gt;"));
    assert!(html.contains(
        "<a href=\"http://a.test/1?a=1&amp;b=&quot;2&quot;\" rel=\"noreferrer\">Ants &amp; &lt;bees&gt; 1</a>"
    ));
    assert!(html.contains("<time datetime=\"2026-11-20T12:00:00Z\""));
    assert!(html.contains("42 pages (0.001 s)"));
    assert!(html.contains("nothing that was crawled is missing"));
}

#[tokio::test]
async fn results_are_leafed_through() {
    let server = Server::start().await;
    let (_, first) = page(&server, "/search?q=a%26b").await;
    assert!(first.contains("rel=\"next\" accesskey=\"n\" href=\"/search?q=a%26b&amp;offset=10\""), "{first}");
    assert!(!first.contains("rel=\"prev\""));
    let (_, second) = page(&server, "/search?q=a%26b&offset=10").await;
    assert!(second.contains("rel=\"prev\"") && second.contains("href=\"/search?q=a%26b\""));
    assert!(second.contains("<ol class=\"hits\" start=\"11\">"));
    assert!(second.contains("42 pages, 11 to 20"));
    let (_, last) = page(&server, "/search?q=a&offset=40").await;
    assert!(!last.contains("rel=\"next\""));
}

#[tokio::test]
async fn the_end_of_the_results_says_so_and_shows_the_way_back() {
    let server = Server::start().await;
    const ONE: &str = "counted each and shown as one";
    let (_, last) = page(&server, "/search?q=a&offset=40").await;
    assert!(last.contains(ONE) && !last.contains("no more results"), "{last}");
    let (_, first) = page(&server, "/search?q=a").await;
    assert!(!first.contains(ONE));
    let (status, past) = page(&server, "/search?q=a%26b&n=20&offset=300").await;
    assert_eq!(status, 200);
    let back = "There are no more results. <a href=\"/search?q=a%26b&amp;n=20\">Back to the first</a>";
    assert!(past.contains(back), "{past}");
    assert!(!past.contains("<ol") && !past.contains("<nav"), "{past}");
}

#[tokio::test]
async fn nothing_found_and_no_answer_say_so() {
    let server = Server::start().await;
    let (status, html) = page(&server, "/search?q=nothing").await;
    assert_eq!(status, 200);
    assert!(html.contains("Nothing was found"));
    let (status, html) = page(&server, "/search?q=down").await;
    assert_eq!(status, 503);
    assert!(html.contains("role=\"alert\">the index is being &lt;rebuilt&gt;"));
    let (status, _) = page(&server, "/search?q=a&n=1000").await;
    assert_eq!(status, 400);
    let empty = server.get("/search?q=+").send().await.expect("answer");
    assert_eq!(
        (empty.status().as_u16(), &empty.headers()[header::LOCATION]),
        (303, &"/".parse().expect("value"))
    );
}

#[tokio::test]
async fn the_same_path_gives_json_to_who_asks_for_it() {
    let server = Server::start().await;
    let request = |q: &str| server.get(q).header(header::ACCEPT, "application/json");
    let (status, body) = server.json(request("/search?q=ants")).await;
    assert_eq!((status, body["hits"].as_array().map(Vec::len)), (200, Some(10)));
    let (_, api) = server.json(server.get("/api/v1/search?q=ants")).await;
    assert_eq!(body, api);
    let (status, body) = server.json(request("/search?q=")).await;
    assert_eq!((status, body["error"]["code"].as_str()), (400, Some("bad_request")));
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let server = Server::start().await;
    for path in ["/", "/search?q=ants"] {
        let (_, html) = page(&server, path).await;
        let loads = html
            .split(['<', '>'])
            .filter(|tag| ["link ", "img ", "script", "iframe", "style"].iter().any(|t| tag.starts_with(t)));
        for tag in loads {
            assert!(tag.starts_with("link ") && tag.contains("href=\"/"), "{tag}");
        }
        for needed in ["lang=\"en\"", "<main id=\"main\">", "<label class=\"hidden\" for=\"q\">", "<h1"] {
            assert!(html.contains(needed), "{needed}");
        }
    }
    for (path, kind) in [("/style.css", "text/css"), ("/icon.svg", "image/svg+xml")] {
        let response = server.get(path).send().await.expect("answer");
        assert!(response.headers()[header::CONTENT_TYPE].to_str().expect("text").starts_with(kind));
    }
}

#[tokio::test]
async fn a_browser_can_add_the_peer_as_a_search_engine() {
    let server = Server::start().await;
    let response = server
        .get("/opensearch.xml")
        .header(header::HOST, "anthill.example:81")
        .send()
        .await
        .expect("answer");
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/opensearchdescription+xml");
    let text = response.text().await.expect("body");
    assert!(text.contains("template=\"http://anthill.example:81/search?q={searchTerms}\""), "{text}");
}

/// Parts of a page as they come; each time something came, the peer goes on.
async fn parts(server: &Server, path: &str) -> Vec<String> {
    let mut response = server.get(path).header(header::ACCEPT, "text/html").send().await.expect("answer");
    assert_eq!(response.status().as_u16(), 200);
    let mut parts = Vec::new();
    while let Some(bytes) = response.chunk().await.expect("a part") {
        parts.push(String::from_utf8(bytes.to_vec()).expect("text"));
        server.peer.go_on.notify_one();
    }
    parts
}

#[tokio::test]
async fn who_waits_for_slow_peers_sees_what_the_others_found() {
    let server = Server::start().await;
    let parts = parts(&server, "/search?q=piecemeal").await;
    assert_eq!(parts.len(), 4, "{parts:?}");
    for (n, part) in parts[..3].iter().enumerate() {
        assert_eq!(part.matches("<li>").count(), n + 1);
        assert!(part.contains("so far; other peers are still being asked"));
    }
    assert!(parts[0].starts_with("<!DOCTYPE html>") && parts[0].contains("<title>piecemeal – Anthill"));
    let last = &parts[3];
    assert!(last.contains("42 pages") && last.contains("rel=\"next\"") && last.ends_with("</html>\n"));
    let html = parts.concat();
    assert_eq!(unbalanced(&html), Vec::<String>::new(), "{html}");
    assert_eq!(
        (html.matches("<section class=\"so-far\">").count(), html.matches("<section>").count()),
        (3, 1)
    );

    let broken = self::parts(&server, "/search?q=broken").await.concat();
    assert!(broken.contains("role=\"alert\">the disk is full") && broken.ends_with("</html>\n"), "{broken}");
    assert_eq!(unbalanced(&broken), Vec::<String>::new(), "{broken}");
}

/// Elements that have no end.
const VOID: [&str; 4] = ["meta", "link", "input", "path"];

/// Names of elements opened and not closed in their order.
fn unbalanced(html: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut wrong = Vec::new();
    for tag in html.split('<').skip(1).filter_map(|part| part.split_once('>')).map(|(tag, _)| tag) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default().to_owned();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) if open.last() == Some(&name) => drop(open.pop()),
            (true, _) => wrong.push(name),
            (false, true) => {}
            (false, false) if tag.starts_with('!') || VOID.contains(&name.as_str()) => {}
            (false, false) => open.push(name),
        }
    }
    wrong.extend(open);
    wrong
}

#[tokio::test]
async fn every_element_that_is_opened_is_closed() {
    let server = Server::start().await;
    for path in
        ["/", "/search?q=ants&offset=20", "/search?q=nothing", "/search?q=down", "/icon.svg", "/dashboard"]
    {
        let (_, html) = page(&server, path).await;
        assert_eq!(unbalanced(&html), Vec::<String>::new(), "{path}: {html}");
    }
}

#[tokio::test]
async fn the_dashboard_shows_what_was_fetched_and_looks_again_by_itself() {
    let server = Server::start().await;
    let (status, html) = page(&server, "/dashboard").await;
    assert_eq!(status, 200);
    assert!(html.contains("http-equiv=\"refresh\"") && html.contains("by 2 peers"), "{html}");
    assert!(html.contains("http://a.test/2?&lt;&amp;&gt;") && html.contains("on topic 0.90"), "{html}");
    assert!(html.contains("33 % of 3 pages") && html.contains("polyline"), "{html}");
}

#[tokio::test]
async fn events_tell_how_the_peer_does_and_each_page_that_was_fetched() {
    let server = Server::start().await;
    let mut response = server.get("/api/v1/events").send().await.expect("answer");
    let kind = response.headers()[header::CONTENT_TYPE].to_str().expect("text").to_owned();
    assert!(kind.starts_with("text/event-stream"), "{kind}");
    let mut told = String::new();
    while !told.contains("\"number\":3") {
        told += &String::from_utf8_lossy(&response.chunk().await.expect("more").expect("no end"));
    }
    let places =
        ["event: status", "\"number\":1", "\"number\":2", "\"number\":3"].map(|text| told.find(text));
    assert!(places.is_sorted() && places[0].is_some(), "{told}");
    assert_eq!(told.matches("event: fetched").count(), 3);
}
