//! Reads pages and links for what crawls prefer: how relevant a page is, and what a link says of its target.

use super::bayes::{Classifier, Model};
use super::layers::Sketch;
use super::predict::{CERTAIN, Clues, Context, thousandths, words};
use super::terms::Terms;
use crate::frontier::rules::path_of;
use percent_encoding::percent_decode_str;

/// What of a page counts for its topic: its title and its text.
pub fn text_of(title: &str, text: &str) -> String {
    [title, text].join("\n")
}

/// What a text says where there is no model to judge it, or no text.
pub const NOTHING_SAID: u16 = CERTAIN / 2;

/// A model at work; each thread has its own. Without a model every page is relevant whose language is right.
pub struct Reader {
    classifier: Option<Classifier>,
    /// Words of links are not reduced to their stems: URLs of a page of another language may be of any.
    terms: Terms,
}

impl Reader {
    /// Puts a model to work, if there is one.
    pub fn new(model: Option<Model>) -> Reader {
        Reader { classifier: model.map(Classifier::new), terms: Terms::default() }
    }

    /// How relevant a page of this text ([`text_of`]) is, in thousandths.
    pub fn relevance(&mut self, text: &str) -> u16 {
        self.judge(text).unwrap_or(CERTAIN)
    }

    fn judge(&mut self, text: &str) -> Option<u16> {
        self.classifier.as_mut().map(|classifier| thousandths(classifier.judge(text).on()))
    }

    /// The words by which a page of this text is known again.
    pub fn sketch(&mut self, text: &str) -> Sketch {
        Sketch::of(&mut self.terms, text)
    }

    /// What the text around a link is about, in thousandths.
    pub fn around(&mut self, text: &str) -> u16 {
        if text.is_empty() { NOTHING_SAID } else { self.judge(text).unwrap_or(NOTHING_SAID) }
    }

    /// What a link says of its target, on such a page; what the text around it is about, in thousandths, see [`Reader::around`].
    pub fn clues(&mut self, from: Context, anchor: &str, around: u16, url: &str) -> Clues {
        let path = percent_decode_str(path_of(url)).decode_utf8_lossy();
        Clues {
            from,
            anchor: self.judge(anchor).unwrap_or(NOTHING_SAID),
            around,
            words: words(&mut self.terms, anchor, &path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const UNKNOWN: u16 = 500;
    use crate::focus::terms::Counts;
    use crate::focus::train::{Examples, train};

    #[test]
    fn pages_and_anchors_on_topic_are_told_from_others() {
        let mut terms = Terms::default();
        let mut texts = |text: &str| {
            let one = |n: usize| {
                let mut counts = Counts::default();
                terms.count(&format!("{text} page {}", ["one", "two", "three", "four"][n]), &mut counts);
                counts
            };
            (0..4).map(one).collect::<Vec<_>>()
        };
        let ants =
            Examples { name: "ants".into(), texts: texts("the queen of an ant colony and her workers") };
        let other = Examples {
            name: "other".into(),
            texts: texts("the price of bread in the market and its bakers"),
        };
        let model = train(&[ants, other], None, 100).unwrap();
        let mut reader = Reader::new(Some(model));
        let about = |reader: &mut Reader, text: &str| reader.relevance(&text_of("", text));
        assert!(about(&mut reader, "an ant colony has a queen and workers") > UNKNOWN);
        assert!(about(&mut reader, "bakers take bread to market at a price") < UNKNOWN);
        let of_ants = reader.around("in a nest the ant colony has");
        assert!(of_ants > UNKNOWN && reader.around("") == NOTHING_SAID, "{of_ants}");
        let page = Context { relevance: 700, ..Context::default() };
        let clues = reader.clues(page, "ant colony", 600, "http://a.test/wiki/Fire%20ant?x=1");
        assert!(
            clues.from == page && clues.anchor > reader.clues(page, "bread", 600, "http://a.test/").anchor
        );
        assert_eq!(clues.words, words(&mut Terms::default(), "ant colony", "/wiki/Fire ant?x=1"));
    }

    #[test]
    fn without_a_model_every_text_is_relevant_and_anchors_say_nothing_but_their_words() {
        let mut reader = Reader::new(None);
        assert_eq!(reader.around("un mercado en la ciudad"), NOTHING_SAID);
        assert_eq!(reader.relevance("el mercado"), CERTAIN);
        let clues = reader.clues(Context::default(), "español", NOTHING_SAID, "http://a.test/es/");
        assert_eq!((clues.anchor, clues.words.len()), (NOTHING_SAID, 2));
    }
}
