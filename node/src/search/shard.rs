//! What this peer answers to questions, its own ones too: from its index, for the slots of which its copies are whole.

use super::message::{
    Found, Gives, Hits, MAX_HITS_BYTES, MAX_PASSAGE_BYTES, Passage, Question, Reply, Wants,
};
use super::view::{View, slots_of};
use crate::store::Store;
use anthill_index::{Language, Query, Results, SearchOptions, Searcher, Snippets, Statistics};
use anthill_protocol::key::UrlId;
use anthill_protocol::plan::SlotSet;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A peer's part of the collection: index, texts, and which slots of them are whole.
pub struct Shard {
    searcher: Searcher,
    store: Arc<Store>,
    view: Arc<View>,
}

impl Shard {
    /// What this index and this store hold.
    pub fn new(searcher: Searcher, store: Arc<Store>, view: Arc<View>) -> Shard {
        Shard { searcher, store, view }
    }

    /// Answers a question. It may take a while, and reads from disk: not for a thread that others wait for.
    pub fn answer(&self, question: &Question) -> Reply {
        let mine = self.view.mine();
        let mut answer = question.ask.answer(&mine.digest, &mine.whole);
        let gives = if answer.slots.is_empty() && !matches!(question.wants, Wants::Statistics) {
            Ok(Gives::Nothing)
        } else {
            self.give(question, &answer.slots)
        };
        let gives = gives.unwrap_or_else(|error| {
            tracing::error!(%error, "the index cannot answer: another peer has to");
            answer.declined.add(&std::mem::take(&mut answer.slots));
            Gives::Nothing
        });
        Reply { answer, gives }
    }

    fn give(&self, question: &Question, slots: &SlotSet) -> Result<Gives, anthill_index::Error> {
        let query = Query::parse(&question.text);
        let mut options = SearchOptions {
            languages: question.reads.clone(),
            group: false,
            ranking: Some(question.ranking),
            analysed: Some(question.analysed.iter().filter_map(|code| Language::of(code)).collect()),
            slots: Some(slots_of(slots)),
            ..SearchOptions::default()
        };
        Ok(match &question.wants {
            Wants::Statistics if slots.is_empty() => Gives::Statistics(Statistics::default()),
            Wants::Statistics => Gives::Statistics(self.searcher.statistics(&query, &options)?),
            Wants::Hits(statistics, most) => {
                options.statistics = Some(Arc::new(statistics.clone()));
                Gives::Hits(hits(self.searcher.search(&query, *most as usize, 0, &options)?))
            }
            Wants::Passages(keys) => {
                let mut snippets = self.searcher.snippets(&query);
                let here = keys.iter().filter(|key| slots.contains(UrlId::from_bytes(**key).slot()));
                Gives::Passages(here.filter_map(|key| self.passage(&mut snippets, *key)).collect())
            }
        })
    }

    /// The best passage of a document; none if it is not here.
    fn passage(&self, snippets: &mut Snippets, key: [u8; 16]) -> Option<Passage> {
        // A text that is damaged costs its snippet, not the answer.
        let document = self.store.document(&UrlId::from_bytes(key)).unwrap_or_else(|error| {
            tracing::error!(%error, "the text of a hit cannot be read: shown without");
            None
        })?;
        let text = if document.text.is_empty() { &document.description } else { &document.text };
        let html =
            if document.nosnippet { String::new() } else { snippets.make(text, document.lang.as_deref()) };
        (html.len() <= MAX_PASSAGE_BYTES).then_some(Passage { key, html })
    }

    /// The index.
    pub(super) fn searcher(&self) -> &Searcher {
        &self.searcher
    }
}

/// As many hits as fit into a message.
fn hits(results: Results) -> Hits {
    let mut hits = Hits { total: results.total, ..Hits::default() };
    let (mut room, mut keys) = (MAX_HITS_BYTES, BTreeSet::new());
    for hit in results.hits {
        // An index that was told that a page is new when it was not has it twice until it is made anew.
        if !keys.insert(hit.key) {
            continue;
        }
        let found = Found {
            key: hit.key,
            score: hit.score,
            fingerprint: hit.fingerprint,
            digest: hit.digest,
            inlinks: hit.inlinks,
            fetched_at_s: hit.fetched_at_s,
            lang: hit.lang,
            url: hit.url,
            title: hit.title,
        };
        let Some(rest) = room.checked_sub(found.bytes()) else {
            hits.cut = true;
            break;
        };
        room = rest;
        hits.best.push(found);
    }
    hits
}
