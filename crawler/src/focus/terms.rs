//! What of a text counts for its topic: its words, as the index has them, without numbers and single letters.

use anthill_protocol::map::Map;
use anthill_words::{Language, Splitter, Stems};

/// Words of a text that are looked at: the topic of a page shows long before.
pub const MAX_WORDS: usize = 20_000;

/// How often each term stands in a text.
pub type Counts = Map<Box<str>, u32>;

/// Makes terms of texts of one language; keeps the stems it has met.
#[derive(Default)]
pub struct Terms {
    language: Option<Language>,
    stems: Stems,
    word: String,
}

impl Terms {
    /// Words are reduced to their stems by this language, or left as they are.
    pub fn new(language: Option<Language>) -> Terms {
        Terms { language, ..Terms::default() }
    }

    /// The same by a language's code; words are left as they are if there is no such language.
    pub fn of_code(code: Option<&str>) -> Terms {
        Terms::new(code.and_then(Language::of))
    }

    /// Shows each term of a text, in order, [`MAX_WORDS`] at most.
    pub fn each(&mut self, text: &str, mut show: impl FnMut(&str)) {
        let mut splitter = Splitter::new(text);
        for _ in 0..MAX_WORDS {
            if splitter.next(&mut self.word).is_none() {
                return;
            }
            let is_word = self.word.chars().nth(1).is_some() && self.word.chars().any(char::is_alphabetic);
            if !is_word {
                continue;
            }
            if let Some(language) = self.language.filter(|_| splitter.stemmable()) {
                self.stems.stem(language, &mut self.word);
            }
            show(&self.word);
        }
    }

    /// The terms of a text, in order.
    pub fn all(&mut self, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        self.each(text, |term| all.push(term.to_owned()));
        all
    }

    /// Adds a text's terms to what was counted.
    pub fn count(&mut self, text: &str, counts: &mut Counts) {
        self.each(text, |term| match counts.get_mut(term) {
            Some(count) => *count += 1,
            None => {
                counts.insert(term.into(), 1);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(language: Option<&str>, text: &str) -> Vec<String> {
        Terms::new(language.and_then(Language::of)).all(text)
    }

    #[test]
    fn words_count_and_numbers_and_letters_do_not() {
        assert_eq!(
            terms(None, "A Crawler's 2 crawlers, 1984; x86 日本語"),
            ["crawler", "crawlers", "x86", "日本", "本語"]
        );
        assert_eq!(terms(Some("en"), "Crawling crawlers crawl"), ["crawl", "crawler", "crawl"]);
    }

    #[test]
    fn an_endless_text_is_looked_at_in_part() {
        assert_eq!(terms(None, &"word ".repeat(MAX_WORDS + 7)).len(), MAX_WORDS);
    }
}
