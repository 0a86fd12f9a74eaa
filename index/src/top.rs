//! The best documents of a query, exactly: what is passed over could not have been among them.
//!
//! A window of documents at a time. The lists of titles, headings, anchors and URLs are short and are read through. Of
//! the long lists, those of all words, only as many are read as a page needs that is to be among the best (MaxScore:
//! Turtle and Flood, Query evaluation: strategies and optimizations, 1995, section 4; by windows as in Lucene's
//! MaxScoreBulkScorer); in the others a document is looked up if the rest of its score makes that worthwhile.

use crate::best::{Best, Ranked};
use crate::lists::{Lists, Source};
use crate::scope;
use crate::score::Found;
use crate::snapshot::value;
use crate::window::{SLOTS, Window};
use tantivy::query::Scorer;
use tantivy::{DocAddress, DocId, SegmentReader, TERMINATED};

/// Documents of the first window of all: it tells how good the best are before more is read.
const FIRST: DocId = 256;
/// So many documents that are allowed within a window are looked up one by one, sooner than that lists are read.
const FEW: usize = 16;

/// To look up a document in a list costs as much as to read so many of them.
const LOOK_UP: u64 = 10;

/// The search of one segment.
pub(crate) struct Sweep<'a> {
    pub source: Source<'a>,
    pub reader: &'a SegmentReader,
    /// The documents looked for; all that are not deleted, if none.
    pub bits: Option<&'a [u64]>,
    pub lists: Lists,
    pub window: &'a mut Window,
    pub best: &'a mut Best,
}

impl Sweep<'_> {
    /// Offers all documents that have any of the words; with `among`, all of these, whatever words they have.
    pub(crate) fn run(&mut self, among: Option<Box<dyn Scorer>>) -> tantivy::Result<()> {
        match among {
            Some(among) => self.run_among(among),
            None => self.run_all(),
        }
    }

    fn run_all(&mut self) -> tantivy::Result<()> {
        let mut documents = if self.best.least().is_some() { SLOTS as DocId } else { FIRST };
        let mut candidates = Vec::new();
        let model = self.source.model;
        loop {
            let mut loose = self.loose();
            let next = self.lists.others.iter().chain(&self.lists.all[loose..]).map(|list| list.doc()).min();
            let start = next.unwrap_or(TERMINATED);
            if start == TERMINATED {
                return Ok(());
            }
            let end = start.saturating_add(documents).min(TERMINATED);
            self.read(start, end, loose);
            let mut least = self.leasts(loose);
            // What would be looked up often, and mostly in vain, is better read.
            while loose > 0 && self.window.count(least[1]) * LOOK_UP > self.expected(loose - 1, end - start) {
                loose -= 1;
                self.window.add(&mut self.lists.all[loose], end, &self.source, None);
                least = self.leasts(loose);
            }
            self.window.candidates(least[1], &mut candidates);
            if self.lists.phrases.is_empty() {
                self.promising_first(&mut candidates);
            }
            for &doc in &candidates {
                let (sum, found) = self.window.at(doc);
                // The best may have become better since the candidates were chosen.
                let all_words = model.may_have_all(found.with_words(self.lists.words[loose]));
                let enough = sum >= least[usize::from(all_words)];
                if (enough || model.is_titled(found)) && self.consider(doc, sum, found, loose)? {
                    least = self.leasts(loose);
                }
            }
            documents = (documents * 2).min(SLOTS as DocId);
        }
    }

    fn run_among(&mut self, mut among: Box<dyn Scorer>) -> tantivy::Result<()> {
        let mut allowed: Vec<DocId> = Vec::new();
        while among.doc() != TERMINATED {
            let start = among.doc();
            let end = start.saturating_add(SLOTS as DocId).min(TERMINATED);
            allowed.clear();
            while among.doc() < end {
                allowed.push(among.doc());
                among.advance();
            }
            if allowed.len() <= FEW {
                for &doc in &allowed {
                    let (mut sum, mut found) = (0.0, Found::default());
                    for list in &mut self.lists.others {
                        list.add(&self.source, doc, &mut sum, &mut found);
                    }
                    self.consider(doc, sum, found, self.lists.all.len())?;
                }
                continue;
            }
            let loose = self.loose();
            self.read(start, end, loose);
            let mut least = self.least(loose, true, true);
            for &doc in &allowed {
                let (sum, found) = self.window.at(doc);
                if sum >= least && self.consider(doc, sum, found, loose)? {
                    least = self.least(loose, true, true);
                }
            }
        }
        Ok(())
    }

    /// How many of the lists of all words need not be read: with these alone, a page is not among the best.
    fn loose(&self) -> usize {
        let (lists, model) = (&self.lists, self.source.model);
        let beyond = |n: &usize| {
            let all_words = model.may_have_all(lists.words[*n]);
            let factor = model.largest_factor(self.source.segment, all_words, false);
            self.best.beyond((model.base() + lists.most[*n] + lists.most_of_phrases) as f32 * factor)
        };
        (1..lists.most.len()).take_while(beyond).count()
    }

    /// Sums below this are not among the best, when so many lists were not read: those of pages that may have all words,
    /// or whose title may be the query, only if that is said.
    fn least(&self, loose: usize, all_words: bool, title: bool) -> f64 {
        /// More than what rounding takes away.
        const SLACK: f64 = 1.0 - 1e-6;
        let (lists, model) = (&self.lists, self.source.model);
        let Some(least) = self.best.least() else { return f64::NEG_INFINITY };
        let factor = model.largest_factor(self.source.segment, all_words, title);
        f64::from(least) / f64::from(factor) * SLACK
            - model.base()
            - lists.most[loose]
            - lists.most_of_phrases
    }

    /// The same of pages that cannot have all words, and of others.
    fn leasts(&self, loose: usize) -> [f64; 2] {
        [self.least(loose, false, false), self.least(loose, true, false)]
    }

    /// While any document would be among the best: those with the largest sums first, so that they need not be driven out
    /// later. Then no list is unread, and those of phrases are none, in which documents have to be looked up in order.
    fn promising_first(&self, candidates: &mut [DocId]) {
        let room = self.best.room();
        if 0 < room && room < candidates.len() {
            candidates
                .select_nth_unstable_by(room, |a, b| self.window.at(*b).0.total_cmp(&self.window.at(*a).0));
        }
    }

    /// How many documents of one of the lists of all words are likely to be among so many.
    fn expected(&self, list: usize, documents: DocId) -> u64 {
        self.lists.all[list].documents() * u64::from(documents) / u64::from(self.reader.max_doc().max(1))
    }

    /// Reads all lists but the first `loose` of those of all words, from `start` to `end`.
    fn read(&mut self, start: DocId, end: DocId, loose: usize) {
        let Self { source, lists, window, .. } = self;
        window.open(start, end);
        let words = source.plan.words.len();
        let all_titled = source.model.titles_count()
            && lists.others.iter().filter(|list| Found::of(list.word, list.field).in_title() > 0).count()
                == words;
        for (n, list) in lists.others.iter_mut().enumerate() {
            // The titles come first: after the last of them, pages with all words there are known.
            let titled = (all_titled && n + 1 == words).then_some(words);
            window.add(list, end, source, titled);
        }
        for list in &mut lists.all[loose..] {
            window.add(list, end, source, None);
        }
    }

    /// Offers a document if it may be among the best, given what was added up and that the first `loose` lists of all
    /// words were not. Whether it was.
    fn consider(&mut self, doc: DocId, sum: f64, found: Found, loose: usize) -> tantivy::Result<bool> {
        let Self { source, reader, bits, lists, best, .. } = self;
        let Source { model, segment, ordinal, .. } = *source;
        let (mut sum, mut found) = (model.base() + sum, found);
        let links = model.link_factor(value(&segment.inlinks, doc), value(&segment.importance, doc));
        let language = model.language_asked(segment, doc);
        let title = model.title_is_query(segment, doc, found);
        let factors = [false, true].map(|all_words| model.factor(links, all_words, title, language));
        let beyond = |best: &Best, rest: f64, sum: f64, found: Found, loose: usize| {
            let all_words = model.may_have_all(found.with_words(lists.words[loose]));
            best.beyond((sum + rest) as f32 * factors[usize::from(all_words)])
        };
        let mut rest = lists.most[loose] + lists.most_of_phrases;
        let is_sought = || bits.map_or_else(|| !reader.is_deleted(doc), |bits| scope::has(bits, doc));
        if beyond(best, rest, sum, found, loose) || !is_sought() {
            return Ok(false);
        }
        for n in (0..loose).rev() {
            lists.all[n].add(source, doc, &mut sum, &mut found);
            rest = lists.most[n] + lists.most_of_phrases;
            if beyond(best, rest, sum, found, n) {
                return Ok(false);
            }
        }
        for phrase in &mut lists.phrases {
            sum += model.on_grid(model.phrase_weight() * phrase.score(doc));
        }
        let mut failed = None;
        let all_words = model.has_all(found, |word| {
            source.has(word, doc).unwrap_or_else(|e| {
                failed = Some(e);
                false
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let score = sum as f32 * factors[usize::from(all_words)];
        if best.beyond(score) {
            return Ok(false);
        }
        let address = DocAddress::new(ordinal as u32, doc);
        best.offer(Ranked { score, key: segment.key(doc), address });
        Ok(true)
    }
}
