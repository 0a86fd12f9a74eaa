//! Stems by language (the Snowball algorithms, by `frostem`), with a cache: texts repeat their words.

use frostem::{Algorithm, Stemmer};

/// A language whose words can be reduced to stems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Language(&'static (&'static str, Algorithm));

/// ISO 639-1 code and algorithm.
const LANGUAGES: [(&str, Algorithm); 18] = [
    ("ar", Algorithm::Arabic),
    ("da", Algorithm::Danish),
    ("nl", Algorithm::Dutch),
    ("en", Algorithm::English),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("es", Algorithm::Spanish),
    ("sv", Algorithm::Swedish),
    ("ta", Algorithm::Tamil),
    ("tr", Algorithm::Turkish),
];
static TABLE: &[(&str, Algorithm)] = &LANGUAGES;

/// Bytes of a language's code that are kept: ISO 639-1 has two letters, 639-3 three.
const MAX_CODE_BYTES: usize = 8;

/// A language's code as it is indexed: the primary subtag in lower case, and one code for Norwegian in its two
/// written forms. None if it is not a code.
pub fn code(lang: &str) -> Option<String> {
    let primary = lang.trim().split(['-', '_']).next().unwrap_or_default();
    let fits =
        (2..=MAX_CODE_BYTES).contains(&primary.len()) && primary.bytes().all(|b| b.is_ascii_alphabetic());
    if !fits {
        return None;
    }
    let lower = primary.to_ascii_lowercase();
    Some(if matches!(lower.as_str(), "nb" | "nn") { "no".to_owned() } else { lower })
}

impl Language {
    /// The language of a code (a tag such as `pt-BR` will do), if there is a stemmer for it.
    pub fn of(lang: &str) -> Option<Self> {
        let code = code(lang)?;
        if code.len() == 3 {
            return Self::of_three(&code);
        }
        TABLE.iter().find(|(c, _)| *c == code).map(Self)
    }

    /// The language of an ISO 639-3 code, if there is a stemmer for it.
    pub fn of_three(code: &str) -> Option<Self> {
        let algorithm =
            Algorithm::from_name(if code == "nob" || code == "nno" { "nor" } else { code }).ok()?;
        TABLE.iter().find(|(_, a)| *a == algorithm).map(Self)
    }

    /// ISO 639-1.
    pub fn code(self) -> &'static str {
        self.0.0
    }

    fn ordinal(self) -> usize {
        TABLE.iter().position(|(c, _)| *c == self.0.0).unwrap_or_default()
    }

    /// The stem of a folded word.
    pub fn stem(self, word: &str) -> String {
        Stemmer::new(self.0.1).stem(word).into_owned()
    }

    /// Whether stems of this language begin as their words do, so that a word can be told apart by its first letter.
    pub fn keeps_first_letter(self) -> bool {
        !matches!(self.0.1, Algorithm::Arabic | Algorithm::Tamil)
    }
}

/// Slots of the cache: a page's most frequent words fit, and the table stays within a core's own cache.
const SLOTS: usize = 4096;

#[derive(Clone, Default)]
struct Slot {
    word: String,
    stem: String,
}

/// Stems of one language, remembered.
struct Cache {
    stemmer: Stemmer,
    slots: Vec<Slot>,
}

impl Cache {
    fn new(language: Language) -> Self {
        Self { stemmer: Stemmer::new(language.0.1), slots: vec![Slot::default(); SLOTS] }
    }

    fn stem(&mut self, word: &mut String) {
        let slot = &mut self.slots[hash(word) % SLOTS];
        if slot.word != *word {
            slot.word.clone_from(word);
            slot.stem.clear();
            slot.stem.push_str(&self.stemmer.stem(word));
            if slot.stem.is_empty() {
                slot.stem.push_str(word);
            }
        }
        word.clone_from(&slot.stem);
    }
}

/// FNV-1a, eight bytes at a time; only spreads words over slots.
fn hash(word: &str) -> usize {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    for chunk in word.as_bytes().chunks(8) {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        h = (h ^ u64::from_le_bytes(eight)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 29;
    }
    // Below 2^32, so the same everywhere.
    (h >> 33) as usize
}

/// Stems of all languages, each with its cache, made when first needed.
#[derive(Default)]
pub struct Stems {
    caches: Vec<Option<Cache>>,
}

impl Stems {
    /// Replaces a folded word by its stem.
    pub fn stem(&mut self, language: Language, word: &mut String) {
        let i = language.ordinal();
        if self.caches.len() <= i {
            self.caches.resize_with(i + 1, || None);
        }
        self.caches[i].get_or_insert_with(|| Cache::new(language)).stem(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_are_brought_to_one_form() {
        assert_eq!(code("pt-BR").as_deref(), Some("pt"));
        assert_eq!(code("EN_us").as_deref(), Some("en"));
        assert_eq!(code("nn").as_deref(), Some("no"));
        assert_eq!(code("x"), None);
        assert_eq!(code("日本"), None);
        assert_eq!(Language::of("es-ES").map(Language::code), Some("es"));
        assert_eq!(Language::of("ja"), None);
    }

    #[test]
    fn forms_of_a_word_meet_without_accents() {
        let es = Language::of("es").unwrap();
        assert_eq!(es.stem("canciones"), es.stem("cancion"));
        let en = Language::of("en").unwrap();
        assert_eq!(en.stem("crawlers"), en.stem("crawler"));
    }

    proptest! {
        #[test]
        fn no_stemmer_panics_and_the_cache_agrees(word in "[a-zа-яα-ωا-ي0-9']{0,40}|\\PC{0,20}") {
            let mut stems = Stems::default();
            for entry in TABLE {
                let language = Language(entry);
                let mut by_cache = word.clone();
                stems.stem(language, &mut by_cache);
                let plain = language.stem(&word);
                prop_assert_eq!(by_cache, if plain.is_empty() { word.clone() } else { plain });
            }
        }
    }
}
