//! Reads pages and links for what crawls prefer: how relevant a page is, and what a link says of its target.

use super::bayes::{Classifier, Model};
use super::cosine::{Cosine, Rarities};
use super::layers::Sketch;
use super::predict::{CERTAIN, Clues, Context, thousandths, words};
use super::terms::Terms;
use crate::frontier::rules::path_of;
use percent_encoding::percent_decode_str;
use std::sync::Arc;

/// What of a page counts for its topic: its title and its text.
pub fn text_of(title: &str, text: &str) -> String {
    [title, text].join("\n")
}

/// What a text says where there is no model to judge it, or no text.
pub const NOTHING_SAID: u16 = CERTAIN / 2;

/// What crawls are about.
#[derive(Clone, Debug)]
pub enum About {
    /// Everything, in some languages.
    Languages,
    /// What examples show, from which a model was made.
    Examples(Arc<Model>),
    /// Some words.
    Words(Arc<str>),
}

impl About {
    /// Whether texts are judged.
    pub fn is_a_topic(&self) -> bool {
        !matches!(self, About::Languages)
    }

    /// The model, if there is one.
    pub fn model(&self) -> Option<&Arc<Model>> {
        if let About::Examples(model) = self { Some(model) } else { None }
    }
}

/// What judges texts.
enum Judge {
    Nobody,
    Examples(Box<Classifier>),
    Words(Cosine),
}

/// A topic at work; each thread has its own. Without a topic every page is relevant whose language is right.
pub struct Reader {
    judge: Judge,
    /// Words of links are not reduced to their stems: URLs of a page of another language may be of any.
    terms: Terms,
}

impl Reader {
    /// Puts a topic to work. Where it is some words these weigh what `rarities` say, in which pages are counted.
    pub fn new(about: &About, rarities: Arc<Rarities>) -> Reader {
        let judge = match about {
            About::Languages => Judge::Nobody,
            About::Examples(model) => Judge::Examples(Box::new(Classifier::new(Model::clone(model)))),
            About::Words(words) => Judge::Words(Cosine::new(words, rarities)),
        };
        Reader { judge, terms: Terms::default() }
    }

    /// How relevant a page of this text ([`text_of`]) is, in thousandths, and its class, if there is a model.
    pub fn page(&mut self, text: &str) -> (u16, Option<u8>) {
        match &mut self.judge {
            Judge::Nobody => (CERTAIN, None),
            Judge::Examples(classifier) => {
                let judgement = classifier.judge(text);
                (thousandths(judgement.on()), u8::try_from(judgement.best()).ok())
            }
            Judge::Words(words) => (thousandths(words.page(text)), None),
        }
    }

    fn judge(&mut self, text: &str) -> Option<u16> {
        match &mut self.judge {
            Judge::Nobody => None,
            Judge::Examples(classifier) => Some(thousandths(classifier.judge(text).on())),
            Judge::Words(words) => Some(thousandths(words.text(text))),
        }
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
        let mut reader = Reader::new(&About::Examples(Arc::new(model)), Arc::default());
        let about = |reader: &mut Reader, text: &str| reader.page(&text_of("", text)).0;
        assert!(about(&mut reader, "an ant colony has a queen and workers") > UNKNOWN);
        assert!(about(&mut reader, "bakers take bread to market at a price") < UNKNOWN);
        let classes = ["an ant colony", "bread in the market"].map(|text| reader.page(text).1);
        assert_eq!(classes, [Some(0), Some(1)]);
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
        let mut reader = Reader::new(&About::Languages, Arc::default());
        assert_eq!(reader.around("un mercado en la ciudad"), NOTHING_SAID);
        assert_eq!(reader.page("el mercado"), (CERTAIN, None));
        let clues = reader.clues(Context::default(), "español", NOTHING_SAID, "http://a.test/es/");
        assert_eq!((clues.anchor, clues.words.len()), (NOTHING_SAID, 2));
    }

    #[test]
    fn some_words_are_a_topic_too() {
        let mut reader = Reader::new(&About::Words("ant colony".into()), Arc::default());
        assert!(reader.page("An ant colony: in the colony each ant works for the colony.").0 > UNKNOWN);
        assert!(
            reader.page("Bakers take bread to market, and in the market each buys bread at a price.").0
                < UNKNOWN
        );
        let of = |reader: &mut Reader, anchor: &str| {
            reader.clues(Context::default(), anchor, NOTHING_SAID, "http://a.test/").anchor
        };
        assert!(of(&mut reader, "the colony") > UNKNOWN && of(&mut reader, "the market") < UNKNOWN);
    }
}
