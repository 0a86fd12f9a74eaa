//! Asking a node: where it is, with which token, and what its silence means.

use crate::failure::Failure;
use crate::human::{Page, json_line};
use anthill_node::api::{ADDRESS_FILE, Token, token};
use anthill_node::settings::{Environment, data_folder};
use reqwest::{Body, Client, Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use url::Url;

/// Where a node is if nothing else is said.
const DEFAULT: &str = "http://127.0.0.1:7070";
/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest wait for an answer; a node gives up on its own before.
const ANSWER: Duration = Duration::from_secs(90);
/// Longest answer read into memory: many times a hundred hits.
const MAX_ANSWER: usize = 64 << 20;

/// Which node to ask.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Target {
    /// Address of the node's API [default: http://127.0.0.1:7070]
    #[arg(long, value_name = "http://IP:PORT", env = "ANTHILL_NODE", value_parser = address)]
    pub node: Option<Url>,
    /// The node's folder of data, for its token (else ANTHILL_TOKEN) and address
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// Reads an address; the scheme may be left out.
fn address(text: &str) -> Result<Url, String> {
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let wrong = || format!("write an address as {DEFAULT}");
    let url = Url::parse(&with_scheme).map_err(|e| format!("{e}: {}", wrong()))?;
    let plain = matches!(url.path(), "" | "/") && url.query().is_none() && url.username().is_empty();
    if matches!(url.scheme(), "http" | "https") && url.has_host() && plain { Ok(url) } else { Err(wrong()) }
}

/// A node to be asked.
pub struct Node {
    address: Url,
    client: Client,
    token: Result<String, String>,
}

/// Which node to ask, and how to show what it says.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Asking {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

impl Asking {
    /// Reads something of the node, and prints it as JSON, or as `write` says it to people.
    ///
    /// # Errors
    /// When no node answers, or it refuses.
    pub fn show<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        query: &[(&str, String)],
        write: impl FnOnce(&mut Page, &T),
    ) -> Result<ExitCode, Failure> {
        let answer = wait_for(self.target.node()?.get(parts, query))?;
        if self.json {
            json_line(answer.text());
        } else {
            let mut page = Page::new();
            write(&mut page, &answer.read()?);
            page.show();
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// An answer, as it came.
pub struct Answer {
    text: String,
}

impl Answer {
    /// The JSON itself, one line.
    pub fn text(&self) -> &str {
        self.text.trim_end()
    }

    /// What it says.
    ///
    /// # Errors
    /// When it says something else.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.text).map_err(|e| {
            Failure::failed(format!("the node's answer is not understood ({e}): is it another version?"))
        })
    }
}

impl Target {
    /// The node meant.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn node(&self) -> Result<Node, Failure> {
        let environment = Environment::of_process();
        let address = match (&self.node, &self.data) {
            (Some(node), _) => node.clone(),
            (None, Some(data)) => written_address(data).unwrap_or_else(default_address),
            (None, None) => default_address(),
        };
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .user_agent(concat!("anthill-cli/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| Failure::failed(format!("no HTTP client: {e}")))?;
        Ok(Node { address, client, token: self.token(&environment) })
    }

    /// The token, or why there is none. Most commands do without.
    fn token(&self, environment: &Environment) -> Result<String, String> {
        if let (Some(token), None) = (environment.var("ANTHILL_TOKEN"), &self.data) {
            return Ok(token.to_owned());
        }
        let folder = data_folder(self.data.as_deref(), environment).map_err(|e| e.to_string())?;
        match Token::read(&folder.join(token::FILE_NAME)) {
            Ok(token) => Ok(token.secret().to_owned()),
            Err(error) => match environment.var("ANTHILL_TOKEN") {
                Some(token) => Ok(token.to_owned()),
                None => Err(error.to_string()),
            },
        }
    }
}

fn default_address() -> Url {
    Url::parse(DEFAULT).expect("the default is a URL")
}

/// The address that a node wrote into its folder.
fn written_address(data: &std::path::Path) -> Option<Url> {
    address(std::fs::read_to_string(data.join(ADDRESS_FILE)).ok()?.trim()).ok()
}

impl Node {
    /// Where it is, for people.
    pub fn address(&self) -> &str {
        self.address.as_str().trim_end_matches('/')
    }

    /// A path below its address; each part is encoded.
    fn url(&self, parts: &[&str], query: &[(&str, String)]) -> Url {
        let mut url = self.address.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v1"]).extend(parts);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Asks for something.
    ///
    /// # Errors
    /// When no node answers, or it refuses.
    pub async fn get(&self, parts: &[&str], query: &[(&str, String)]) -> Result<Answer, Failure> {
        self.answer(self.request(Method::GET, self.url(parts, query)).timeout(ANSWER)).await
    }

    /// Asks for a change.
    ///
    /// # Errors
    /// When no node answers, it refuses, or there is no token.
    pub async fn post<T: Serialize>(&self, parts: &[&str], body: &T) -> Result<Answer, Failure> {
        let body = serde_json::to_string(body).map_err(|e| Failure::failed(e.to_string()))?;
        let request = self.request(Method::POST, self.url(parts, &[])).timeout(ANSWER);
        self.answer(request.header("content-type", "application/json").body(body)).await
    }

    /// Asks for something to be taken away.
    ///
    /// # Errors
    /// When no node answers, it refuses, or there is no token.
    pub async fn delete(&self, parts: &[&str], query: &[(&str, String)]) -> Result<Answer, Failure> {
        self.answer(self.request(Method::DELETE, self.url(parts, query)).timeout(ANSWER)).await
    }

    /// Sends a stream, however long it takes.
    ///
    /// # Errors
    /// When no node answers, it refuses, or there is no token.
    pub async fn send(
        &self,
        parts: &[&str],
        query: &[(&str, String)],
        body: Body,
    ) -> Result<Answer, Failure> {
        self.answer(self.request(Method::POST, self.url(parts, query)).body(body)).await
    }

    /// Asks for a stream, however long it takes, and for trailers at its end.
    ///
    /// # Errors
    /// When no node answers, or it refuses.
    pub async fn stream(&self, parts: &[&str], query: &[(&str, String)]) -> Result<Response, Failure> {
        let request = self.request(Method::GET, self.url(parts, query)).header("te", "trailers");
        let response = request.send().await.map_err(|e| self.silence(&e))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(response.status(), &self.text(response).await?))
    }

    fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.client.request(method, url);
        match &self.token {
            Ok(token) => request.bearer_auth(token),
            Err(_) => request,
        }
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Answer, Failure> {
        let response = request.send().await.map_err(|e| self.silence(&e))?;
        let status = response.status();
        let text = self.text(response).await?;
        if !status.is_success() {
            return Err(self.refusal(status, &text));
        }
        if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err() {
            return Err(Failure::no_node(self.address(), "something else does"));
        }
        Ok(Answer { text })
    }

    async fn text(&self, mut response: Response) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|e| self.silence(&e))? {
            if bytes.len() + part.len() > MAX_ANSWER {
                return Err(Failure::failed(format!("the answer has more than {MAX_ANSWER} bytes")));
            }
            bytes.extend_from_slice(&part);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What a refusal means. One that is not in the API's form is not a node's.
    fn refusal(&self, status: StatusCode, text: &str) -> Failure {
        let said: Option<serde_json::Value> = serde_json::from_str(text).ok();
        let message = said.as_ref().and_then(|s| s.get("error")?.get("message")?.as_str());
        let Some(message) = message else {
            return Failure::no_node(
                self.address(),
                &format!("something else does, with HTTP status {status}"),
            );
        };
        let message = crate::human::clean(message);
        match (&self.token, status) {
            (Err(why), StatusCode::UNAUTHORIZED) => Failure::failed(format!("{message}; {why}")),
            (Ok(_), StatusCode::UNAUTHORIZED) => Failure::failed(format!(
                "{message}; the token given is not this node's: name its folder with --data DIR"
            )),
            _ => Failure::failed(message),
        }
    }

    /// What an error of the connection means.
    fn silence(&self, error: &reqwest::Error) -> Failure {
        let mut cause: &dyn std::error::Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        if error.is_connect() {
            return Failure::no_node(self.address(), &cause.to_string());
        }
        if error.is_timeout() {
            return Failure::failed(format!(
                "the node at {} gave no answer in time: try again",
                self.address()
            ));
        }
        Failure::failed(format!("the connection to the node at {} broke: {cause}", self.address()))
    }
}

/// Runs what asks a node to its end.
///
/// # Errors
/// Those of `work`.
pub fn wait_for<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|e| Failure::failed(format!("the system gives no event loop: {e}")))?.block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Code;

    #[test]
    fn addresses_are_read_with_and_without_scheme() {
        for (text, expected) in [
            ("http://127.0.0.1:7070", "http://127.0.0.1:7070/"),
            ("127.0.0.1:7070", "http://127.0.0.1:7070/"),
            ("[::1]:7070", "http://[::1]:7070/"),
            ("https://anthill.example/", "https://anthill.example/"),
        ] {
            assert_eq!(address(text).expect(text).as_str(), expected);
        }
        for text in ["", "ftp://a", "http://a/b", "http://a/?b", "http://a@b/", "http://"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_in_paths_are_encoded() {
        let target = Target { node: Some(address("127.0.0.1:1").expect("valid")), data: None };
        let node = target.node().expect("client");
        let url = node.url(&["site", "a/b ?"], &[("q", "a&b".to_owned())]);
        assert_eq!(url.as_str(), "http://127.0.0.1:1/api/v1/site/a%2Fb%20%3F?q=a%26b");
    }

    #[test]
    fn where_nobody_listens_there_is_no_node() {
        let port = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
            listener.local_addr().expect("address").port()
        };
        let target = Target { node: Some(address(&format!("127.0.0.1:{port}")).expect("valid")), data: None };
        let node = target.node().expect("client");
        let failure = wait_for(node.get(&["status"], &[])).err().expect("nobody listens");
        assert_eq!(failure.code(), Code::NoNode);
        assert!(failure.to_string().contains("start one with: anthill node"), "{failure}");
    }

    #[test]
    fn the_address_a_node_wrote_into_its_folder_is_used() {
        let folder = tempfile::tempdir().expect("temporary folder");
        std::fs::write(folder.path().join(ADDRESS_FILE), "127.0.0.1:4711\n").expect("write");
        let target = Target { node: None, data: Some(folder.path().to_owned()) };
        assert_eq!(target.node().expect("client").address(), "http://127.0.0.1:4711");
    }
}
