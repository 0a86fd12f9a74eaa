//! Who may ask what? By the name the peer is called with, by where the asker sits, and by the token.

use super::problem::Problem;
use super::token::Token;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use data_encoding::BASE64;
use std::net::{IpAddr, SocketAddr};

/// Longest Authorization header looked at.
const MAX_AUTHORIZATION: usize = 4_096;

/// What decides on access.
#[derive(Clone, Debug)]
pub struct Auth {
    token: Token,
    bound: IpAddr,
    hosts: Vec<String>,
}

/// How a token was presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheme {
    /// By a program on purpose.
    Bearer,
    /// By a browser that asked for a password; it would send it along with a request forged by another site too.
    Basic,
}

impl Auth {
    /// Access to an API that listens at `bound` and answers to `hosts` besides its address and the names of loopback.
    pub fn new(token: Token, bound: SocketAddr, hosts: &[String]) -> Auth {
        let name = |host: &String| host.trim_end_matches('.').to_ascii_lowercase();
        Auth { token, bound: bound.ip().to_canonical(), hosts: hosts.iter().map(name).collect() }
    }

    /// Whether the request may be answered. Reading is open to askers on loopback; everything else needs the token.
    ///
    /// # Errors
    /// The refusal.
    pub fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        from: Option<SocketAddr>,
    ) -> Result<(), Problem> {
        self.check_host(uri, headers)?;
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let here = from.is_some_and(|from| from.ip().to_canonical().is_loopback());
        if reads && here {
            return Ok(());
        }
        match self.presented(headers) {
            Some(Scheme::Bearer) => Ok(()),
            Some(Scheme::Basic) if reads => Ok(()),
            _ => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "this needs the token in DIR/api.token, as `Authorization: Bearer TOKEN`",
            )),
        }
    }

    /// A web page can give its own name any address, ours too, and then read what we answer to that name (DNS
    /// rebinding). So we answer only to names that are ours, and to addresses, which nobody can give another meaning.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().and_then(|value| value.to_str().ok());
        let refuse = |host: &str| {
            let host: String = host.chars().take(100).collect();
            Err(Problem::new(
                StatusCode::FORBIDDEN,
                "host_not_allowed",
                format!("this peer is not called `{host}`: use its address, or add the name to `api_hosts`"),
            ))
        };
        match (host, named.next()) {
            (Some(host), None) if self.is_ours(host) => {}
            (Some(host), _) => return refuse(host),
            (None, _) => return refuse(""),
        }
        match uri.authority() {
            Some(authority) if !self.is_ours(authority.as_str()) => refuse(authority.as_str()),
            _ => Ok(()),
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        if authority.as_str().contains('@') {
            return false;
        }
        let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
        let literal = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(&name);
        match literal.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
            Ok(ip) => ip.is_loopback() || ip == self.bound || self.bound.is_unspecified(),
            Err(_) => name == "localhost" || self.hosts.contains(&name),
        }
    }

    /// How the right token was presented, if it was.
    fn presented(&self, headers: &HeaderMap) -> Option<Scheme> {
        let value =
            headers.get(header::AUTHORIZATION)?.to_str().ok().filter(|v| v.len() <= MAX_AUTHORIZATION)?;
        let (scheme, given) = value.split_once(' ')?;
        let given = given.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.token.is(given).then_some(Scheme::Bearer);
        }
        if scheme.eq_ignore_ascii_case("basic") {
            let decoded = String::from_utf8(BASE64.decode(given.as_bytes()).ok()?).ok()?;
            let (_, password) = decoded.split_once(':')?;
            return self.token.is(password).then_some(Scheme::Basic);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth(bound: &str) -> (Auth, String) {
        let token = Token::random().expect("random");
        let secret = token.secret().to_owned();
        (Auth::new(token, bound.parse().expect("address"), &["Search.example.org".to_owned()]), secret)
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(k, v)| (k.parse().expect("name"), v.parse().expect("value")))
            .collect::<HeaderMap>()
    }

    #[test]
    fn the_peer_answers_to_names_and_addresses_that_are_its_own() {
        let (at_loopback, _) = auth("127.0.0.1:7070");
        let (at_address, _) = auth("192.0.2.7:7070");
        let (at_all, _) = auth("0.0.0.0:7070");
        for (host, loopback, address, all) in [
            ("localhost:7070", true, true, true),
            ("LOCALHOST", true, true, true),
            ("localhost.", true, true, true),
            ("127.0.0.1:7070", true, true, true),
            ("127.9.9.9", true, true, true),
            ("[::1]:7070", true, true, true),
            ("[::ffff:127.0.0.1]", true, true, true),
            ("search.example.org", true, true, true),
            ("search.EXAMPLE.org.:80", true, true, true),
            ("192.0.2.7:7070", false, true, true),
            ("192.0.2.8", false, false, true),
            ("evil.example.org", false, false, false),
            ("localhost.evil.example.org", false, false, false),
            ("127.0.0.1.evil.example.org", false, false, false),
            ("localhost@evil.example.org", false, false, false),
            ("2130706433", false, false, false),
            ("", false, false, false),
            ("a b", false, false, false),
        ] {
            assert_eq!(at_loopback.is_ours(host), loopback, "{host} at loopback");
            assert_eq!(at_address.is_ours(host), address, "{host} at an address");
            assert_eq!(at_all.is_ours(host), all, "{host} at all addresses");
        }
    }

    #[test]
    fn a_request_names_one_host_and_means_it() {
        let (auth, _) = auth("127.0.0.1:7070");
        let check = |uri: &str, pairs: &[(&str, &str)]| {
            let from = Some("127.0.0.1:5".parse().expect("address"));
            auth.check(&Method::GET, &uri.parse().expect("uri"), &headers(pairs), from).is_ok()
        };
        assert!(check("/", &[("host", "localhost")]));
        assert!(check("http://localhost/", &[("host", "localhost")]));
        assert!(!check("/", &[]));
        assert!(!check("/", &[("host", "localhost"), ("host", "evil.test")]));
        assert!(!check("http://evil.test/", &[("host", "localhost")]));
    }

    #[test]
    fn reading_is_open_on_loopback_and_everything_else_needs_the_token() {
        let (auth, secret) = auth("0.0.0.0:7070");
        let bearer = format!("Bearer {secret}");
        let basic = format!("Basic {}", BASE64.encode(format!("me:{secret}").as_bytes()));
        let wrong = format!("Bearer {}", "0".repeat(64));
        let (here, there) = ("127.0.0.1:5", "192.0.2.9:5");
        for (method, from, authorization, allowed) in [
            (Method::GET, here, None, true),
            (Method::HEAD, here, None, true),
            (Method::GET, "[::1]:5", None, true),
            (Method::GET, "[::ffff:127.0.0.1]:5", None, true),
            (Method::GET, there, None, false),
            (Method::GET, there, Some(&bearer), true),
            (Method::GET, there, Some(&basic), true),
            (Method::GET, there, Some(&wrong), false),
            (Method::POST, here, None, false),
            (Method::POST, here, Some(&bearer), true),
            (Method::POST, here, Some(&wrong), false),
            (Method::POST, here, Some(&basic), false),
            (Method::DELETE, here, None, false),
            (Method::POST, there, Some(&bearer), true),
        ] {
            let mut all = headers(&[("host", "localhost")]);
            if let Some(value) = authorization {
                all.insert(header::AUTHORIZATION, value.parse().expect("value"));
            }
            let result =
                auth.check(&method, &Uri::from_static("/"), &all, Some(from.parse().expect("address")));
            assert_eq!(result.is_ok(), allowed, "{method} from {from} with {authorization:?}");
        }
        let unknown =
            auth.check(&Method::GET, &Uri::from_static("/"), &headers(&[("host", "localhost")]), None);
        assert_eq!(unknown.expect_err("refused").status, StatusCode::UNAUTHORIZED);
    }
}
