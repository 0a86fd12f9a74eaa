//! From a query to hits.

use crate::analysis::{self, Language};
use crate::error::{Error, guarded};
use crate::group::{Likeness, group};
use crate::index::Core;
use crate::plan::{Boost, Plan};
use crate::query::Query;
use crate::schema::{pack_code, unpack_code};
use crate::score::{Model, Scoring};
use crate::settings::Ranking;
use crate::snapshot::{Segment, Snapshot};
use crate::stats::{Provider, Statistics};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use tantivy::query::{EnableScoring, PhraseQuery, Query as TantivyQuery, Weight};
use tantivy::schema::{Term, Value};
use tantivy::{DocAddress, DocId, Score, SegmentReader, TantivyDocument};

/// Results that are ranked at most, whatever page of them is asked for: people do not read on, and each costs memory.
pub const MAX_RESULTS: usize = 10_000;
/// Other URLs listed with a hit.
const MAX_ALSO: usize = 16;
/// Languages in which a query is analysed at most; each may add a list for every word.
const MAX_LANGUAGES: usize = 8;

/// How one search differs from others.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// Codes of languages the searcher reads: pages in them are favoured, and words are analysed for them too.
    pub languages: Vec<String>,
    /// Whether duplicates are shown once.
    pub group: bool,
    /// Whether the matching pages are counted, which has to look at each of them.
    pub count: bool,
    /// Whether titles and URLs are fetched: without it, only keys and scores are.
    pub fetch: bool,
    /// Ranking other than the index's own.
    pub ranking: Option<Ranking>,
    /// Statistics other than this index's: those of all parts of a collection, for scores that are the same in each.
    pub statistics: Option<Arc<Statistics>>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { languages: Vec::new(), group: true, count: true, fetch: true, ranking: None, statistics: None }
    }
}

/// Another page that is the same as a hit.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Also {
    /// Names the page.
    pub key: [u8; 16],
    /// Its URL.
    pub url: String,
}

/// A page that matches.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Hit {
    /// Names the page.
    pub key: [u8; 16],
    /// Empty if not fetched.
    pub url: String,
    /// Empty if not fetched.
    pub title: String,
    /// Of the best page of its group.
    pub score: f32,
    /// The page's language.
    pub lang: Option<String>,
    /// Unix seconds.
    pub fetched_at_s: u64,
    /// Distinct sites that link to it.
    pub inlinks: u32,
    /// Near-duplicate fingerprint.
    pub fingerprint: u64,
    /// Hash of the body.
    pub digest: u64,
    /// Pages that are the same, the first few.
    pub also: Vec<Also>,
}

/// What a search gave.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Results {
    /// Pages that match, duplicates included; the hits' number if not counted.
    pub total: u64,
    /// Best first; equal scores by key.
    pub hits: Vec<Hit>,
    /// What of the query was ignored.
    pub notes: Vec<String>,
}

/// Searches an index. Cheap to clone; usable from many threads. Always sees the last commit.
#[derive(Clone)]
pub struct Searcher {
    pub(crate) core: Arc<Core>,
}

/// A document that may be a hit.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    score: f32,
    key: [u8; 16],
    address: DocAddress,
}

impl Ranked {
    /// Best first.
    fn order(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.key.cmp(&other.key))
            .then(self.address.cmp(&other.address))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Equal
    }
}
impl Eq for Ranked {}
impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ranked {
    /// The worst is the greatest: it is at the top of a heap.
    fn cmp(&self, other: &Self) -> Ordering {
        self.order(other)
    }
}

impl Searcher {
    /// The best pages for a query: `n` of them after the first `offset`.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the index's files cannot be read as they should.
    pub fn search(
        &self,
        query: &Query,
        n: usize,
        offset: usize,
        options: &SearchOptions,
    ) -> Result<Results, Error> {
        guarded(|| self.search_unguarded(query, n, offset, options))
    }

    fn search_unguarded(
        &self,
        query: &Query,
        n: usize,
        offset: usize,
        options: &SearchOptions,
    ) -> Result<Results, Error> {
        let snapshot = self.core.snapshot();
        let ranking = options.ranking.map_or_else(|| self.core.ranking(), Ranking::sane);
        let mut results = Results { notes: query.notes().to_vec(), ..Results::default() };
        if query.is_empty() || snapshot.documents == 0 {
            return Ok(results);
        }
        let prepared = self.prepare(&snapshot, query, options, ranking)?;
        let wanted = offset.saturating_add(n).min(MAX_RESULTS);
        // Some more than are shown, as some will prove to be duplicates.
        let mut depth = if options.group { wanted + wanted / 2 + 10 } else { wanted };
        let (ranked, groups) = loop {
            let ranked = prepared.top(&snapshot, &self.core, depth)?;
            let bits = if options.group { ranking.near_duplicate_bits } else { 0 };
            let likenesses: Vec<Likeness> =
                ranked.iter().map(|r| likeness(&snapshot, r, options.group)).collect();
            let groups = group(&likenesses, bits);
            if groups.len() >= wanted || ranked.len() < depth || depth >= MAX_RESULTS {
                break (ranked, groups);
            }
            depth = (depth * 2).min(MAX_RESULTS);
        };
        for group in groups.into_iter().take(wanted).skip(offset) {
            let mut hit = self.hit(&snapshot, &ranked[group.shown], options.fetch)?;
            hit.score = ranked[group.best].score;
            for place in group.also.iter().take(MAX_ALSO) {
                let other = &ranked[*place];
                let url = if options.fetch { self.shown(&snapshot, other.address)?.0 } else { String::new() };
                hit.also.push(Also { key: other.key, url });
            }
            results.hits.push(hit);
        }
        results.total =
            if options.count { prepared.count(&snapshot, &self.core)? } else { results.hits.len() as u64 };
        Ok(results)
    }

    /// The statistics of this index that a search for the query uses; to be added to those of other parts.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the index's files cannot be read as they should.
    pub fn statistics(&self, query: &Query, options: &SearchOptions) -> Result<Statistics, Error> {
        guarded(|| {
            let snapshot = self.core.snapshot();
            let ranking = options.ranking.map_or_else(|| self.core.ranking(), Ranking::sane);
            let plan = Plan::new(query, &self.languages(&snapshot, options, &ranking));
            Ok(Statistics::of(&snapshot, &self.core.fields, plan.terms())?)
        })
    }

    /// Documents in the index.
    pub fn documents(&self) -> u64 {
        self.core.snapshot().searcher.num_docs()
    }

    /// The languages a query is analysed for: those asked for, then those of the index, the most frequent first.
    pub(crate) fn languages(
        &self,
        snapshot: &Snapshot,
        options: &SearchOptions,
        ranking: &Ranking,
    ) -> Vec<Language> {
        if !self.core.stemming {
            return Vec::new();
        }
        let mut out: Vec<Language> = Vec::new();
        let mut present = snapshot.languages.clone();
        present.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.code().cmp(b.0.code())));
        let least = (ranking.language_share * snapshot.documents as f32) as u64;
        let asked = options.languages.iter().filter_map(|l| Language::of(l));
        for language in asked.chain(present.into_iter().filter(|(_, n)| *n >= least).map(|(l, _)| l)) {
            if out.len() < MAX_LANGUAGES && !out.contains(&language) {
                out.push(language);
            }
        }
        out
    }

    fn prepare(
        &self,
        snapshot: &Snapshot,
        query: &Query,
        options: &SearchOptions,
        ranking: Ranking,
    ) -> Result<Prepared, Error> {
        let mut plan = Plan::new(query, &self.languages(snapshot, options, &ranking));
        let local = Statistics::of(snapshot, &self.core.fields, plan.terms())?;
        let statistics = match &options.statistics {
            Some(given) => given.clone(),
            None => Arc::new(local.clone()),
        };
        let codes =
            options.languages.iter().filter_map(|l| Some(pack_code(&analysis::stem::code(l)?))).collect();
        let model = Model::new(&plan, &statistics, &ranking, codes);
        plan.prune(|form| [&local.pages, &local.urls].iter().any(|m| m.get(form).is_some_and(|n| *n > 0)));
        Ok(Prepared { plan, model, statistics })
    }

    fn hit(&self, snapshot: &Snapshot, ranked: &Ranked, fetch: bool) -> Result<Hit, Error> {
        let DocAddress { segment_ord, doc_id } = ranked.address;
        let segment = &snapshot.segments[segment_ord as usize];
        let (url, title) = if fetch { self.shown(snapshot, ranked.address)? } else { Default::default() };
        let value = |column: &tantivy::columnar::Column<u64>| column.first(doc_id).unwrap_or_default();
        Ok(Hit {
            key: ranked.key,
            url,
            title,
            score: ranked.score,
            lang: unpack_code(value(&segment.lang)),
            fetched_at_s: value(&segment.fetched),
            inlinks: u32::try_from(value(&segment.inlinks)).unwrap_or(u32::MAX),
            fingerprint: value(&segment.fingerprint),
            digest: value(&segment.digest),
            also: Vec::new(),
        })
    }

    /// URL and title of a document.
    pub(crate) fn shown(&self, snapshot: &Snapshot, address: DocAddress) -> Result<(String, String), Error> {
        let document: TantivyDocument = snapshot.searcher.doc(address)?;
        let text =
            |field| document.get_first(field).and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
        Ok((text(self.core.fields.shown_url), text(self.core.fields.shown_title)))
    }
}

fn likeness(snapshot: &Snapshot, ranked: &Ranked, group: bool) -> Likeness {
    if !group {
        return Likeness { key: ranked.key, fingerprint: 0, digest: 0 };
    }
    let segment = &snapshot.segments[ranked.address.segment_ord as usize];
    Likeness {
        key: ranked.key,
        fingerprint: segment.fingerprint.first(ranked.address.doc_id).unwrap_or_default(),
        digest: segment.digest.first(ranked.address.doc_id).unwrap_or_default(),
    }
}

/// The best so far.
struct Best {
    k: usize,
    heap: BinaryHeap<Ranked>,
}

impl Best {
    /// The least sum of words, multiplied by at most `factor`, that may still be among the best.
    fn bound(&self, factor: f32) -> Score {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.k => worst.score / factor,
            _ => Score::MIN,
        }
    }

    fn offer(&mut self, score: f32, ranked: impl FnOnce() -> Ranked) {
        if self.heap.len() < self.k {
            self.heap.push(ranked());
        } else if self.heap.peek().is_some_and(|worst| score >= worst.score) {
            self.heap.push(ranked());
            self.heap.pop();
        }
    }
}

/// A query with all its numbers.
struct Prepared {
    plan: Plan,
    model: Model,
    statistics: Arc<Statistics>,
}

impl Prepared {
    /// The best `k` documents, best first. Exact: a document is passed over only if the most it could score is less
    /// than what the worst of the best has.
    fn top(&self, snapshot: &Snapshot, core: &Core, k: usize) -> Result<Vec<Ranked>, Error> {
        /// Sums in another order differ in the last bits; what is this near to the bound is looked at.
        const SLACK: f32 = 1.0 - 1e-4;
        if k == 0 {
            return Ok(Vec::new());
        }
        let provider = self.provider(core);
        let scoring = EnableScoring::enabled_from_statistics_provider(&provider, &snapshot.searcher);
        let boost =
            Boost { word: &|word, field| self.model.weight(word, field), phrase: self.model.phrase_weight() };
        let weight = self.plan.tantivy(&core.fields, Some(&boost)).weight(scoring)?;
        let phrases = self.phrase_weights(core, scoring)?;
        let searched = core.fields.searched();
        let titles = self.plan.titles(&core.fields);
        let unscored = EnableScoring::disabled_from_searcher(&snapshot.searcher);
        let titles = titles.map(|query| query.weight(unscored)).transpose()?;
        let mut best = Best { k, heap: BinaryHeap::new() };
        for (ordinal, (reader, segment)) in
            (0u32..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments))
        {
            let scoring = || Scoring::new(&self.model, &self.plan, &phrases, &searched, segment, reader);
            let offer = |best: &mut Best, doc, score| {
                best.offer(score, || Ranked {
                    score,
                    key: segment.key(doc),
                    address: DocAddress::new(ordinal, doc),
                });
            };
            // Pages whose title is the query go first, by themselves: they are few, and what they may score beyond all
            // others would have the others looked at in vain.
            let named = self.named(titles.as_deref(), reader, segment)?;
            if !named.is_empty() {
                let mut exact = scoring()?;
                for &doc in named.iter().filter(|doc| !reader.is_deleted(**doc)) {
                    offer(&mut best, doc, exact.score(doc));
                }
            }
            let mut exact = scoring()?;
            let largest = self.model.largest_factor(segment);
            let start = best.bound(largest) * SLACK;
            let mut look = |doc: DocId, most: Score| {
                let within = most >= best.bound(self.model.largest_factor_of(segment, doc)) * SLACK;
                if within && !reader.is_deleted(doc) && named.binary_search(&doc).is_err() {
                    offer(&mut best, doc, exact.score(doc));
                }
                best.bound(largest) * SLACK
            };
            weight.for_each_pruning(start, reader, &mut look)?;
        }
        Ok(best.heap.into_sorted_vec())
    }

    /// Pages of a segment whose title is the query, in order.
    fn named(
        &self,
        titles: Option<&dyn Weight>,
        reader: &SegmentReader,
        segment: &Segment,
    ) -> Result<Vec<DocId>, Error> {
        let mut named = Vec::new();
        if let Some(titles) = titles {
            titles.for_each_no_score(reader, &mut |docs| {
                named.extend(docs.iter().filter(|&&doc| self.model.title_is_query(segment, doc)));
            })?;
        }
        Ok(named)
    }

    fn phrase_weights(
        &self,
        core: &Core,
        scoring: EnableScoring<'_>,
    ) -> Result<Vec<Vec<Box<dyn Weight>>>, Error> {
        let mut out = Vec::with_capacity(self.plan.phrases.len());
        for phrase in &self.plan.phrases {
            let mut variants = Vec::with_capacity(phrase.variants.len());
            for words in &phrase.variants {
                let terms = words.iter().map(|w| Term::from_field_text(core.fields.all, w)).collect();
                variants.push(PhraseQuery::new(terms).weight(scoring)?);
            }
            out.push(variants);
        }
        Ok(out)
    }

    fn provider<'a>(&'a self, core: &'a Core) -> Provider<'a> {
        let mut words: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (word, (pages, urls)) in self.plan.words.iter().zip(&self.model.frequencies) {
            for form in &word.forms {
                // A form of two words: the rarer one's, as what tantivy computes is an upper bound.
                let known = words.entry(form).or_insert((*pages, *urls));
                *known = (known.0.min(*pages), known.1.min(*urls));
            }
        }
        Provider { statistics: &self.statistics, fields: &core.fields, words }
    }

    /// How many documents match.
    fn count(&self, snapshot: &Snapshot, core: &Core) -> Result<u64, Error> {
        let query = self.plan.tantivy(&core.fields, None);
        let weight = query.weight(EnableScoring::disabled_from_searcher(&snapshot.searcher))?;
        let mut n = 0;
        for reader in snapshot.searcher.segment_readers() {
            n += u64::from(weight.count(reader)?);
        }
        Ok(n)
    }
}
