//! One term of the index: of what this peer answers for, and of the whole swarm.

use super::{Live, LivePeer};
use crate::api::{PeerError, types};
use crate::swarm::Question;
use anthill_index::Slots;
use std::cmp::Reverse;
use std::sync::Arc;

/// Postings listed, and forms.
const POSTINGS: usize = 20;

impl Live {
    /// A term in the documents of slots held here; with `whole`, in all that are here.
    pub(super) fn lexicon(&self, term: &str, whole: bool) -> Result<types::Lexicon, PeerError> {
        let slots = if whole { None } else { Some(self.served()?) };
        let entry = self.searcher.lexicon(term, POSTINGS, slots.as_deref());
        let entry = entry.map_err(|e| PeerError::Internal(e.to_string()))?;
        let documents = match &slots {
            Some(slots) => self.searcher.documents_in(slots),
            None => self.searcher.documents(),
        };
        Ok(types::Lexicon {
            term: term.to_owned(),
            forms: entry.forms.into_iter().map(|f| f.form).collect(),
            df: entry.df,
            cf: entry.cf,
            documents,
            postings: entry.postings.into_iter().map(|p| types::Posting { url: p.url, tf: p.tf }).collect(),
            peers_asked: 1,
            peers_answered: 1,
        })
    }

    /// The slots for whose documents this peer answers.
    fn served(&self) -> Result<Arc<Slots>, PeerError> {
        let served = self.ask(|mind| mind.served().collect::<Vec<_>>())?;
        let mut slots = Slots::none();
        served.iter().for_each(|slot| slots.insert(slot.number()));
        Ok(Arc::new(slots))
    }
}

impl LivePeer {
    /// A term in the documents of the whole swarm: each peer counts those of the slots it holds. While a slot is handed over its documents
    /// may be counted twice or not at all.
    pub(super) async fn lexicon_of_swarm(&self, term: String) -> Result<types::Lexicon, PeerError> {
        let asked = term.clone();
        let mut sum = self.answer(move |live| live.lexicon(&asked, false)).await?;
        let answers = self.ask_all::<types::Lexicon>(&Question::Lexicon(term)).await;
        sum.peers_asked += answers.len() as u64;
        answers.into_iter().flatten().for_each(|answer| add(&mut sum, answer));
        Ok(sum)
    }
}

/// Adds what another peer counted.
fn add(sum: &mut types::Lexicon, other: types::Lexicon) {
    sum.df = sum.df.saturating_add(other.df);
    sum.cf = sum.cf.saturating_add(other.cf);
    sum.documents = sum.documents.saturating_add(other.documents);
    sum.peers_answered += 1;
    sum.forms.extend(other.forms);
    sum.forms.sort_unstable();
    sum.forms.dedup();
    sum.forms.truncate(POSTINGS);
    sum.postings.extend(other.postings);
    sum.postings.sort_by(|a, b| (Reverse(a.tf), &a.url).cmp(&(Reverse(b.tf), &b.url)));
    sum.postings.truncate(POSTINGS);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(df: u64, form: &str, postings: &[(&str, u64)]) -> types::Lexicon {
        let postings = postings.iter().map(|(url, tf)| types::Posting { url: (*url).to_owned(), tf: *tf });
        let forms = vec![form.to_owned()];
        let postings = postings.collect();
        types::Lexicon {
            df,
            cf: 2 * df,
            documents: 10,
            forms,
            postings,
            peers_answered: 1,
            ..Default::default()
        }
    }

    #[test]
    fn what_peers_count_is_summed_and_their_best_postings_are_put_in_order() {
        let mut sum = part(2, "ant", &[("b", 3), ("a", 1)]);
        add(&mut sum, part(3, "ants", &[("c", 3), ("d", 2)]));
        assert_eq!((sum.df, sum.cf, sum.documents, sum.peers_answered), (5, 10, 20, 2));
        assert_eq!(sum.forms, ["ant", "ants"]);
        let urls: Vec<&str> = sum.postings.iter().map(|posting| posting.url.as_str()).collect();
        assert_eq!(urls, ["b", "c", "d", "a"]);
        add(&mut sum, types::Lexicon { df: u64::MAX, ..Default::default() });
        assert_eq!(sum.df, u64::MAX, "whatever others say");
    }
}
