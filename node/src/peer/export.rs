//! Pages and links out: WARC, its index, the link graph; streamed, so that memory does not grow with them.

use super::LivePeer;
use crate::api::{Export, PeerError, types};
use crate::store::intact::Found;
use crate::store::value::StoredPage;
use anthill_crawler::archive::{self, LinkWriter, Placed, Truncation, WarcWriter, cdxj};
use anthill_crawler::parse;
use anthill_crawler::time::Instant;
use bytes::Bytes;
use flate2::write::GzEncoder;
use futures_util::StreamExt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;

/// Pieces on their way to the receiver, at most; a slow receiver slows the reading.
const PIECES: usize = 16;
/// Bytes of a piece.
const PIECE: usize = 64 << 10;

/// Gathers pieces and sends them; an error when nobody receives any more.
struct Pipe {
    pieces: mpsc::Sender<Result<Bytes, PeerError>>,
    piece: Vec<u8>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.piece));
        self.pieces.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl LivePeer {
    pub(super) fn export_stream(&self, request: types::ExportRequest) -> Export {
        let (pieces, stream) = mpsc::channel(PIECES);
        let damaged = Arc::new(AtomicU64::new(0));
        let job = Job { peer: self.clone(), damaged: Arc::clone(&damaged) };
        tokio::task::spawn_blocking(move || {
            let pipe = Pipe { pieces: pieces.clone(), piece: Vec::new() };
            let result = match request.kind {
                types::ExportKind::Warc => job.warc(pipe, request.gzip, |_, _| Ok(())),
                types::ExportKind::Cdx => job.cdx(pipe, &request),
                types::ExportKind::Links => job.links(pipe, request.gzip),
            };
            if let Err(error) = result {
                // The receiver only sees its stream break off.
                tracing::error!(%error, "an export broke off");
                let _ = pieces.blocking_send(Err(PeerError::Internal(error.to_string())));
            }
        });
        let bytes =
            futures_util::stream::unfold(stream, |mut s| async move { s.recv().await.map(|p| (p, s)) });
        Export { bytes: bytes.boxed(), damaged }
    }
}

/// One export.
struct Job {
    peer: LivePeer,
    /// Pages left out, because they are damaged.
    damaged: Arc<AtomicU64>,
}

impl Job {
    /// All pages that can be read; the others are counted.
    fn pages(&self) -> impl Iterator<Item = anyhow::Result<StoredPage>> + use<'_> {
        self.peer.0.store.pages().filter_map(|entry| match entry {
            Ok(Found::Whole(_, page)) => Some(Ok(page)),
            Ok(Found::Damaged(id, error)) => {
                self.damaged.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(?id, %error, "an export leaves out a damaged page");
                None
            }
            Err(error) => Some(Err(error.into())),
        })
    }

    /// Writes every page; tells where each was placed.
    fn warc(
        &self,
        out: impl Write,
        gzip: bool,
        mut placed: impl FnMut(&StoredPage, Placed) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut warc = WarcWriter::new(out, gzip);
        let software = concat!("anthill/", env!("CARGO_PKG_VERSION"));
        let words =
            [("software", software), ("description", "responses after transfer and content decoding")];
        let name = if gzip { "anthill.warc.gz" } else { "anthill.warc" };
        warc.warcinfo(name, self.peer.0.clock.now(), &words)?;
        for page in self.pages() {
            let page = page?;
            if page.noarchive {
                continue;
            }
            let headers: Vec<(&str, &[u8])> =
                page.headers.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
            let at = warc.response(&archive::Response {
                id: None,
                url: &page.url,
                date: Instant(page.fetched_at_us),
                ip: page.remote.map(|r| r.ip()),
                status: page.status,
                headers: &headers,
                body: &page.body,
                truncated: page.truncated.then_some(Truncation::Length),
            })?;
            placed(&page, at)?;
        }
        warc.finish()?;
        Ok(())
    }

    /// The index of what [`Job::warc`] writes, sorted.
    fn cdx(&self, mut out: Pipe, request: &types::ExportRequest) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        self.warc(io::sink(), request.gzip, |page, at| {
            let content_type = page
                .headers
                .iter()
                .find(|(n, _)| n.eq_ignore_ascii_case("content-type"))
                .map(|(_, v)| String::from_utf8_lossy(v).into_owned());
            let entry = cdxj::Entry {
                url: &page.url,
                date: Instant(page.fetched_at_us),
                mime: content_type.as_deref().map(cdxj::mime),
                status: Some(page.status),
                digest: Some(&at.payload_digest),
                length: at.length,
                offset: at.offset,
                filename: &request.warc_name,
            };
            lines.push(entry.line());
            Ok(())
        })?;
        lines.sort_unstable();
        for line in lines {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        Ok(())
    }

    /// Every link of every page, as its page has it; read from the pages again, since only those are kept.
    fn links(&self, out: Pipe, gzip: bool) -> anyhow::Result<()> {
        if gzip {
            let mut out = GzEncoder::new(out, flate2::Compression::default());
            self.write_links(&mut out)?;
            out.finish()?.flush()?;
        } else {
            let mut out = out;
            self.write_links(&mut out)?;
            out.flush()?;
        }
        Ok(())
    }

    fn write_links(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let mut writer = LinkWriter::new(out);
        for stored in self.pages() {
            let stored = stored?;
            let Ok(url) = url::Url::parse(&stored.url) else { continue };
            let content_type = stored
                .headers
                .iter()
                .find(|(n, _)| n.eq_ignore_ascii_case("content-type"))
                .map(|(_, v)| String::from_utf8_lossy(v).into_owned());
            let input = parse::Input {
                body: &stored.body,
                url: &url,
                content_type: content_type.as_deref(),
                robots_headers: &[],
                agent: &self.peer.0.workshop.agent,
            };
            let page = parse::parse(&input, &parse::Options::default());
            for link in page.links {
                if let Ok(target) = self.peer.0.workshop.canon.of_url(link.url) {
                    writer.link(&stored.url, target.url(), &link.anchor, &link.rel)?;
                }
            }
        }
        writer.finish()?;
        Ok(())
    }
}
