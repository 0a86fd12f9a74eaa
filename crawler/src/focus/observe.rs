//! What pages say of how able who fetched them is: the words that weigh most, how near these are to the query, and what the links' texts have to do
//! with it (papers' P5: `a_j`, `Sim(parent_j)`, and the keywords of concepts).

use super::ability::Record;
use super::concepts::KEYWORDS;
use super::frequencies::Frequencies;
use super::semantics::{Query, heaviest};
use super::terms::{Counts, Terms};

/// Links of one page that are looked at.
pub const MAX_LINKS: usize = 256;

/// Reads pages, of one topic.
pub struct Observer {
    query: Query,
    /// Words as they stand there: WordNet has these.
    words: Terms,
    /// Their stems: the topic's concepts are of these.
    stems: Terms,
    counts: Counts,
}

impl Observer {
    /// By a query; `stems` makes terms as those of the topic are.
    pub fn new(query: Query, stems: Terms) -> Observer {
        Observer { query, words: Terms::default(), stems, counts: Counts::default() }
    }

    /// A page of this text was fetched. If it is on topic, its words and its links' texts go into the record.
    pub fn see<'a>(
        &mut self,
        text: &str,
        anchors: Option<impl Iterator<Item = &'a str>>,
        frequencies: &mut Frequencies,
        record: &mut Record,
    ) {
        self.counts.clear();
        self.words.count(text, &mut self.counts);
        frequencies.count(self.counts.keys().map(|word| &**word));
        let Some(anchors) = anchors else { return };
        let words = self.counts.iter().map(|(word, count)| (&**word, *count, frequencies.of(word)));
        let heaviest = heaviest(words, frequencies.pages(), KEYWORDS);
        let near = self.query.page(&heaviest);
        let mut keywords: Vec<String> = Vec::with_capacity(heaviest.len());
        for (word, _) in heaviest {
            self.stems.each(word, |stem| {
                if !keywords.iter().any(|known| known == stem) {
                    keywords.push(stem.to_owned());
                }
            });
        }
        record.page(keywords.iter().map(String::as_str));
        for anchor in anchors.take(MAX_LINKS) {
            record.link(self.query.anchor(anchor), near);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::focus::wordnet::Weights;

    #[test]
    fn pages_about_the_query_with_links_about_it_make_a_peer_able() {
        let language = Some("en");
        let able = |text: &str, anchor: &str| {
            let query = Query::new("ant queen", Terms::of_code(language), None, Weights::default());
            let mut observer = Observer::new(query, Terms::of_code(language));
            let mut frequencies = Frequencies::default();
            let topic = [vec!["ant", "coloni"], vec!["ant", "queen"], vec!["queen", "coloni"]];
            let mut record = Record::new(0.5, topic.into_iter());
            for n in 0..20 {
                observer.see(
                    &format!("bread of day{n} in the market"),
                    None::<std::iter::Empty<&str>>,
                    &mut frequencies,
                    &mut record,
                );
            }
            for n in 0..20 {
                observer.see(
                    &format!("{text} on day{n}"),
                    Some([anchor].into_iter()),
                    &mut frequencies,
                    &mut record,
                );
            }
            record.ability()
        };
        let ants = able("ants and their queens in colonies", "queens of ants");
        let elsewhere = able("ants and their queens in colonies", "bread");
        let bread = able("a loaf of bread for sailors", "bread");
        assert!(ants.whole > 0.3 && ants.links > elsewhere.links + 0.3, "{ants:?} {elsewhere:?}");
        assert!(elsewhere.whole > bread.whole + 0.1, "{elsewhere:?} {bread:?}");
    }
}
