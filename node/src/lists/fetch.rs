//! Gets a list from the web: one polite request, and what it is redirected to. Lists are asked for by name, like feeds that people
//! subscribe to: robots.txt is for those who follow links and is not asked.

use super::list::MAX_BYTES;
use anthill_crawler::fetch::{Fetcher, Request, ResolveError, Resolver, Validators};
use std::sync::Arc;
use url::{Position, Url};

/// Redirects followed.
const MAX_HOPS: usize = 5;

/// What gets lists.
#[derive(Clone)]
pub struct Getter {
    /// The HTTP client.
    pub fetcher: Arc<Fetcher>,
    /// Finds addresses, and refuses private ones that are not allowed.
    pub resolver: Arc<Resolver>,
    /// Whether public addresses may be asked: only with a contact.
    pub contact: bool,
}

/// A list's text, and what makes the next request for it conditional.
pub type Got = (String, Option<Validators>);

impl Getter {
    /// Gets what is at `location`; nothing if it is as `before`.
    ///
    /// # Errors
    /// Says why there is none, with the remedy.
    pub async fn get(&self, location: &str, before: Option<&Validators>) -> Result<Option<Got>, String> {
        let mut url = address(location)?;
        for _ in 0..=MAX_HOPS {
            let response = self.ask(&url, before).await?;
            match response.status {
                200 if response.truncated => {
                    return Err(format!("{url} has more than {} MiB: no list is that long", MAX_BYTES >> 20));
                }
                200 => {
                    let validators = response.validators();
                    let text = String::from_utf8(response.body);
                    let text = text.map_err(|_| format!("{url} is no list of anthill: it is not UTF-8"))?;
                    return Ok(Some((text, validators)));
                }
                304 if before.is_some() => return Ok(None),
                301 | 302 | 303 | 307 | 308 => {
                    let to = response.header("location").and_then(|to| url.join(to).ok());
                    let to = to.ok_or_else(|| format!("{url} redirects to nowhere"))?;
                    url = address(to.as_str())?;
                }
                status => return Err(format!("{url} answers {status}: is the list still there?")),
            }
        }
        Err(format!("{location} redirects more than {MAX_HOPS} times"))
    }

    async fn ask(
        &self,
        url: &Url,
        before: Option<&Validators>,
    ) -> Result<anthill_crawler::fetch::Response, String> {
        let host = &url[Position::BeforeHost..Position::AfterPort];
        let found = self.resolver.resolve(host).await.map_err(|error| match error {
            ResolveError::Refused => format!("{host} is at a private address; --allow-private allows that"),
            _ => format!("{host} has no address: {error}"),
        })?;
        if !found.local && !self.contact {
            return Err("public addresses need a contact (--contact, or `contact` in the settings)".into());
        }
        let mut request = Request::new(url, found.address);
        request.validators = before;
        request.max_body = Some(MAX_BYTES as u64);
        self.fetcher.fetch(request).await.map_err(|error| format!("{url}: {error}"))
    }
}

/// An address that can be asked.
fn address(location: &str) -> Result<Url, String> {
    let url = Url::parse(location).map_err(|error| format!("`{location}` is no URL: {error}"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(format!("`{location}` is not on the web: give http:// or https://, or a file")),
    }
}
