//! The passage of a page that shows best why it was found.
//!
//! The text is analysed as it was when it was indexed, in the page's language; what is shown is the text itself.

use crate::plan::tokens;
use crate::query::{Atom, Occur, Query};
use crate::searcher::Searcher;
use anthill_words::{Language, Splitter, Stems, ceil, floor};
use std::ops::Range;

/// Bytes of text in a snippet, before escaping and marks.
pub const SNIPPET_BYTES: usize = 280;
/// Bytes of a text that are looked through for a passage.
const MAX_SCAN_BYTES: usize = 512 << 10;
/// Places of words of the query that are compared.
const MAX_MATCHES: usize = 4096;
/// Words of the query that are looked for.
const MAX_SOUGHT: usize = 64;
/// Text shown before the first match, at least, if there is any.
const LEAD_BYTES: usize = 60;

/// A word of the query, as typed (folded) and how.
#[derive(Clone, Debug)]
struct Sought {
    word: String,
    stemmable: bool,
    /// It was typed outside quotes, and counts wherever it is.
    alone: bool,
}

/// Makes snippets for one query.
pub struct Snippets {
    sought: Vec<Sought>,
    /// Places in `sought`.
    phrases: Vec<Vec<usize>>,
    stemming: bool,
    stems: Stems,
}

/// A place where the text has a word of the query.
struct Match {
    range: Range<usize>,
    word: usize,
    /// Counted in words of the text.
    position: usize,
    in_phrase: bool,
}

impl Searcher {
    /// The best passage of `text` for a query: HTML in which matches are in `<b>` and everything else is escaped.
    /// `lang` is the page's language. For several pages make [`Snippets`] once.
    pub fn snippet(&self, query: &Query, text: &str, lang: Option<&str>) -> String {
        self.snippets(query).make(text, lang)
    }

    /// For the hits of one query.
    pub fn snippets(&self, query: &Query) -> Snippets {
        Snippets::new(query, self.core.stemming)
    }
}

impl Snippets {
    /// For a query, and an index with stemming or without.
    pub fn new(query: &Query, stemming: bool) -> Self {
        let mut this = Self { sought: Vec::new(), phrases: Vec::new(), stemming, stems: Stems::default() };
        for clause in query.clauses().iter().filter(|c| c.occur != Occur::Not) {
            for atom in &clause.any {
                let (text, alone) = match atom {
                    Atom::Word(text) | Atom::Title(text) => (text, true),
                    Atom::Phrase(text) => (text, false),
                    Atom::Site(_) | Atom::Host(_) | Atom::Lang(_) | Atom::Url(_) => continue,
                };
                let places: Vec<usize> = tokens(text, MAX_SOUGHT)
                    .into_iter()
                    .filter_map(|(w, s)| this.seek(w, s, alone))
                    .collect();
                if places.len() > 1 {
                    this.phrases.push(places);
                } else if let [one] = places.as_slice() {
                    this.sought[*one].alone = true;
                }
            }
        }
        this
    }

    fn seek(&mut self, word: String, stemmable: bool, alone: bool) -> Option<usize> {
        if let Some(i) = self.sought.iter().position(|s| s.word == word) {
            self.sought[i].alone |= alone;
            return Some(i);
        }
        if self.sought.len() == MAX_SOUGHT {
            return None;
        }
        self.sought.push(Sought { word, stemmable, alone });
        Some(self.sought.len() - 1)
    }

    /// The best passage of a text in a language.
    pub fn make(&mut self, text: &str, lang: Option<&str>) -> String {
        let text = &text[..floor(text, MAX_SCAN_BYTES)];
        let (mut matches, phrases) =
            self.matches(text, lang.filter(|_| self.stemming).and_then(Language::of));
        self.mark_phrases(&mut matches, &phrases);
        let best = best(&matches, self.sought.len());
        let shown = passage(text, best.map(|r| matches[r.start].range.start..matches[r.end - 1].range.end));
        render(text, shown, &matches)
    }

    /// Every place where the text has a word of the query; and the phrases as words of that language.
    fn matches(&mut self, text: &str, language: Option<Language>) -> (Vec<Match>, Vec<Vec<usize>>) {
        let terms: Vec<String> = self
            .sought
            .iter()
            .map(|s| match language {
                Some(language) if s.stemmable => {
                    let mut word = s.word.clone();
                    self.stems.stem(language, &mut word);
                    word
                }
                _ => s.word.clone(),
            })
            .collect();
        // Most words of a text begin otherwise than any word sought; they need no stem.
        let mut begins = [language.is_some_and(|l| !l.keeps_first_letter()); 256];
        for byte in terms.iter().chain(self.sought.iter().map(|s| &s.word)).filter_map(|t| t.bytes().next()) {
            begins[usize::from(byte)] = true;
        }
        let mut out = Vec::new();
        let mut splitter = Splitter::new(text);
        let mut word = String::new();
        let mut position = 0;
        while let Some(range) = splitter.next(&mut word) {
            position += 1;
            if !word.bytes().next().is_some_and(|b| begins[usize::from(b)]) {
                continue;
            }
            if let Some(language) = language
                && splitter.stemmable()
            {
                self.stems.stem(language, &mut word);
            }
            if let Some(found) = terms.iter().position(|t| *t == word) {
                out.push(Match { range, word: found, position, in_phrase: false });
                if out.len() == MAX_MATCHES {
                    break;
                }
            }
        }
        // Words with one stem are one word.
        let one = |word: usize| terms.iter().position(|t| *t == terms[word]).unwrap_or(word);
        out.iter_mut().for_each(|m| m.word = one(m.word));
        let phrases = self.phrases.iter().map(|phrase| phrase.iter().map(|word| one(*word)).collect());
        (out, phrases.collect())
    }

    /// Finds phrases; words that were only asked for in phrases count only there, if the phrases are there at all.
    fn mark_phrases(&self, matches: &mut Vec<Match>, phrases: &[Vec<usize>]) {
        let mut any = false;
        for phrase in phrases {
            for start in 0..matches.len() {
                let there = matches[start..].get(..phrase.len()).is_some_and(|run| {
                    run.iter()
                        .zip(phrase)
                        .enumerate()
                        .all(|(i, (m, word))| m.word == *word && m.position == run[0].position + i)
                });
                if there {
                    any = true;
                    matches[start..start + phrase.len()].iter_mut().for_each(|m| m.in_phrase = true);
                }
            }
        }
        if any {
            matches.retain(|m| m.in_phrase || self.sought[m.word].alone);
        }
    }
}

/// The run of matches that fits in a snippet and says most: many different words, those that are rare in the text
/// first; phrases; and the earlier of equals.
fn best(matches: &[Match], words: usize) -> Option<Range<usize>> {
    let mut count = vec![0u32; words];
    for m in matches {
        count[m.word] += 1;
    }
    let weight: Vec<f32> = count.iter().map(|n| 1.0 / (1.0 + (*n as f32).ln_1p())).collect();
    let mut inside = vec![0u32; words];
    let (mut start, mut phrases, mut distinct) = (0, 0u32, 0f32);
    let mut best: Option<(f32, Range<usize>)> = None;
    for (end, m) in matches.iter().enumerate() {
        if inside[m.word] == 0 {
            distinct += weight[m.word];
        }
        inside[m.word] += 1;
        phrases += u32::from(m.in_phrase);
        while m.range.end - matches[start].range.start > SNIPPET_BYTES - LEAD_BYTES && start < end {
            let gone = &matches[start];
            inside[gone.word] -= 1;
            if inside[gone.word] == 0 {
                distinct -= weight[gone.word];
            }
            phrases -= u32::from(gone.in_phrase);
            start += 1;
        }
        let repeats = ((end + 1 - start) as f32).ln();
        let score = distinct + 0.05 * repeats + 0.5 * (phrases as f32).ln_1p();
        if best.as_ref().is_none_or(|(s, _)| score > *s + 1e-4) {
            best = Some((score, start..end + 1));
        }
    }
    best.map(|(_, range)| range)
}

/// The bytes shown: around the matches, beginning with a sentence if one begins nearby, else with a word.
fn passage(text: &str, matches: Option<Range<usize>>) -> Range<usize> {
    let matches = matches.unwrap_or(0..0);
    let earliest = ceil(text, matches.start.saturating_sub(2 * LEAD_BYTES));
    let before = &text[earliest..matches.start];
    let sentence = before
        .char_indices()
        .filter(|(_, c)| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？'))
        .filter_map(|(i, c)| {
            let after = i + c.len_utf8();
            let gap = c == '\n' || !c.is_ascii() || before[after..].starts_with(char::is_whitespace);
            (gap || after == before.len()).then_some(after)
        })
        .next_back();
    let start = match sentence {
        _ if earliest == 0 => 0,
        Some(at) => earliest + at,
        None => {
            let near = ceil(text, matches.start.saturating_sub(LEAD_BYTES));
            let word = text[near..matches.start].find(char::is_whitespace);
            word.map_or(near, |at| near + at)
        }
    };
    let start = start + (text[start..].len() - text[start..].trim_start().len());
    let start = start.min(matches.start.max(start.min(matches.start)));
    let limit = floor(text, (start + SNIPPET_BYTES).max(matches.end.min(start + 2 * SNIPPET_BYTES)));
    let end = if limit == text.len() {
        limit
    } else {
        let tail = &text[start..limit];
        // Not inside a word, unless that would leave little (as in scripts without spaces).
        tail.rfind(char::is_whitespace).filter(|at| *at > tail.len() / 2).map_or(limit, |at| start + at)
    };
    start..end.max(start)
}

/// Escapes a passage and marks the matches in it.
fn render(text: &str, shown: Range<usize>, matches: &[Match]) -> String {
    let mut out = String::with_capacity(shown.len() + 64);
    if shown.start > 0 {
        out.push_str("… ");
    }
    let mut at = shown.start;
    let mut bold: Option<usize> = None;
    for m in matches.iter().filter(|m| m.range.start >= shown.start && m.range.end <= shown.end) {
        match bold {
            // Pairs of characters overlap.
            Some(end) if m.range.start <= end => {
                if m.range.end > at {
                    escape(&text[at..m.range.end], &mut out);
                    at = m.range.end;
                }
            }
            _ => {
                if bold.is_some() {
                    out.push_str("</b>");
                }
                escape(&text[at..m.range.start], &mut out);
                out.push_str("<b>");
                escape(&text[m.range.clone()], &mut out);
                at = m.range.end;
            }
        }
        bold = Some(at);
    }
    if bold.is_some() {
        out.push_str("</b>");
    }
    escape(text[at..shown.end].trim_end(), &mut out);
    if !text[shown.end..].trim_start().is_empty() {
        out.push_str(" …");
    }
    out
}

/// Escapes for HTML; runs of white space and control characters become one space.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_whitespace() || c.is_control() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn snippet(query: &str, text: &str, lang: &str) -> String {
        Snippets::new(&Query::parse(query), true).make(text, Some(lang))
    }

    #[test]
    fn folded_and_stemmed_words_are_marked_as_they_stand() {
        assert_eq!(
            snippet("mas cancion", "Hay más <i>canciones</i>.", "es"),
            "Hay <b>más</b> &lt;i&gt;<b>canciones</b>&lt;/i&gt;."
        );
    }

    #[test]
    fn the_best_passage_is_shown() {
        let text = format!(
            "{} Ants crawl the web. {}",
            "Ants sleep here. ".repeat(60),
            "More text follows. ".repeat(60)
        );
        let shown = snippet("ants web", &text, "en");
        assert!(shown.contains("<b>Ants</b> crawl the <b>web</b>."), "{shown}");
        assert!(shown.starts_with("… ") && shown.ends_with(" …"), "{shown}");
    }

    #[test]
    fn words_of_a_phrase_are_marked_only_in_the_phrase() {
        let shown = snippet("\"to be\"", "To sleep, to be or not to be, be quiet.", "en");
        assert_eq!(shown, "To sleep, <b>to</b> <b>be</b> or not <b>to</b> <b>be</b>, be quiet.");
    }

    #[test]
    fn pages_in_other_languages_before_change_nothing() {
        let mut snippets = Snippets::new(&Query::parse("wall \"walls walk\""), true);
        let text = "walls and walls walk";
        let mut make = |lang| snippets.make(text, lang);
        let [plain, english, again] = [None, Some("en"), None].map(&mut make);
        assert_eq!(plain, "walls and <b>walls</b> <b>walk</b>");
        assert_eq!(english, "<b>walls</b> and <b>walls</b> <b>walk</b>");
        assert_eq!(again, plain);
    }

    #[test]
    fn pairs_of_characters_are_marked_as_one() {
        assert_eq!(snippet("東京都", "私は東京都に住む。", "ja"), "私は<b>東京都</b>に住む。");
    }

    #[test]
    fn without_a_match_the_beginning_is_shown() {
        let text = "word ".repeat(200);
        let shown = snippet("other", &text, "en");
        assert!(shown.starts_with("word word") && shown.ends_with(" …"));
        assert_eq!(snippet("x", "", "en"), "");
    }

    #[test]
    fn what_must_not_be_there_is_not_marked() {
        assert_eq!(snippet("a -b", "a b", "en"), "<b>a</b> b");
    }

    proptest! {
        #[test]
        fn any_text_gives_a_bounded_snippet_with_only_bold_marks(
            text in "[a-dé東京<>&\"' .\n]{0,900}|\\PC{0,300}", query in "[a-dé東京\" +-]{0,20}", lang in "en|es|ar|ja"
        ) {
            let shown = snippet(&query, &text, &lang);
            prop_assert!(shown.len() <= SNIPPET_BYTES * 2 * 6 + 7 * 2 * SNIPPET_BYTES);
            let bare = shown.replace("<b>", "").replace("</b>", "");
            prop_assert!(!bare.contains(['<', '>', '"', '\'']));
            prop_assert_eq!(shown.matches("<b>").count(), shown.matches("</b>").count());
        }
    }
}
