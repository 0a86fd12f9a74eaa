//! Is this plainly English, German, French or Spanish? By the words that make up a third of any prose.
//!
//! Trigram models of 69 languages cost as much as half the parse of a page; most pages are in one of a few languages, and
//! their small words settle it. Neighbours that share those words (Dutch, Portuguese, Italian, Catalan, the Scandinavian
//! languages, …) are here only as rivals: a text that could be theirs is left to the models.

use crate::map::Map;
use std::sync::LazyLock;

/// Small words of a language, and whether it may be answered.
struct Words {
    /// Only for those that may be answered.
    code: Option<&'static str>,
    words: &'static [&'static str],
}

const LANGUAGES: [Words; 14] = [
    Words {
        code: Some("en"),
        words: &[
            "the", "of", "and", "to", "a", "in", "is", "that", "for", "it", "as", "with", "be", "this",
            "are", "on", "by", "or", "an", "not", "from", "you", "can", "if", "which", "will", "when", "at",
            "have", "has", "was",
        ],
    },
    Words {
        code: Some("de"),
        words: &[
            "der", "die", "und", "das", "ist", "von", "den", "zu", "mit", "sich", "auf", "für", "ein",
            "eine", "nicht", "des", "im", "dem", "werden", "als", "auch", "es", "an", "wird", "oder",
            "einer", "sie", "wenn", "kann", "in",
        ],
    },
    Words {
        code: Some("fr"),
        words: &[
            "le", "la", "les", "de", "des", "du", "et", "un", "une", "en", "est", "que", "qui", "dans",
            "pour", "sur", "par", "pas", "au", "avec", "ce", "il", "ne", "vous", "ou", "être", "sont",
            "cette", "plus", "aux", "à",
        ],
    },
    Words {
        code: Some("es"),
        words: &[
            "el", "la", "los", "las", "de", "del", "y", "un", "una", "en", "es", "que", "se", "para", "por",
            "con", "no", "lo", "su", "al", "como", "más", "este", "esta", "pero", "si", "o", "puede", "son",
            "ser",
        ],
    },
    // nl
    Words {
        code: None,
        words: &[
            "de", "het", "een", "van", "en", "in", "is", "dat", "op", "te", "met", "voor", "niet", "zijn",
            "aan", "er", "om", "ook", "als", "door", "bij", "die", "naar", "wordt", "of", "deze", "je",
            "kan", "uit",
        ],
    },
    // pt
    Words {
        code: None,
        words: &[
            "o", "a", "os", "as", "de", "do", "da", "dos", "das", "e", "um", "uma", "em", "no", "na", "que",
            "se", "para", "por", "com", "não", "é", "ao", "como", "mais", "ou", "este", "esta", "ser", "são",
            "pelo", "pela",
        ],
    },
    // it
    Words {
        code: None,
        words: &[
            "il", "lo", "la", "i", "gli", "le", "di", "del", "della", "dei", "e", "un", "una", "in", "che",
            "è", "per", "con", "non", "si", "da", "al", "come", "più", "questo", "questa", "sono", "nel",
            "su", "ma", "o",
        ],
    },
    // ca
    Words {
        code: None,
        words: &[
            "el", "la", "els", "les", "de", "del", "dels", "i", "un", "una", "en", "és", "que", "es", "per",
            "amb", "no", "al", "com", "més", "aquest", "aquesta", "o", "si", "són", "ser", "pot", "què", "a",
            "l", "d",
        ],
    },
    // da
    Words {
        code: None,
        words: &[
            "og", "i", "at", "det", "en", "er", "den", "til", "af", "de", "på", "som", "med", "for", "ikke",
            "der", "et", "kan", "om", "har", "han", "var", "fra", "så", "eller", "hvis", "være", "skal",
            "du", "av",
        ],
    },
    // sv
    Words {
        code: None,
        words: &[
            "och", "i", "att", "det", "en", "är", "den", "till", "av", "de", "på", "som", "med", "för",
            "inte", "ett", "kan", "om", "har", "han", "var", "från", "så", "eller", "du", "ska", "vid",
            "men",
        ],
    },
    // ro
    Words {
        code: None,
        words: &[
            "de", "la", "și", "şi", "în", "a", "o", "un", "este", "care", "cu", "pe", "din", "să", "nu",
            "pentru", "ce", "se", "al", "ale", "lui", "sau", "fi", "mai", "sunt", "prin", "ca", "au",
        ],
    },
    // af
    Words {
        code: None,
        words: &[
            "die", "van", "en", "in", "is", "het", "dat", "wat", "n", "om", "te", "nie", "met", "vir", "op",
            "aan", "word", "as", "sy", "hy", "by", "ook", "deur", "was", "kan", "ek", "hulle",
        ],
    },
    // eo
    Words {
        code: None,
        words: &[
            "la", "de", "kaj", "en", "estas", "al", "por", "ke", "ne", "mi", "vi", "li", "ili", "kun", "el",
            "sur", "per", "kiu", "kiuj", "tio", "sed", "se", "pri", "aŭ", "tiu", "ĝi", "oni",
        ],
    },
    // la
    Words {
        code: None,
        words: &[
            "et", "in", "est", "non", "ad", "ut", "cum", "qui", "quae", "quod", "de", "ex", "si", "sed",
            "ab", "per", "aut", "esse", "sunt", "nec", "hoc", "enim", "atque", "ac", "a", "eius",
        ],
    },
];

/// For each small word, the languages that have it: bit i for the i-th of [`LANGUAGES`].
static INDEX: LazyLock<Map<&'static str, u16>> = LazyLock::new(|| {
    let mut index: Map<&'static str, u16> = Map::default();
    for (i, language) in LANGUAGES.iter().enumerate() {
        for word in language.words {
            *index.entry(word).or_default() |= 1 << i;
        }
    }
    index
});

/// Words below which nothing is plain.
const MIN_WORDS: usize = 40;
/// A language's small words are at least one in so many; in prose they are one in two or three.
const ONE_IN: usize = 5;
/// And so many times those of every rival.
const LEAD: usize = 2;
/// Small words by which a line of a piece has a language of its own.
const OF_ITS_OWN: usize = 4;

/// What small words say of a piece of prose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// It is in this language.
    Plain(&'static str),
    /// Its lines are of several.
    Mixed,
    /// Models may know.
    Nothing,
}

/// How many small words of each language there are, and how many words.
fn count(line: &str) -> ([usize; LANGUAGES.len()], usize) {
    let mut hits = [0usize; LANGUAGES.len()];
    let mut words = 0;
    let mut buffer = String::new();
    for word in line.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty()) {
        words += 1;
        // The longest small word has seven bytes.
        if word.len() > 8 {
            continue;
        }
        buffer.clear();
        buffer.extend(word.chars().flat_map(char::to_lowercase));
        let languages = INDEX.get(buffer.as_str()).copied().unwrap_or_default();
        for (i, hits) in hits.iter_mut().enumerate() {
            *hits += usize::from(languages >> i & 1);
        }
    }
    (hits, words)
}

/// The language with most small words, and how many these are.
fn leader(hits: &[usize]) -> (usize, usize) {
    hits.iter().copied().enumerate().max_by_key(|(_, n)| *n).unwrap_or_default()
}

/// What small words say of a piece of prose.
pub(super) fn tell(piece: &str) -> Told {
    let lines: Vec<_> = piece.lines().map(count).collect();
    let mut hits = [0usize; LANGUAGES.len()];
    let mut words = 0;
    for (of_line, in_line) in &lines {
        words += in_line;
        hits.iter_mut().zip(of_line).for_each(|(all, hits)| *all += hits);
    }
    let (best, most) = leader(&hits);
    let plain = words >= MIN_WORDS
        && most * ONE_IN >= words
        && hits.iter().enumerate().all(|(i, n)| i == best || n * LEAD <= most);
    // Neighbours share their small words: a line is of another language if it has few of the best one.
    let is_of_another = |(of_line, in_line): &([usize; LANGUAGES.len()], usize)| {
        let (_, most) = leader(of_line);
        most >= OF_ITS_OWN && most * ONE_IN >= *in_line && of_line[best] * LEAD <= most
    };
    match LANGUAGES[best].code {
        _ if lines.iter().any(is_of_another) => Told::Mixed,
        Some(code) if plain => Told::Plain(code),
        _ => Told::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_prose_is_told() {
        let english = "It is one of the things that you can do with this if you have the time, and it will be of use             to all who are in need of it, which is not to say that it has to be done at once by you or by anyone.";
        assert_eq!(tell(english), Told::Plain("en"));
    }

    #[test]
    fn neighbours_are_left_to_the_models() {
        let dutch = "Het is een van de dingen die je met deze tijd kan doen en het zal van nut zijn voor wie het nodig             heeft, wat niet wil zeggen dat het door jou of door iemand anders op dit ogenblik moet worden gedaan met haast.";
        let catalan = "És una de les coses que es poden fer amb aquest temps i serà útil per a tots els que en tinguin             necessitat, cosa que no vol dir que s'hagi de fer de seguida ni que l'hagi de fer la gent que no ho vol pas.";
        assert_eq!(tell(dutch), Told::Nothing);
        assert_eq!(tell(catalan), Told::Nothing);
    }

    #[test]
    fn a_list_of_names_is_not_prose() {
        assert_eq!(tell(&"alpha beta gamma delta ".repeat(40)), Told::Nothing);
        assert_eq!(tell("the of and to in is"), Told::Nothing);
    }
}
