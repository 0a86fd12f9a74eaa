//! Archives in: pages of WARC and ARC files are kept and indexed as if they had been fetched when they were.

use super::{Live, LivePeer, PATIENCE, ending};
use crate::api::{ByteStream, PeerError, types};
use crate::store::write::Write;
use crate::worker::make::{Product, Received, Tools, first_record};
use crate::worker::write::ToWriter;
use anthill_agent::io::{Commit, IndexAction, Made};
use anthill_crawler::archive::{Limits, ReadError, Reader, Record, RecordType};
use anthill_crawler::exclusion::Scope;
use anthill_crawler::parse::{self, Kind};
use bytes::Bytes;
use futures_util::StreamExt;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Pieces of an archive waiting to be read; a slow store slows the sender.
const PIECES: usize = 16;
/// Pages on their way to the store: then it is waited for.
const AHEAD: usize = 64;
/// Defects told one by one.
const MAX_DEFECTS: usize = 100;

/// Pieces as they come, read as one file.
struct Pieces {
    inbox: mpsc::Receiver<Result<Bytes, PeerError>>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.inbox.blocking_recv() {
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => return Err(io::Error::other(error.to_string())),
                None => return Ok(0),
            }
        }
        let n = out.len().min(self.piece.len());
        out[..n].copy_from_slice(&self.piece.split_to(n));
        Ok(n)
    }
}

impl LivePeer {
    pub(super) async fn import_stream(
        &self,
        name: String,
        mut archive: ByteStream,
    ) -> Result<types::ImportReport, PeerError> {
        let (pieces, inbox) = mpsc::channel(PIECES);
        let live = Arc::clone(&self.0);
        let reading =
            tokio::task::spawn_blocking(move || live.import(name, Pieces { inbox, piece: Bytes::new() }));
        while let Some(piece) = archive.next().await {
            if pieces.send(piece).await.is_err() {
                break;
            }
        }
        drop(pieces);
        reading
            .await
            .unwrap_or_else(|_| Err(PeerError::Internal("the import broke off; the log says why".into())))
    }
}

impl Live {
    fn import(&self, name: String, archive: impl Read) -> Result<types::ImportReport, PeerError> {
        let mut report = types::ImportReport { name, ..types::ImportReport::default() };
        let mut tools = self.workshop.tools().map_err(|e| PeerError::Internal(e.to_string()))?;
        for entry in Reader::new(archive, Limits::default()) {
            match entry {
                Ok(record) => {
                    report.records += 1;
                    for defect in &record.defects {
                        tell(&mut report, record.offset, defect.to_string());
                    }
                    if self.import_record(record, &mut tools)? {
                        report.pages += 1;
                        if report.pages.is_multiple_of(AHEAD as u64) {
                            self.written()?;
                        }
                    } else {
                        report.skipped += 1;
                    }
                }
                Err(error) => {
                    if report.records == 0 && ends(&error) {
                        return Err(PeerError::Bad(format!("{}: {error}", report.name)));
                    }
                    tell(&mut report, offset(&error), error.to_string());
                }
            }
        }
        self.written()?;
        self.index_now(PATIENCE);
        Ok(report)
    }

    /// Waits until what was sent is on disk.
    pub(super) fn written(&self) -> Result<(), PeerError> {
        let (reply, answer) = crossbeam_channel::bounded(1);
        self.writer.send(ToWriter::Flush(reply)).map_err(|_| ending())?;
        answer.recv().map_err(|_| ending())
    }

    /// Keeps and indexes a record's page; whether it is one.
    fn import_record(&self, record: Record, tools: &mut Tools) -> Result<bool, PeerError> {
        let wanted = matches!(record.kind, RecordType::Response | RecordType::Resource);
        let status = record.status().unwrap_or(200);
        let kind = parse::kind(record.content_type(), &record.payload);
        let Some(canon) = record.uri.as_deref().and_then(|u| self.workshop.canon.canonical(u, None).ok())
        else {
            return Ok(false);
        };
        if !wanted || !(200..300).contains(&status) || !matches!(kind, Kind::Html | Kind::Text) {
            return Ok(false);
        }
        let exclusions = Arc::clone(&self.exclusions());
        if exclusions.forbids(Scope::Index, canon.site(), canon.host(), canon.url()).is_some() {
            return Ok(false);
        }
        let at_us = record.date.map_or_else(|| self.clock.now().0, |d| d.0);
        let received = received(record, status);
        let id = canon.url_id();
        let product = self.workshop.page(id, canon.url(), &canon.to_url(), received, at_us, tools);
        let Product { made: Made::Page(facts), page: Some(page), .. } = product else { return Ok(false) };
        let index = if facts.noindex { IndexAction::StoreOnly } else { IndexAction::Put };
        let record = Box::new(first_record(&canon, &facts, status, at_us / 1_000_000));
        let commit = Box::new(Commit { record: Some((id, record)), index, ..Commit::default() });
        self.writer.send(ToWriter::Import(Write { commit, made: Some(page) })).map_err(|_| ending())?;
        Ok(true)
    }
}

fn tell(report: &mut types::ImportReport, offset: u64, reason: String) {
    report.defects_total += 1;
    if report.defects.len() < MAX_DEFECTS {
        report.defects.push(types::Defect { offset, reason });
    }
}

/// Whether nothing can be read after it.
fn ends(error: &ReadError) -> bool {
    matches!(error, ReadError::Io { .. } | ReadError::NotAnArchive | ReadError::Compression(_))
}

fn offset(error: &ReadError) -> u64 {
    match error {
        ReadError::Io { offset, .. }
        | ReadError::Skipped { offset, .. }
        | ReadError::Damaged { offset, .. }
        | ReadError::Version { offset, .. }
        | ReadError::Header { offset, .. }
        | ReadError::Length { offset } => *offset,
        ReadError::NotAnArchive | ReadError::Compression(_) => 0,
    }
}

fn received(record: Record, status: u16) -> Received {
    let headers = match &record.http {
        Some(http) => http.fields.iter().map(|(n, v)| (n.to_owned(), v.as_bytes().to_vec())).collect(),
        None => {
            let content_type = record.fields.get("Content-Type").unwrap_or("text/html");
            vec![("content-type".to_owned(), content_type.as_bytes().to_vec())]
        }
    };
    Received {
        status,
        headers,
        truncated: record.truncated.is_some(),
        remote: record.ip.map(|ip| SocketAddr::new(ip, 0)),
        body: record.payload,
    }
}
