//! Putting pages in, taking them out, and making it last.

use crate::document::Document;
use crate::error::{Error, guarded};
use crate::index::{Core, payload};
use crate::schema::{column, pack_code};
use crate::score::importance_steps;
use crate::searcher::Searcher;
use crate::stream;
use anthill_words::{Language, Splitter, code, floor};
use std::sync::Arc;
use std::time::Duration;
use tantivy::indexer::IndexWriterOptions;
use tantivy::merge_policy::LogMergePolicy;
use tantivy::schema::{Field, IndexRecordOption, Term};
use tantivy::{DocAddress, DocSet, IndexWriter, TERMINATED, TantivyDocument};

/// A longer URL is refused: browsers and servers stop far before.
pub const MAX_URL_BYTES: usize = 8192;
/// Text of a page that is indexed; what follows is cut.
pub const MAX_TEXT_BYTES: usize = 4 << 20;
/// A longer title is cut, as it is kept and shown.
pub const MAX_TITLE_BYTES: usize = 1024;
/// Headings, description and anchors beyond this are cut: they weigh more than text and must not become one.
pub const MAX_EXTRA_BYTES: usize = 16 << 10;
/// Languages, sites and hosts are names; what is longer is none.
const MAX_NAME_BYTES: usize = 300;

/// The smallest memory tantivy works with, per thread.
const LEAST_MEMORY: usize = 15_000_000;
/// And the largest.
const MOST_MEMORY: usize = 4_000_000_000;
/// Segments with this share of deleted documents are rewritten: they take room and distort frequencies.
const DELETED_SHARE: f32 = 0.2;
/// Documents of a segment for each second of quiet after which it is rewritten for its deleted ones, however few: about a
/// twentieth of what is rewritten in a second, so that a trickle of changes does not keep the disk busy.
const PURGED_PER_QUIET_S: u64 = 1_000;

/// Which pages [`Writer::remove_where`] looks through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Among<'a> {
    /// All.
    All,
    /// Those of a site (registrable domain).
    Site(&'a str),
    /// Those of a host.
    Host(&'a str),
}

/// Writes to an index; there is one at a time. Nothing is kept, or seen by searchers, before [`commit`](Self::commit).
/// After [`Error::Disk`] or [`Error::Stopped`] it has to be dropped and a new one made.
pub struct Writer {
    core: Arc<Core>,
    writer: IndexWriter,
    columns: [Field; column::ALL.len()],
}

impl Writer {
    pub(crate) fn new(core: Arc<Core>) -> Result<Self, Error> {
        let settings = &core.settings;
        let options = IndexWriterOptions::builder()
            .num_worker_threads(settings.writer_threads.clamp(1, 8))
            .num_merge_threads(settings.merge_threads.clamp(1, 4))
            .memory_budget_per_thread(settings.writer_memory_bytes.clamp(LEAST_MEMORY, MOST_MEMORY))
            .build();
        let writer = core.index.writer_with_options(options)?;
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(DELETED_SHARE);
        writer.set_merge_policy(Box::new(policy));
        let schema = core.index.schema();
        let mut columns = [core.fields.all; column::ALL.len()];
        for (field, name) in columns.iter_mut().zip(column::ALL) {
            *field = schema.get_field(name)?;
        }
        core.gauge.clear();
        Ok(Self { core, writer, columns })
    }

    /// Puts a page in, in place of the one with its key. Waits while much is waiting to be indexed already.
    ///
    /// # Errors
    /// [`Error::Document`] if its URL is too long; [`Error::Stopped`].
    pub fn put(&mut self, document: &Document<'_>) -> Result<(), Error> {
        if document.url.len() > MAX_URL_BYTES {
            return Err(Error::Document { why: format!("its URL is longer than {MAX_URL_BYTES} bytes") });
        }
        let (entry, bytes) = self.entry(document);
        if !document.fresh {
            self.remove(&document.key);
        }
        self.core.gauge.add(bytes);
        self.writer.add_document(entry).map_err(|e| Error::Stopped { why: e.to_string() })?;
        Ok(())
    }

    /// Takes a page out.
    pub fn remove(&mut self, key: &[u8; 16]) {
        self.writer.delete_term(Term::from_field_bytes(self.core.fields.key, key));
    }

    /// Takes out all pages of a site (registrable domain).
    pub fn remove_site(&mut self, site: &str) {
        self.writer.delete_term(Term::from_field_text(self.core.fields.site, &site.to_lowercase()));
    }

    /// Takes out all pages of a host; without a port, on every port.
    pub fn remove_host(&mut self, host: &str) {
        self.writer.delete_term(Term::from_field_text(self.core.fields.host, &host.to_lowercase()));
    }

    /// Takes out the pages whose URL `matches`, of those that were there at the last commit. Returns how many.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn remove_where(
        &mut self,
        among: &Among<'_>,
        mut matches: impl FnMut(&str) -> bool,
    ) -> Result<u64, Error> {
        let core = self.core.clone();
        let keys = guarded(|| {
            let searcher = Searcher { core: core.clone() };
            let snapshot = core.snapshot();
            let mut keys = Vec::new();
            for (ordinal, (reader, segment)) in
                (0u32..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments))
            {
                let term = match among {
                    Among::All => None,
                    Among::Site(site) => Some(Term::from_field_text(core.fields.site, &site.to_lowercase())),
                    Among::Host(host) => Some(Term::from_field_text(core.fields.host, &host.to_lowercase())),
                };
                let mut look = |doc| {
                    if !reader.is_deleted(doc) {
                        let (url, _) = searcher.shown(&snapshot, DocAddress::new(ordinal, doc))?;
                        if matches(&url) {
                            keys.push(segment.key(doc));
                        }
                    }
                    Ok::<(), Error>(())
                };
                match term {
                    None => (0..reader.max_doc()).try_for_each(look)?,
                    Some(term) => {
                        let lists = reader.inverted_index(term.field())?;
                        let postings = lists
                            .read_postings(&term, IndexRecordOption::Basic)
                            .map_err(tantivy::TantivyError::from)?;
                        let Some(mut postings) = postings else { continue };
                        while postings.doc() != TERMINATED {
                            look(postings.doc())?;
                            postings.advance();
                        }
                    }
                }
            }
            Ok(keys)
        })?;
        for key in &keys {
            self.remove(key);
        }
        Ok(keys.len() as u64)
    }

    /// Takes everything out.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn remove_all(&mut self) -> Result<(), Error> {
        self.writer.delete_all_documents().map_err(|e| Error::Stopped { why: e.to_string() })?;
        Ok(())
    }

    /// Makes what was done until now last, together with the sequence number of the last change applied, and lets
    /// searchers see it. Survives a kill from then on.
    ///
    /// # Errors
    /// [`Error::Disk`] or [`Error::Stopped`]: nothing since the last commit is kept.
    pub fn commit(&mut self, seq: u64) -> Result<(), Error> {
        let Self { core, writer, .. } = self;
        guarded(|| {
            let mut prepared = writer.prepare_commit()?;
            prepared.set_payload(&payload(seq));
            prepared.commit()?;
            Ok(())
        })?;
        core.gauge.clear();
        core.refresh()
    }

    /// Begins to rewrite segments without their deleted documents, which still count in frequencies: after it the scores are
    /// those of an index into which every page was put once. Only those that are small enough for how long it has been
    /// `quiet`. Returns how many were begun; [`Index::refresh`](crate::Index::refresh) shows what has come of it.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn purge(&mut self, quiet: Duration) -> Result<usize, Error> {
        let Self { core, writer, .. } = self;
        guarded(|| {
            let most = quiet.as_secs().saturating_mul(PURGED_PER_QUIET_S);
            let segments = core.index.searchable_segment_metas()?;
            let due = segments.iter().filter(|s| s.has_deletes() && u64::from(s.max_doc()) <= most);
            // Whether it succeeds shows in the segments; one that fails, or is being merged already, is met again.
            Ok(due.map(|segment| drop(writer.merge(&[segment.id()]))).count())
        })
    }

    /// The sequence number of the last commit; none before the first.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn last_seq(&self) -> Result<Option<u64>, Error> {
        self.core.last_seq()
    }

    /// Waits for merges that are under way, then ends. Dropping gives them up instead, which loses nothing.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::Disk`].
    pub fn close(self) -> Result<(), Error> {
        let Self { core, writer, .. } = self;
        guarded(|| Ok(writer.wait_merging_threads()?))?;
        core.refresh()
    }

    /// A page as tantivy takes it, and the bytes of its texts.
    fn entry(&self, document: &Document<'_>) -> (TantivyDocument, usize) {
        let fields = &self.core.fields;
        let lang = document.lang.and_then(code);
        let head = stream::head(lang.as_deref().and_then(Language::of));
        let title = cut(document.title, MAX_TITLE_BYTES);
        let url = document.url.split_once("://").map_or(document.url, |(_, rest)| rest);
        let mut texts = Texts { entry: TantivyDocument::new(), head: &head, bytes: 0 };
        let headings = joined(document.headings);
        let anchors = joined(document.anchors);
        let description = cut(document.description, MAX_EXTRA_BYTES);
        texts.add(fields.all, &[title, description, &anchors]);
        texts.add(fields.all, &[cut(document.text, MAX_TEXT_BYTES)]);
        texts.add(fields.title, &[title]);
        texts.add(fields.headings, &[&headings]);
        texts.add(fields.anchors, &[&anchors]);
        texts.add(fields.url, &[url]);
        let Texts { mut entry, bytes, .. } = texts;
        let words = {
            let text = count(cut(document.text, MAX_TEXT_BYTES));
            let [title, headings, anchors] = [title, &headings, &anchors].map(count);
            [title + count(description) + anchors + text, title, headings, anchors, count(url)]
        };

        let site = cut(document.site, MAX_NAME_BYTES).to_lowercase();
        let host = cut(document.host, MAX_NAME_BYTES).to_lowercase();
        entry.add_text(fields.site, site);
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        if let Some((name, _)) = name {
            entry.add_text(fields.host, name);
        }
        entry.add_text(fields.host, host);
        if let Some(lang) = &lang {
            entry.add_text(fields.lang, lang);
        }
        entry.add_bytes(fields.key, &document.key);
        entry.add_text(fields.shown_url, document.url);
        entry.add_text(fields.shown_title, title);
        let key = u128::from_be_bytes(document.key);
        let values = [
            (key >> 64) as u64,
            key as u64,
            lang.as_deref().map_or(0, pack_code),
            document.fetched_at_s,
            u64::from(document.inlinks),
            importance_steps(document.importance),
            document.fingerprint,
            document.digest,
        ];
        for (field, value) in self.columns.into_iter().zip(values.into_iter().chain(words)) {
            entry.add_u64(field, value);
        }
        (entry, bytes)
    }
}

/// Texts to be analysed, each with its head.
struct Texts<'a> {
    entry: TantivyDocument,
    head: &'a str,
    bytes: usize,
}

impl Texts<'_> {
    /// Adds parts as one text, if there is anything in them.
    fn add(&mut self, field: Field, parts: &[&str]) {
        let length: usize = parts.iter().map(|p| p.len() + 1).sum();
        if length == parts.len() {
            return;
        }
        let mut text = String::with_capacity(self.head.len() + length);
        text.push_str(self.head);
        for part in parts {
            text.push_str(part);
            text.push('\n');
        }
        self.bytes += text.len();
        self.entry.add_text(field, text);
    }
}

/// Words of a text: as many as tantivy will be given of it.
fn count(text: &str) -> u64 {
    let (mut splitter, mut word, mut n) = (Splitter::new(text), String::new(), 0);
    while splitter.next(&mut word).is_some() {
        n += 1;
    }
    n
}

/// The beginning of a text.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..floor(text, bytes)]
}

/// Lines, up to [`MAX_EXTRA_BYTES`].
fn joined(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        let room = MAX_EXTRA_BYTES - out.len();
        if room < 2 {
            break;
        }
        out.push_str(cut(line, room - 1));
        out.push('\n');
    }
    out
}
