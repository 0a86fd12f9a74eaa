//! WordNet's files, as `wndb(5WN)` tells them.

use super::{SPEECHES, Speech, WordNet};

/// Lines of a file, at most: WordNet 3.0 has 82,144.
const MAX_LINES: usize = 1 << 20;
/// Words of one synset, and ways from it, at most: what its fields can say.
const MAX_WORDS: usize = 0xff;
const MAX_WAYS: usize = 999;

/// Why the files are no dictionary.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line} of {file}: {what}; is it a file of WordNet 3.0 (Debian's wordnet-base), whole?")]
pub struct WordNetError {
    /// Name of the file.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// What is not as it should be.
    pub what: &'static str,
}

/// What is in the files of one part of speech.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// `data.noun`, `data.verb`, `data.adj` or `data.adv`.
    pub data: &'a str,
    /// `noun.exc`, `verb.exc`, `adj.exc` or `adv.exc`.
    pub exceptions: &'a str,
}

impl Speech {
    /// How files of it are named.
    pub fn file(self) -> &'static str {
        match self {
            Speech::Noun => "noun",
            Speech::Verb => "verb",
            Speech::Adjective => "adj",
            Speech::Adverb => "adv",
        }
    }
}

impl WordNet {
    /// All parts of speech.
    pub const SPEECHES: [Speech; 4] = SPEECHES;

    /// The dictionary of files, in the order of [`WordNet::SPEECHES`].
    ///
    /// # Errors
    /// [`WordNetError`]: which line is not as it should be.
    pub fn read(files: [Files<'_>; 4]) -> Result<WordNet, WordNetError> {
        let mut wordnet = WordNet::default();
        for (speech, files) in SPEECHES.into_iter().zip(files) {
            wordnet.begins[speech as usize] = wordnet.synsets() as u32;
            wordnet.read_data(speech, files.data)?;
            wordnet.read_exceptions(speech, files.exceptions)?;
        }
        wordnet.words.shrink_to_fit();
        Ok(wordnet)
    }

    fn read_data(&mut self, speech: Speech, text: &str) -> Result<(), WordNetError> {
        let wrong = |line: usize, what| WordNetError {
            file: format!("data.{}", speech.file()),
            line: line + 1,
            what,
        };
        let first = self.synsets() as u32;
        // The licence stands before, each line after two spaces.
        let lines = || text.lines().enumerate().filter(|(_, line)| !line.starts_with("  "));
        if lines().count() > MAX_LINES {
            return Err(wrong(MAX_LINES, "too many lines"));
        }
        let mut offsets = Vec::new();
        for (at, line) in lines() {
            let offset = offset(line).ok_or_else(|| wrong(at, "it has to begin with its offset"))?;
            if offsets.last().is_some_and(|last| *last >= offset) {
                return Err(wrong(at, "offsets have to grow"));
            }
            offsets.push(offset);
        }
        let place = |offset: u32| Some(first + offsets.binary_search(&offset).ok()? as u32);
        // Of parts, both ends tell: a set of pairs is made of them.
        let mut wholes: Vec<(u32, u32)> = Vec::new();
        for (n, (at, line)) in lines().enumerate() {
            let synset = Synset::parse(line).ok_or_else(|| wrong(at, "it is no synset"))?;
            let this = first + n as u32;
            for word in &synset.words {
                let senses = self.words.entry(word.as_str().into()).or_default();
                if senses.last() != Some(&this) {
                    senses.push(this);
                }
            }
            let mut above = Vec::new();
            for (kind, offset) in synset.ways {
                let target = place(offset).ok_or_else(|| wrong(at, "it leads to no synset"))?;
                match kind {
                    Way::Above => above.push(target),
                    Way::Whole => wholes.push((this, target)),
                    Way::Part => wholes.push((target, this)),
                }
            }
            self.above.push(above);
        }
        wholes.sort_unstable();
        wholes.dedup();
        let mut left = wholes.as_slice();
        for this in first..first + offsets.len() as u32 {
            let (of_this, after) = left.split_at(left.partition_point(|(part, _)| *part == this));
            self.wholes.push(of_this.iter().map(|(_, whole)| *whole));
            left = after;
        }
        let end = first + offsets.len() as u32;
        self.begins[speech as usize + 1..].fill(end);
        Ok(())
    }

    fn read_exceptions(&mut self, speech: Speech, text: &str) -> Result<(), WordNetError> {
        let wrong =
            |line: usize, what| WordNetError { file: format!("{}.exc", speech.file()), line: line + 1, what };
        for (at, line) in text.lines().enumerate() {
            if at >= MAX_LINES {
                return Err(wrong(at, "too many lines"));
            }
            let mut words = line.split_ascii_whitespace();
            let Some(form) = words.next() else { continue };
            let of: Vec<Box<str>> = words.take(MAX_WORDS).map(Into::into).collect();
            if of.is_empty() {
                return Err(wrong(at, "a form has to have the word that it is of"));
            }
            self.exceptions[speech as usize].insert(form.into(), of);
        }
        Ok(())
    }
}

/// Where a way leads.
enum Way {
    /// To a kind or a class above.
    Above,
    /// To what this is a part, a member or the substance of.
    Whole,
    /// To a part of this.
    Part,
}

impl Way {
    /// By the symbol of a pointer (`wninput(5WN)`); those of no interest here are none.
    fn of(symbol: &str) -> Option<Way> {
        match symbol {
            "@" | "@i" => Some(Way::Above),
            "#p" | "#m" | "#s" => Some(Way::Whole),
            "%p" | "%m" | "%s" => Some(Way::Part),
            _ => None,
        }
    }
}

/// A line of a file of data.
struct Synset {
    words: Vec<String>,
    ways: Vec<(Way, u32)>,
}

fn offset(line: &str) -> Option<u32> {
    line.split(' ').next()?.parse().ok()
}

impl Synset {
    /// `offset lex_filenum ss_type w_cnt word lex_id [word lex_id...] p_cnt [symbol offset pos source/target...] ... | gloss`
    fn parse(line: &str) -> Option<Synset> {
        let mut fields = line.split(' ').skip(3);
        let count = usize::from_str_radix(fields.next()?, 16).ok().filter(|n| (1..=MAX_WORDS).contains(n))?;
        let mut words = Vec::with_capacity(count);
        for _ in 0..count {
            let word = fields.next().filter(|word| !word.is_empty())?;
            fields.next()?;
            // Adjectives may say where they stand: `afraid(p)`.
            let word = word.split_once('(').map_or(word, |(word, _)| word);
            words.push(word.to_lowercase());
        }
        let count = fields.next()?.parse::<usize>().ok().filter(|n| *n <= MAX_WAYS)?;
        let mut ways = Vec::new();
        for _ in 0..count {
            let [symbol, offset, _speech, _words] =
                [fields.next()?, fields.next()?, fields.next()?, fields.next()?];
            if let Some(way) = Way::of(symbol) {
                ways.push((way, offset.parse().ok()?));
            }
        }
        Some(Synset { words, ways })
    }
}
