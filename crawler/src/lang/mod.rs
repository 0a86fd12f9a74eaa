//! In which language is this text?
//!
//! Trigrams and alphabets (crate whatlang, 69 languages) on about 400 characters of running text taken from four
//! places of the text: so a menu at its top does not decide, and a text of several languages gives an unsure answer.
//! Only then, or if the places are plainly of different ones, are paragraphs told one by one. No answer is better than a
//! wrong one: stemming and `lang:` rest on it.

mod codes;
mod common;
mod sample;

use codes::code;
pub use codes::is_known;
use common::Told;
use sample::{paragraphs, sample};
use std::collections::BTreeSet;

/// What [`detect`] found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Detection {
    /// ISO 639-1, else 639-3; none where it would be a guess.
    pub lang: Option<&'static str>,
    /// 0 to 1; of the answer, or of the best guess if there is none.
    pub confidence: f64,
    /// Share of the text per language, the largest first; empty if there is no answer. One language is
    /// named with share 1 unless the text seemed mixed.
    pub langs: Vec<(&'static str, f32)>,
    /// Languages of which there is surely a paragraph of some length, of a text that seemed mixed; in order.
    pub passages: Vec<&'static str>,
}

/// Characters of the first sample: 98.8 % right on paragraphs of 250, and the cost grows with it.
const SAMPLE: usize = 400;
/// Characters of the second, where the first leaves doubt.
const LARGE_SAMPLE: usize = 1_600;
/// Letters below which there is no answer: at 60 one in twelve would be wrong, below it soon one in four.
const MIN_LETTERS: usize = 40;
/// The same for scripts that write a word in one or two characters.
const MIN_LETTERS_DENSE: usize = 12;
/// From here on in Unicode (Thai, then Indochinese scripts, kana, Han, Hangul) scripts are dense.
const FIRST_DENSE: char = '\u{0e00}';
/// Latin letters that say as much as one character of a dense script.
const DENSITY: usize = 3;
/// Confidence from which an answer stands.
const SURE: f64 = 0.9;
/// Confidence below which a larger sample would say no more: the text is mixed, or of no language.
const HOPELESS: f64 = 0.3;
/// Confidence from which the language of one paragraph counts.
const PARAGRAPH_SURE: f64 = 0.5;
/// Paragraphs that are told one by one, spread over the text.
const MAX_PARAGRAPHS: usize = 24;
/// Every so many of them are told first. If most of those say nothing, the text is of no language (a table, a listing,
/// noise), and the others would cost much to say the same.
const FIRST_LOOK: usize = 4;
/// Characters of each.
const PARAGRAPH: usize = 200;
/// Characters from which a paragraph is a passage in its language and no quotation.
const PASSAGE: usize = 100;
/// Share of the paragraphs' text that a language must have to be the page's.
const MAJORITY: f32 = 0.5;
/// Share under which a language is taken for an error or a quotation.
const MIN_SHARE: f32 = 0.05;

/// The language of a text; blocks are expected on lines of their own.
pub fn detect(text: &str) -> Detection {
    let piece = sample(text, SAMPLE);
    let told = common::tell(&piece);
    if let Told::Plain(lang) = told {
        return single((lang, 1.0));
    }
    let first = guess(&piece);
    if told == Told::Mixed {
        // However sure the models are of the whole.
        return of_paragraphs(text, first);
    }
    if let Some(sure) = first.filter(|(_, c)| *c >= SURE) {
        return single(sure);
    }
    let hopeless = first.is_some_and(|(_, c)| c < HOPELESS);
    let second = if text.len() > SAMPLE && !hopeless { guess(&sample(text, LARGE_SAMPLE)) } else { first };
    if let Some(sure) = second.filter(|(_, c)| *c >= SURE) {
        return single(sure);
    }
    of_paragraphs(text, second.or(first))
}

/// The language of most of a text's paragraphs; `best` is what was guessed of it as a whole.
fn of_paragraphs(text: &str, best: Option<(&'static str, f64)>) -> Detection {
    let (langs, passages) = shares(text);
    let confidence = best.map_or(0.0, |(_, c)| c);
    let (lang, confidence) = match langs.first() {
        Some(&(lang, share)) if share >= MAJORITY => (Some(lang), confidence.max(f64::from(share)).min(1.0)),
        _ => (None, confidence),
    };
    Detection { lang, confidence, langs, passages }
}

fn single((lang, confidence): (&'static str, f64)) -> Detection {
    Detection { lang: Some(lang), confidence, langs: vec![(lang, 1.0)], passages: Vec::new() }
}

/// The best guess for a piece of text, if it has letters enough.
fn guess(piece: &str) -> Option<(&'static str, f64)> {
    let (mut letters, mut dense) = (0, 0);
    for c in piece.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        dense += usize::from(c >= FIRST_DENSE);
    }
    if letters < MIN_LETTERS && dense < MIN_LETTERS_DENSE {
        return None;
    }
    let info = if dense >= MIN_LETTERS_DENSE && dense * DENSITY >= letters - dense {
        // Names and terms in Latin letters outnumber the characters of a Japanese text about computers.
        whatlang::detect(&piece.chars().filter(|c| !c.is_ascii_alphabetic()).collect::<String>())?
    } else {
        whatlang::detect(piece)?
    };
    Some((code(info.lang()), info.confidence()))
}

/// Languages of the paragraphs by their share of the text, the largest first; and those of which there is a passage.
fn shares(text: &str) -> (Vec<(&'static str, f32)>, Vec<&'static str>) {
    let mut found: Vec<(&'static str, f32)> = Vec::new();
    let mut passages = BTreeSet::new();
    let mut total = 0.0;
    let paragraphs: Vec<&str> = paragraphs(text, MAX_PARAGRAPHS).collect();
    for offset in 0..FIRST_LOOK {
        let (mut told, mut sure) = (0, 0);
        for paragraph in paragraphs.iter().skip(offset).step_by(FIRST_LOOK) {
            told += 1;
            let end = paragraph.char_indices().nth(PARAGRAPH).map_or(paragraph.len(), |(at, _)| at);
            let Some((lang, confidence)) = guess(&paragraph[..end]).filter(|(_, c)| *c >= PARAGRAPH_SURE)
            else {
                continue;
            };
            sure += 1;
            let length = paragraph.chars().count();
            if confidence >= SURE && length >= PASSAGE {
                passages.insert(lang);
            }
            let weight = length as f32;
            total += weight;
            match found.iter_mut().find(|(l, _)| *l == lang) {
                Some((_, sum)) => *sum += weight,
                None => found.push((lang, weight)),
            }
        }
        if offset == 0 && told > 2 && sure * 2 < told {
            return (Vec::new(), Vec::new());
        }
    }
    found.iter_mut().for_each(|(_, weight)| *weight /= total);
    found.retain(|(_, share)| *share >= MIN_SHARE);
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    (found, passages.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENGLISH: &str = "The library reads the whole file into memory before it begins to look for words, \
        which is why very large files should be split into smaller parts by whoever prepares them.";
    const GERMAN: &str = "Die Bibliothek liest die ganze Datei in den Speicher, bevor sie nach Wörtern sucht; \
        deshalb sollten sehr große Dateien vorher in kleinere Teile zerlegt werden.";
    const SPANISH: &str = "La biblioteca lee todo el archivo en la memoria antes de empezar a buscar palabras, \
        por lo que los archivos muy grandes deberían dividirse en partes más pequeñas.";
    const JAPANESE: &str = "図書館はファイル全体をメモリに読み込んでから単語を探し始めます。";
    const CHINESE: &str = "图书馆在开始查找单词之前会将整个文件读入内存因此应将大文件拆分成小部分";
    const RUSSIAN: &str = "Библиотека читает весь файл в память, прежде чем начинает искать слова, поэтому очень \
        большие файлы следует разделить на части.";

    #[test]
    fn languages_are_told_by_their_two_letter_code() {
        for (text, lang) in [
            (ENGLISH, "en"),
            (GERMAN, "de"),
            (SPANISH, "es"),
            (JAPANESE, "ja"),
            (CHINESE, "zh"),
            (RUSSIAN, "ru"),
        ] {
            let found = detect(text);
            assert_eq!(found.lang, Some(lang));
            assert_eq!(found.langs.first().map(|l| l.0), Some(lang));
        }
    }

    #[test]
    fn too_little_text_has_no_language() {
        for text in
            ["", "Home", "404", "1234567890 ".repeat(50).as_str(), "Kontakt Impressum", "foo.bar(baz)"]
        {
            let found = detect(text);
            assert_eq!((found.lang, found.langs.len()), (None, 0), "{text}");
        }
    }

    #[test]
    fn a_menu_at_the_top_does_not_decide() {
        let menu = "Home\nNews\nAbout us\nContact\nProducts\nDownload\nSupport\nLog in\nSign up\n".repeat(3);
        assert_eq!(detect(&format!("{menu}{GERMAN}\n{GERMAN}")).lang, Some("de"));
    }

    #[test]
    fn noise_is_of_no_language() {
        let syllables = ["ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo"];
        let mut state = 7u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut text = String::new();
        for _ in 0..30 {
            for _ in 0..40 {
                (0..=next(3)).for_each(|_| text.push_str(syllables[next(14) as usize]));
                text.push(' ');
            }
            text.push('\n');
        }
        assert_eq!(detect(&text).lang, None, "{:?}", detect(&text));
    }

    /// Pages whose translation has gaps: three of the four places that are looked at are not translated, and most of the text is.
    #[test]
    fn a_text_is_in_the_language_of_most_of_it_also_where_most_places_are_in_another() {
        let quarter = |first: &str| format!("{first}\n{}", format!("{SPANISH}\n").repeat(5));
        let whole = [ENGLISH, ENGLISH, ENGLISH, &SPANISH[..SPANISH.len() - 20]].map(quarter).concat();
        let found = detect(&whole);
        assert_eq!(found.lang, Some("es"), "{found:?}");
        assert_eq!(found.langs.iter().map(|l| l.0).collect::<Vec<_>>(), ["es", "en"]);
        assert_eq!(found.passages, ["en", "es"]);
    }

    #[test]
    fn a_text_of_two_languages_names_both_with_their_shares() {
        let mixed = format!("{}\n{}\n", ENGLISH, SPANISH).repeat(6);
        let found = detect(&mixed);
        let mut langs: Vec<_> = found.langs.iter().map(|l| l.0).collect();
        langs.sort_unstable();
        assert_eq!(langs, ["en", "es"], "{found:?}");
        assert!(found.langs.iter().all(|l| (0.3..0.7).contains(&l.1)), "{found:?}");
        assert_eq!(found.passages, ["en", "es"]);
    }

    #[test]
    fn a_passage_of_another_language_is_found_however_small_its_share() {
        let some = format!("{}{SPANISH}\n", format!("{GERMAN}\n{ENGLISH}\n").repeat(10));
        let found = detect(&some);
        assert!(found.passages.contains(&"es"), "{found:?}");
        assert!(found.langs.iter().all(|l| l.0 != "es"), "its share is that of a quotation: {found:?}");
        let short: String = SPANISH.chars().take(PASSAGE - 10).collect();
        let found = detect(&format!("{}{short}\n", format!("{GERMAN}\n{ENGLISH}\n").repeat(10)));
        assert!(!found.passages.contains(&"es"), "{found:?}");
    }

    proptest! {
        #[test]
        fn any_text_is_told_without_panic(s in "\\PC{0,300}", n in 1usize..8) {
            let found = detect(&s.repeat(n));
            prop_assert!((0.0..=1.0).contains(&found.confidence));
            prop_assert!(found.langs.iter().map(|l| l.1).sum::<f32>() <= 1.001);
            prop_assert!(found.lang.is_none() || !found.langs.is_empty());
        }
    }
}
