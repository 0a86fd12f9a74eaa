//! Pages and links out: WARC, its index, the link graph; streamed, so that memory does not grow with them.

use super::LivePeer;
use crate::api::{ByteStream, PeerError, types};
use crate::store::value::StoredPage;
use anthill_crawler::archive::{self, LinkWriter, Placed, Truncation, WarcWriter, cdxj};
use anthill_crawler::parse;
use anthill_crawler::time::Instant;
use bytes::Bytes;
use flate2::write::GzEncoder;
use futures_util::StreamExt;
use std::io::{self, Write};
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
    pub(super) fn export_stream(&self, request: types::ExportRequest) -> ByteStream {
        let (pieces, stream) = mpsc::channel(PIECES);
        let peer = self.clone();
        tokio::task::spawn_blocking(move || {
            let pipe = Pipe { pieces: pieces.clone(), piece: Vec::new() };
            let result = match request.kind {
                types::ExportKind::Warc => peer.warc(pipe, request.gzip, |_, _| Ok(())),
                types::ExportKind::Cdx => peer.cdx(pipe, &request),
                types::ExportKind::Links => peer.links(pipe, request.gzip),
            };
            if let Err(error) = result {
                // The receiver only sees its stream break off.
                tracing::error!(%error, "an export broke off");
                let _ = pieces.blocking_send(Err(PeerError::Internal(error.to_string())));
            }
        });
        futures_util::stream::unfold(stream, |mut s| async move { s.recv().await.map(|p| (p, s)) }).boxed()
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
        warc.warcinfo(name, self.0.clock.now(), &words)?;
        for entry in self.0.store.pages_from(&[]) {
            let (_, page) = entry?;
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

    /// The index of what [`LivePeer::warc`] writes, sorted.
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
        for entry in self.0.store.pages_from(&[]) {
            let (_, stored) = entry?;
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
                agent: &self.0.workshop.agent,
            };
            let page = parse::parse(&input, &parse::Options::default());
            for link in page.links {
                if let Ok(target) = self.0.workshop.canon.of_url(link.url) {
                    writer.link(&stored.url, target.url(), &link.anchor, &link.rel)?;
                }
            }
        }
        writer.finish()?;
        Ok(())
    }
}
