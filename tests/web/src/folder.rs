//! A folder of real pages served as virtual hosts: `DIR/hosts/HOST/PATH`.

use crate::answer::{Answer, Ask, Source};
use bytes::Bytes;
use http::StatusCode;
use percent_encoding::percent_decode_str;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of files kept in memory: a whole documentation web, so that the server costs little beside the crawler. When
/// it is full further files are read from disk at each request.
const CACHE_BYTES: usize = 256 << 20;

/// Largest file served; larger ones are answered 500. Nothing that is kept as a page comes near it.
const MAX_FILE: u64 = 64 << 20;

/// What a directory is answered with, the first that exists.
const INDEXES: [&str; 2] = ["index.html", "index.en.html"];

/// A folder of real pages, answered as a plain file server would: a directory without its final slash is redirected,
/// then its index is sent; types by extension; 404 otherwise.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    latency: Duration,
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    files: HashMap<PathBuf, Page>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Page {
    body: Bytes,
    etag: String,
    modified: SystemTime,
}

/// What a path of a URL stands for.
enum Found {
    File(PathBuf),
    NeedsSlash,
    NoIndex,
    Nothing,
}

impl Folder {
    /// The folder `dir`, which must have a folder `hosts`.
    ///
    /// # Errors
    /// When `dir/hosts` is not a folder.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let root = dir.join("hosts");
        if !fs::metadata(&root)?.is_dir() {
            return Err(io::Error::other(format!("{} is not a folder", root.display())));
        }
        Ok(Self { root, latency: Duration::ZERO, cache: Mutex::default() })
    }

    /// The same, answered after so long, as by servers that are far away.
    #[must_use]
    pub fn answering_after(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// The names of its hosts, sorted.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn hosts(&self) -> io::Result<Vec<String>> {
        let mut hosts = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            if fs::metadata(entry.path()).is_ok_and(|kind| kind.is_dir()) {
                hosts.extend(entry.file_name().into_string().ok());
            }
        }
        hosts.sort();
        Ok(hosts)
    }

    /// What to tell a crawler so that it finds every host at `address`: `HOST=IP:PORT` each.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn resolve_flags(&self, address: SocketAddr) -> io::Result<Vec<String>> {
        Ok(self.hosts()?.into_iter().map(|host| format!("{host}={address}")).collect())
    }

    fn find(&self, host: &str, path: &str) -> Found {
        let Some(mut file) = self.host_root(host) else { return Found::Nothing };
        let Ok(decoded) = percent_decode_str(path).decode_utf8() else { return Found::Nothing };
        for segment in decoded.split('/').filter(|segment| !segment.is_empty() && *segment != ".") {
            if segment == ".." || segment.contains(['\0', '\\']) {
                return Found::Nothing;
            }
            file.push(segment);
        }
        match fs::metadata(&file) {
            Ok(kind) if kind.is_dir() && !decoded.ends_with('/') => Found::NeedsSlash,
            Ok(kind) if kind.is_dir() => INDEXES
                .iter()
                .map(|index| file.join(index))
                .find(|index| index.is_file())
                .map_or(Found::NoIndex, Found::File),
            Ok(kind) if kind.is_file() && !decoded.ends_with('/') => Found::File(file),
            _ => Found::Nothing,
        }
    }

    fn host_root(&self, host: &str) -> Option<PathBuf> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        let safe = !host.is_empty() && !host.starts_with('.') && host.bytes().all(plain);
        safe.then(|| self.root.join(host))
    }

    fn read(&self, file: &Path) -> io::Result<Page> {
        if let Some(page) = self.cache.lock().unwrap_or_else(PoisonError::into_inner).files.get(file) {
            return Ok(page.clone());
        }
        let about = fs::metadata(file)?;
        if about.len() > MAX_FILE {
            return Err(io::Error::other(format!("{} is larger than {MAX_FILE} bytes", file.display())));
        }
        let modified = about.modified()?;
        let seconds = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let body = Bytes::from(fs::read(file)?);
        let page = Page { etag: format!("\"{seconds:x}-{:x}\"", body.len()), body, modified };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.bytes + page.body.len() <= CACHE_BYTES {
            cache.bytes += page.body.len();
            cache.files.insert(file.to_owned(), page.clone());
        }
        Ok(page)
    }
}

impl Source for Folder {
    fn answer(&self, ask: &Ask<'_>) -> Answer {
        Answer { delay: self.latency, ..self.found(ask) }
    }
}

impl Folder {
    fn found(&self, ask: &Ask<'_>) -> Answer {
        match self.find(ask.host, ask.path) {
            Found::NeedsSlash => {
                let query = ask.query.map(|query| format!("?{query}")).unwrap_or_default();
                let location = format!("http://{}{}/{query}", ask.host, ask.path);
                Answer::redirect(StatusCode::MOVED_PERMANENTLY, &location)
            }
            Found::File(file) => match self.read(&file) {
                Ok(page) if ask.has(&page.etag, page.modified) => {
                    Answer::not_modified(&page.etag, page.modified)
                }
                Ok(page) => Answer::new(StatusCode::OK, content_type(&file), page.body)
                    .validated(&page.etag, page.modified),
                Err(_) => Answer::plain(StatusCode::INTERNAL_SERVER_ERROR, "the file cannot be read\n"),
            },
            Found::NoIndex => Answer::plain(StatusCode::FORBIDDEN, "this folder has no index\n"),
            Found::Nothing => Answer::plain(StatusCode::NOT_FOUND, "there is no such page\n"),
        }
    }
}

/// Type by extension; no charset, as real servers of documentation leave it to the page.
fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => "text/html",
        Some("css") => "text/css",
        Some("txt") => "text/plain",
        Some("xhtml") => "application/xhtml+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("hosts/a.test/index.html", "home"),
            ("hosts/a.test/docs/index.en.html", "docs"),
            ("hosts/a.test/docs/a b.txt", "spaced"),
            ("hosts/a.test/style.css", "p{}"),
            ("hosts/a.test/empty/x.bin", "x"),
            ("secret.html", "secret"),
        ] {
            let file = dir.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let folder = Folder::open(dir.path()).unwrap();
        (dir, folder)
    }

    fn get(folder: &Folder, path: &str) -> (u16, String) {
        let answer = folder.answer(&Ask { host: "a.test", path, ..Ask::default() });
        let shown = match answer.headers.iter().find(|(name, _)| *name == http::header::LOCATION) {
            Some((_, value)) => value.to_str().unwrap().to_owned(),
            None => String::from_utf8(answer.bytes().unwrap().to_vec()).unwrap(),
        };
        (answer.status.as_u16(), shown)
    }

    #[test]
    fn a_directory_is_redirected_and_then_answered_with_its_index() {
        let (_dir, folder) = folder();
        assert_eq!(get(&folder, "/docs"), (301, "http://a.test/docs/".into()));
        assert_eq!(get(&folder, "/docs/"), (200, "docs".into()));
        assert_eq!(get(&folder, "/"), (200, "home".into()));
        assert_eq!(get(&folder, "//docs//a%20b.txt"), (200, "spaced".into()));
        assert_eq!(get(&folder, "/empty/").0, 403);
        assert_eq!(get(&folder, "/nothing").0, 404);
        assert_eq!(get(&folder, "/style.css/").0, 404);
    }

    #[test]
    fn all_is_answered_after_the_latency() {
        let (_dir, folder) = folder();
        let folder = folder.answering_after(Duration::from_millis(7));
        for path in ["/", "/docs", "/nothing"] {
            let ask = Ask { host: "a.test", path, ..Ask::default() };
            assert_eq!(folder.answer(&ask).delay, Duration::from_millis(7), "{path}");
        }
    }

    #[test]
    fn types_go_by_extension() {
        for (name, expected) in [
            ("a.html", "text/html"),
            ("a.htm", "text/html"),
            ("a.txt", "text/plain"),
            ("a.xhtml", "application/xhtml+xml"),
            ("a.png", "application/octet-stream"),
            ("a", "application/octet-stream"),
        ] {
            assert_eq!(content_type(Path::new(name)), expected);
        }
    }

    #[test]
    fn a_known_copy_is_answered_304() {
        let (_dir, folder) = folder();
        let ask = Ask { host: "a.test", path: "/", ..Ask::default() };
        let first = folder.answer(&ask);
        let etag = first.headers.iter().find(|(name, _)| *name == http::header::ETAG).unwrap();
        let again = folder.answer(&Ask { if_none_match: etag.1.to_str().ok(), ..ask });
        assert_eq!((again.status.as_u16(), again.bytes().unwrap().len()), (304, 0));
    }

    #[test]
    fn nothing_outside_the_host_is_served() {
        let (_dir, folder) = folder();
        for path in ["/../../secret.html", "/%2e%2e/%2e%2e/secret.html", "/..%2f..%2fsecret.html", "/%00"] {
            assert_eq!(get(&folder, path).0, 404, "{path}");
        }
        for host in ["", "..", "../..", ".", "a.test/..", "A.TEST"] {
            let answer = folder.answer(&Ask { host, path: "/secret.html", ..Ask::default() });
            assert_eq!(answer.status.as_u16(), 404, "{host}");
        }
    }

    #[test]
    fn a_folder_without_hosts_is_refused() {
        assert!(Folder::open(tempfile::tempdir().unwrap().path()).is_err());
    }

    #[test]
    fn flags_name_every_host() {
        let (_dir, folder) = folder();
        let flags = folder.resolve_flags(([127, 0, 0, 1], 81).into()).unwrap();
        assert_eq!(flags, ["a.test=127.0.0.1:81"]);
    }

    proptest! {
        #[test]
        fn any_path_is_answered(path in "\\PC{0,60}", host in "[a-z./]{0,12}") {
            let (_dir, folder) = folder();
            let answer = folder.answer(&Ask { host: &host, path: &path, ..Ask::default() });
            prop_assert!(answer.bytes().is_none_or(|body| body.as_ref() != b"secret"));
        }
    }
}
