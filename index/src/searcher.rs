//! From a query to hits.

use crate::best::{Best, Ranked};
use crate::error::{Error, guarded};
use crate::group::{Likeness, group};
use crate::index::Core;
use crate::languages::{self, MAX_LANGUAGES};
use crate::lists::{Lists, Sequence, Source};
use crate::plan::Plan;
use crate::query::Query;
use crate::results::{Also, Hit, MAX_ALSO, MAX_RESULTS, Results, SearchOptions};
use crate::schema::{pack_code, unpack_code};
use crate::scope::{self, Part, Scope};
use crate::score::Model;
use crate::settings::Ranking;
use crate::slots::Slots;
use crate::snapshot::{Snapshot, value};
use crate::stats::{K1, Provider, Statistics, idf};
use crate::terms::Terms;
use crate::top::Sweep;
use crate::window::Window;
use anthill_words::Language;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tantivy::query::{Bm25StatisticsProvider, EnableScoring, PhraseQuery, Query as TantivyQuery, Weight};
use tantivy::schema::{Term, Value};
use tantivy::{DocAddress, TantivyDocument};

/// Searches an index. Cheap to clone; usable from many threads. Always sees the last commit.
#[derive(Clone)]
pub struct Searcher {
    pub(crate) core: Arc<Core>,
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
        // Some more than are shown, as some will prove to be duplicates; more only if so many do.
        let mut depth = if options.group { wanted + wanted / 4 + 3 } else { wanted };
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
            let scope = self.scope(&snapshot, options);
            let plan = Plan::new(query, &self.languages(&snapshot, scope.as_ref(), options, &ranking));
            Ok(Terms::look_up(&snapshot, plan.terms())?.statistics(&snapshot, scope.as_ref())?)
        })
    }

    /// The terms of a query when it is analysed for these languages: those that its statistics are about.
    pub fn terms(&self, query: &Query, analysed: &[Language]) -> BTreeSet<String> {
        let analysed = if self.core.stemming { analysed } else { &[] };
        Plan::new(query, analysed).terms().map(str::to_owned).collect()
    }

    /// How results are ranked.
    pub fn ranking(&self) -> Ranking {
        self.core.ranking()
    }

    /// Documents in the index.
    pub fn documents(&self) -> u64 {
        self.core.snapshot().searcher.num_docs()
    }

    /// Documents of these slots in the index.
    pub fn documents_in(&self, slots: &Arc<Slots>) -> u64 {
        self.core.scopes.of(slots, &self.core.snapshot()).documents
    }

    fn scope(&self, snapshot: &Snapshot, options: &SearchOptions) -> Option<Scope> {
        options.slots.as_ref().map(|slots| self.core.scopes.of(slots, snapshot))
    }

    /// The languages a query is analysed for: those asked for, then those of the index, the most frequent first.
    pub(crate) fn languages(
        &self,
        snapshot: &Snapshot,
        scope: Option<&Scope>,
        options: &SearchOptions,
        ranking: &Ranking,
    ) -> Vec<Language> {
        if !self.core.stemming {
            return Vec::new();
        }
        if let Some(given) = &options.analysed {
            return given.iter().copied().take(MAX_LANGUAGES).collect();
        }
        let (asked, share) = (&options.languages, ranking.language_share);
        match scope {
            None => languages::chosen(asked, &snapshot.languages, snapshot.documents, share),
            Some(s) => languages::chosen(asked, &languages::ranked(&s.languages), s.documents, share),
        }
    }

    fn prepare(
        &self,
        snapshot: &Snapshot,
        query: &Query,
        options: &SearchOptions,
        ranking: Ranking,
    ) -> Result<Prepared, Error> {
        let scope = self.scope(snapshot, options);
        let mut plan = Plan::new(query, &self.languages(snapshot, scope.as_ref(), options, &ranking));
        let terms = Terms::look_up(snapshot, plan.terms())?;
        let statistics = match &options.statistics {
            Some(given) => given.clone(),
            None => Arc::new(terms.statistics(snapshot, scope.as_ref())?),
        };
        let codes =
            options.languages.iter().filter_map(|l| Some(pack_code(&anthill_words::code(l)?))).collect();
        let model = Model::new(&plan, &statistics, &ranking, codes);
        plan.prune(|form| terms.is_known(form));
        Ok(Prepared { plan, terms, model, statistics, scope })
    }

    fn hit(&self, snapshot: &Snapshot, ranked: &Ranked, fetch: bool) -> Result<Hit, Error> {
        let DocAddress { segment_ord, doc_id } = ranked.address;
        let segment = &snapshot.segments[segment_ord as usize];
        let (url, title) = if fetch { self.shown(snapshot, ranked.address)? } else { Default::default() };
        let value = |column| value(column, doc_id);
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
        fingerprint: value(&segment.fingerprint, ranked.address.doc_id),
        digest: value(&segment.digest, ranked.address.doc_id),
    }
}

/// A query with all its numbers.
struct Prepared {
    plan: Plan,
    terms: Terms,
    model: Model,
    statistics: Arc<Statistics>,
    /// The documents looked for; all, if none.
    scope: Option<Scope>,
}

/// A phrase that is scored, in every language searched.
struct Phrases {
    /// No page is given more than this for it.
    most: f32,
    variants: Vec<Box<dyn Weight>>,
}

impl Prepared {
    /// The best `k` documents, best first.
    fn top(&self, snapshot: &Snapshot, core: &Core, k: usize) -> Result<Vec<Ranked>, Error> {
        if k == 0 {
            return Ok(Vec::new());
        }
        let phrases = self.phrases(snapshot, core)?;
        let among = self.plan.is_constrained().then(|| self.plan.tantivy(&core.fields));
        let unscored = EnableScoring::disabled_from_searcher(&snapshot.searcher);
        let among = among.map(|query| query.weight(unscored)).transpose()?;
        let (mut best, mut window) = (Best::new(k), Window::new());
        let Self { plan, terms, model, .. } = self;
        let mut segments: Vec<_> =
            snapshot.searcher.segment_readers().iter().zip(&snapshot.segments).enumerate().collect();
        // The largest first: it tells how good the best are before the others are read.
        segments.sort_by_key(|(_, (reader, _))| Reverse(reader.max_doc()));
        for (ordinal, (reader, segment)) in segments {
            let part = self.part(ordinal);
            if part.is_some_and(|part| part.documents == 0) {
                continue;
            }
            let source = Source { plan, terms, model, segment, ordinal };
            let mut sequences = Vec::with_capacity(phrases.len());
            for Phrases { most, variants } in &phrases {
                let scorers: tantivy::Result<_> = variants.iter().map(|v| v.scorer(reader, 1.0)).collect();
                sequences.push(Sequence::new(scorers?, *most));
            }
            let lists = Lists::open(&source, sequences)?;
            let among = among.as_ref().map(|weight| weight.scorer(reader, 1.0)).transpose()?;
            let bits = part.and_then(Part::bits);
            Sweep { source, reader, bits, lists, window: &mut window, best: &mut best }.run(among)?;
        }
        Ok(best.into_sorted())
    }

    /// The documents looked for in a segment; all, if none.
    fn part(&self, ordinal: usize) -> Option<&Part> {
        self.scope.as_ref().map(|scope| scope.parts[ordinal].as_ref())
    }

    /// The phrases that are scored.
    fn phrases(&self, snapshot: &Snapshot, core: &Core) -> Result<Vec<Phrases>, Error> {
        /// More than what rounding may add.
        const SLACK: f32 = 1.0 + 1e-4;
        let mut out = Vec::with_capacity(self.plan.phrases.len());
        if self.model.phrase_weight() == 0.0 || self.plan.phrases.is_empty() {
            return Ok(out);
        }
        let provider = self.provider(core);
        let scoring = EnableScoring::enabled_from_statistics_provider(&provider, &snapshot.searcher);
        for phrase in &self.plan.phrases {
            let (mut most, mut variants) = (0f32, Vec::with_capacity(phrase.variants.len()));
            for words in &phrase.variants {
                let terms: Vec<Term> =
                    words.iter().map(|w| Term::from_field_text(core.fields.all, w)).collect();
                let mut idfs = 0.0;
                for term in &terms {
                    idfs += idf(provider.doc_freq(term)?, self.statistics.documents);
                }
                most = most.max(idfs * (1.0 + K1));
                variants.push(PhraseQuery::new(terms).weight(scoring)?);
            }
            out.push(Phrases { most: most * self.model.phrase_weight() * SLACK, variants });
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
        let query = self.plan.tantivy(&core.fields);
        let weight = query.weight(EnableScoring::disabled_from_searcher(&snapshot.searcher))?;
        let mut n = 0;
        for (ordinal, reader) in snapshot.searcher.segment_readers().iter().enumerate() {
            match self.part(ordinal).and_then(Part::bits) {
                None => n += u64::from(weight.count(reader)?),
                Some(bits) => weight.for_each_no_score(reader, &mut |docs| {
                    n += docs.iter().map(|doc| u64::from(scope::has(bits, *doc))).sum::<u64>();
                })?,
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
#[path = "searcher_tests.rs"]
mod tests;
