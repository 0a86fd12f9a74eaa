//! The index as a folder: made, opened, checked.

use crate::error::{Error, guarded};
use crate::gauge::Gauge;
use crate::schema::{self, Fields};
use crate::scope::Scopes;
use crate::searcher::Searcher;
use crate::settings::{Ranking, Settings, Verify};
use crate::snapshot::Snapshot;
use crate::stream::{self, Analyzer};
use crate::writer::Writer;
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tantivy::schema::Schema;
use tantivy::store::Compressor;
use tantivy::tokenizer::{TextAnalyzer, TokenizerManager};
use tantivy::{IndexReader, IndexSettings, ReloadPolicy};

/// An index that is smaller than this is checked whenever it is opened, by default.
const SMALL_BYTES: u64 = 1 << 30;
/// URL and title of a page are kept in blocks of this size; each hit shown unpacks one. Of 4 kB they take a ninth less
/// room, and more than twice as long to read.
const BLOCK_BYTES: usize = 1024;
/// Unpacked blocks kept for each segment.
const CACHED_BLOCKS: usize = 64;
/// The file in which tantivy lists what belongs to the index.
const META: &str = "meta.json";

/// One shard: the pages of one peer, or of some of them. Cheap to clone.
#[derive(Clone)]
pub struct Index {
    core: Arc<Core>,
}

/// What [`Index`], [`Searcher`] and [`Writer`] share.
pub(crate) struct Core {
    pub index: tantivy::Index,
    pub fields: Fields,
    pub stemming: bool,
    pub settings: Settings,
    pub gauge: Arc<Gauge>,
    pub scopes: Scopes,
    reader: IndexReader,
    ranking: RwLock<Ranking>,
    snapshot: RwLock<Arc<Snapshot>>,
}

/// How big an index is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Stats {
    /// Documents that can be found.
    pub documents: u64,
    /// Documents that were deleted and still take room.
    pub deleted: u64,
    /// Parts that were committed and not merged yet.
    pub segments: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

impl Index {
    /// Opens the index in a folder; makes both if they are not there.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the folder holds anything but a sound index made with the same version and stemming;
    /// [`Error::Disk`] if it cannot be read or made.
    pub fn open(dir: &Path, settings: Settings) -> Result<Self, Error> {
        std::fs::create_dir_all(dir).map_err(|e| Error::Disk { why: format!("{}: {e}", dir.display()) })?;
        guarded(|| {
            let (schema, fields) = schema::build(settings.stemming);
            let index = if dir.join(META).exists() {
                tantivy::Index::open_in_dir(dir)?
            } else if holds_segments(dir)? {
                return Err(Error::damaged(format_args!("{META} is missing")));
            } else {
                builder(schema.clone()).create_in_dir(dir)?
            };
            if index.schema() != schema {
                return Err(Error::damaged("it was made by another version, or with other settings"));
            }
            let core = Core::new(index, fields, settings)?;
            let this = Self { core: Arc::new(core) };
            let check = match settings.verify {
                Verify::Always => true,
                Verify::Small => this.stats()?.bytes <= SMALL_BYTES,
                Verify::Never => false,
            };
            if check {
                this.verify()?;
            }
            this.last_seq()?;
            Ok(this)
        })
    }

    /// An empty index that is gone when dropped.
    ///
    /// # Errors
    /// None that is known.
    pub fn in_memory(settings: Settings) -> Result<Self, Error> {
        let (schema, fields) = schema::build(settings.stemming);
        let index = builder(schema).create_in_ram()?;
        Ok(Self { core: Arc::new(Core::new(index, fields, settings)?) })
    }

    /// The one writer.
    ///
    /// # Errors
    /// [`Error::Busy`] if there is another; [`Error::Disk`].
    pub fn writer(&self) -> Result<Writer, Error> {
        guarded(|| Writer::new(self.core.clone()))
    }

    /// A searcher. It sees each commit from then on.
    pub fn searcher(&self) -> Searcher {
        Searcher { core: self.core.clone() }
    }

    /// The sequence number of the last commit; none before the first.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn last_seq(&self) -> Result<Option<u64>, Error> {
        self.core.last_seq()
    }

    /// Changes how results are ranked, at once.
    pub fn set_ranking(&self, ranking: Ranking) {
        *self.core.ranking.write().unwrap_or_else(PoisonError::into_inner) = ranking.sane();
    }

    /// Lets searchers see merged segments. [`Writer::commit`] does it too; between commits it frees what merges have
    /// made superfluous.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn refresh(&self) -> Result<(), Error> {
        self.core.refresh()
    }

    /// Whether there are deleted documents that still count in frequencies, as of the last commit or
    /// [`refresh`](Self::refresh).
    pub fn has_deleted(&self) -> bool {
        self.core.snapshot().searcher.segment_readers().iter().any(|segment| segment.has_deletes())
    }

    /// Reads every file of the last commit and compares it with its checksum.
    ///
    /// # Errors
    /// [`Error::Damaged`], naming the files.
    pub fn verify(&self) -> Result<(), Error> {
        guarded(|| {
            let directory = self.core.index.directory();
            let mut bad: Vec<String> = Vec::new();
            for path in self.core.index.load_metas()?.list_segment_files() {
                use tantivy::directory::Directory;
                if directory.exists(&path).map_err(tantivy::TantivyError::from)?
                    && !directory.validate_checksum(&path).map_err(tantivy::TantivyError::from)?
                {
                    bad.push(path.display().to_string());
                }
            }
            if bad.is_empty() {
                return Ok(());
            }
            bad.sort();
            Err(Error::damaged(format_args!("wrong checksum of {}", bad.join(", "))))
        })
    }

    /// How big it is.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn stats(&self) -> Result<Stats, Error> {
        guarded(|| {
            let snapshot = self.core.snapshot();
            let searcher = &snapshot.searcher;
            Ok(Stats {
                documents: searcher.num_docs(),
                deleted: snapshot.documents - searcher.num_docs(),
                segments: searcher.segment_readers().len() as u64,
                bytes: searcher.space_usage().map_err(tantivy::TantivyError::from)?.total().get_bytes(),
            })
        })
    }
}

impl Core {
    fn new(index: tantivy::Index, fields: Fields, settings: Settings) -> Result<Self, Error> {
        let gauge = Arc::new(Gauge::default());
        let tokenizers = TokenizerManager::default();
        for (name, stemming) in [(stream::STEMMED, true), (stream::PLAIN, false)] {
            tokenizers.register(name, TextAnalyzer::from(Analyzer::new(stemming, gauge.clone())));
        }
        let mut index = index;
        index.set_tokenizers(tokenizers);
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(CACHED_BLOCKS)
            .try_into()?;
        let snapshot = Snapshot::open(reader.searcher(), &fields, None)?;
        Ok(Self {
            index,
            fields,
            stemming: settings.stemming,
            settings,
            gauge,
            scopes: Scopes::default(),
            reader,
            ranking: RwLock::new(settings.ranking.sane()),
            snapshot: RwLock::new(Arc::new(snapshot)),
        })
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn ranking(&self) -> Ranking {
        *self.ranking.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn refresh(&self) -> Result<(), Error> {
        guarded(|| {
            self.reader.reload()?;
            let snapshot = Snapshot::open(self.reader.searcher(), &self.fields, Some(&self.snapshot()))?;
            *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
            Ok(())
        })
    }

    pub(crate) fn last_seq(&self) -> Result<Option<u64>, Error> {
        let payload = guarded(|| Ok(self.index.load_metas()?.payload))?;
        payload
            .map(|p| read_payload(&p).ok_or_else(|| Error::damaged("its sequence number cannot be read")))
            .transpose()
    }
}

/// A sequence number as a commit's payload: with a checksum, as tantivy keeps none of its list of files.
pub(crate) fn payload(seq: u64) -> String {
    let digits = seq.to_string();
    let hash = blake3::hash(digits.as_bytes()).to_hex();
    format!("{digits} {}", &hash[..16])
}

fn read_payload(text: &str) -> Option<u64> {
    let seq = text.split(' ').next()?.parse().ok()?;
    (payload(seq) == text).then_some(seq)
}

fn builder(schema: Schema) -> tantivy::IndexBuilder {
    let settings = IndexSettings {
        docstore_compression: Compressor::Lz4,
        docstore_blocksize: BLOCK_BYTES,
        // The store holds URLs and titles only: a thread of its own would cost more than it saves.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    tantivy::Index::builder().schema(schema).settings(settings)
}

/// Whether a folder without a list of files holds parts of an index all the same.
fn holds_segments(dir: &Path) -> Result<bool, Error> {
    let entries = std::fs::read_dir(dir).map_err(|e| Error::Disk { why: e.to_string() })?;
    Ok(entries.flatten().any(|e| {
        e.path()
            .extension()
            .is_some_and(|x| ["idx", "store", "term", "pos", "fast", "fieldnorm"].iter().any(|s| x == *s))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_number_comes_back_and_a_changed_one_does_not() {
        for seq in [0, 7, u64::MAX] {
            assert_eq!(read_payload(&payload(seq)), Some(seq));
        }
        assert_eq!(read_payload(&payload(17).replace("17 ", "18 ")), None);
        assert_eq!(read_payload(""), None);
    }
}
