//! Reading a query: one pass, never an error.

use super::{Atom, Clause, Occur, Query};
use anthill_words::{Class, class, code, floor};
use unicode_normalization::char::is_combining_mark;

/// Bytes of a query that are read. An abstract of a paper pasted as a query fits.
pub const MAX_QUERY_BYTES: usize = 8192;
/// Atoms that are read; each costs a few lists of the index.
pub const MAX_ATOMS: usize = 512;
/// More words than this are prose: nobody types so many operators, and quotes in them are quotations.
pub const PROSE_WORDS: usize = 16;

/// Notes kept while reading: who makes more mistakes than this has not meant operators.
const MAX_NOTES: usize = 8;

const QUOTES: [char; 4] = ['"', '“', '”', '„'];

pub(super) fn parse(text: &str) -> Query {
    let mut notes = Vec::new();
    let read = &text[..floor(text, MAX_QUERY_BYTES)];
    if read.len() < text.len() {
        notes.push(format!("only the first {MAX_QUERY_BYTES} bytes of the query were read"));
    }
    let mut reader = Reader { rest: read, notes, quotes_unclosed: false };
    let mut clauses: Vec<Clause> = Vec::new();
    let mut atoms = 0;
    // Whether the last clause may take another atom, and whether OR asks it to.
    let (mut open, mut or) = (false, false);
    while let Some(piece) = reader.piece() {
        let (sign, atom) = match piece {
            Piece::Or if open && !or => {
                or = true;
                continue;
            }
            Piece::Or => (None, Atom::Word("or".to_owned())),
            Piece::Atom(sign, atom) => (sign, atom),
        };
        if atoms == MAX_ATOMS {
            reader.notes.push(format!("only the first {MAX_ATOMS} words of the query were used"));
            break;
        }
        atoms += 1;
        match clauses.last_mut() {
            Some(last) if or && sign.is_none() => last.any.push(atom),
            _ => {
                if or {
                    reader.notes.push("OR before a word with a sign was ignored".to_owned());
                }
                clauses.push(Clause { occur: sign.unwrap_or(Occur::May), any: vec![atom] });
            }
        }
        open = clauses.last().is_some_and(|c| c.occur != Occur::Not);
        or = false;
    }
    if or {
        // A last word that happens to be OR.
        clauses.push(Clause { occur: Occur::May, any: vec![Atom::Word("or".to_owned())] });
    }
    let prose = clauses.iter().flat_map(|c| &c.any).map(Atom::words).sum::<usize>() > PROSE_WORDS;
    for clause in &mut clauses {
        let asks = |a: &Atom| a.is_field() || (!prose && matches!(a, Atom::Phrase(_)));
        if clause.occur == Occur::May && clause.any.iter().all(asks) {
            clause.occur = Occur::Must;
        }
    }
    let mut notes = reader.notes;
    notes.truncate(MAX_NOTES);
    if prose && clauses.iter().any(|c| c.any.iter().any(|a| matches!(a, Atom::Phrase(_)))) {
        notes.push(
            "in a text this long quoted words are favoured together, not required; put + before them"
                .to_owned(),
        );
    }
    if !clauses.is_empty() && clauses.iter().all(|c| c.occur == Occur::Not) {
        notes.push("nothing is asked for but what must not be there; add a word".to_owned());
    }
    Query { clauses, notes }
}

enum Piece {
    Or,
    Atom(Option<Occur>, Atom),
}

struct Reader<'a> {
    rest: &'a str,
    notes: Vec<String>,
    /// No quote closes in what is left: looked for once, so that reading stays linear.
    quotes_unclosed: bool,
}

/// Whether a character can begin a word.
fn begins_word(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { matches!(class(c), Class::Word | Class::Dense) }
}

impl<'a> Reader<'a> {
    /// The next piece; none at the end.
    fn piece(&mut self) -> Option<Piece> {
        loop {
            self.rest = self.rest.trim_start();
            self.rest.chars().next()?;
            let mut sign = None;
            if let Some(after) = self.rest.strip_prefix(['+', '-'])
                && after.starts_with(|c| begins_word(c) || QUOTES.contains(&c))
            {
                sign = Some(if self.rest.starts_with('+') { Occur::Must } else { Occur::Not });
                self.rest = after;
            } else {
                // Punctuation before a word, as in "(see".
                self.rest = self.rest.trim_start_matches(|c: char| {
                    !c.is_whitespace() && !begins_word(c) && !QUOTES.contains(&c)
                });
            }
            let first = self.rest.chars().next()?;
            if first.is_whitespace() {
                continue;
            }
            let atom = if QUOTES.contains(&first) {
                self.rest = &self.rest[first.len_utf8()..];
                self.quoted().map(Atom::Phrase)
            } else if let Some(name) = self.field_name() {
                self.field(name)
            } else {
                let chunk = self.chunk();
                if chunk == "OR" && sign.is_none() {
                    return Some(Piece::Or);
                }
                word(chunk)
            };
            if let Some(atom) = atom {
                return Some(Piece::Atom(sign, atom));
            }
        }
    }

    /// Up to the next space.
    fn chunk(&mut self) -> &'a str {
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (chunk, rest) = self.rest.split_at(end);
        self.rest = rest;
        chunk
    }

    /// Whether there is another quote in what is left.
    fn quote_closes(&mut self) -> bool {
        if !self.quotes_unclosed && !self.rest.contains(QUOTES) {
            self.quotes_unclosed = true;
            self.notes.push("a quote that is not closed was ignored".to_owned());
        }
        !self.quotes_unclosed
    }

    /// After an opening quote: what it holds, if it is closed and holds a word. Otherwise the quote is dropped.
    fn quoted(&mut self) -> Option<String> {
        let end = if self.quote_closes() { self.rest.find(QUOTES)? } else { return None };
        let inside = &self.rest[..end];
        let closing = self.rest[end..].chars().next().map_or(0, char::len_utf8);
        self.rest = &self.rest[end + closing..];
        tidy(inside)
    }

    /// The name of a field, if one stands here.
    fn field_name(&self) -> Option<&'static str> {
        let here = |name: &&str| self.rest.get(..name.len()).is_some_and(|p| p.eq_ignore_ascii_case(name));
        ["site:", "host:", "lang:", "title:", "url:"].into_iter().find(here)
    }

    /// A field with its value. Without a value its name is a word, unless it stands before empty quotes.
    fn field(&mut self, name: &str) -> Option<Atom> {
        let before = self.rest;
        self.rest = &self.rest[name.len()..];
        let mut value = None;
        if let Some(quote) = self.rest.chars().next().filter(|c| QUOTES.contains(c)) {
            self.rest = &self.rest[quote.len_utf8()..];
            if self.quote_closes() {
                value = Some(self.quoted()?);
            }
        }
        let value = value.unwrap_or_else(|| self.chunk().to_owned());
        let atom = match name {
            "site:" => net_name(&value).map(Atom::Site),
            "host:" => net_name(&value).map(Atom::Host),
            // Without what follows, as a word: what looks like a field when shown has to be one.
            "lang:" => code(trimmed_end(&value)).map(Atom::Lang),
            "title:" => tidy(&value).map(Atom::Title),
            _ => tidy(&value).map(Atom::Url),
        };
        atom.or_else(|| {
            self.rest = before;
            let chunk = self.chunk();
            self.notes.push(format!("\"{}\" says nothing after its colon; taken as words", head(chunk)));
            word(chunk)
        })
    }
}

/// A chunk as a word: without the punctuation around it, and without quotes, which it does not begin with. `+` and
/// `#` at the end belong to `C++` and `C#`.
fn word(chunk: &str) -> Option<Atom> {
    let trimmed = trimmed_end(chunk).trim_start_matches(|c| !begins_word(c));
    if trimmed.is_empty() {
        return None;
    }
    Some(Atom::Word(if trimmed == "OR" { "or".to_owned() } else { trimmed.replace(QUOTES, "'") }))
}

/// A chunk without the punctuation after it.
fn trimmed_end(chunk: &str) -> &str {
    chunk.trim_end_matches(|c| !begins_word(c) && c != '+' && c != '#')
}

/// Words in quotes: one space between them, no quotes inside; none if there is no word.
fn tidy(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for part in text.split(|c: char| c.is_whitespace() || QUOTES.contains(&c)).filter(|p| !p.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(part);
    }
    out.contains(begins_word).then_some(out)
}

/// The name of a site or host, as people write it: a URL will do, and a name in any script, which the index has in its
/// ASCII form.
fn net_name(value: &str) -> Option<String> {
    let value = value.split_once("://").map_or(value, |(_, rest)| rest);
    let value = value.strip_prefix("*.").unwrap_or(value);
    let end = value.find(|c| !in_net_name(c)).unwrap_or(value.len());
    let name = value[..end].trim_matches(['.', ':', '-']);
    if name.is_ascii() {
        return name.contains(begins_word).then(|| name.to_lowercase());
    }
    let (host, port) = name.rsplit_once(':').map_or((name, None), |(host, port)| (host, Some(port)));
    // What is no name in any script finds nothing, as it stands.
    let host = idna::domain_to_ascii(host).unwrap_or_else(|_| host.to_lowercase());
    Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
}

/// Whether a character may stand in the name of a host: a letter of any script, with its accents, digits, dots.
fn in_net_name(c: char) -> bool {
    begins_word(c) || is_combining_mark(c) || matches!(c, '.' | '-' | '_' | ':' | '[' | ']' | '。' | '．')
}

/// The beginning of a text, for a note.
fn head(text: &str) -> &str {
    &text[..floor(text, 40)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn w(s: &str) -> Atom {
        Atom::Word(s.to_owned())
    }

    fn clauses(text: &str) -> Vec<(Occur, Vec<Atom>)> {
        Query::parse(text).clauses.into_iter().map(|c| (c.occur, c.any)).collect()
    }

    #[test]
    fn hosts_of_other_scripts_are_asked_for_by_their_ascii_form() {
        for (typed, name) in [
            ("München.de", "xn--mnchen-3ya.de"),
            ("mu\u{308}nchen.de", "xn--mnchen-3ya.de"),
            ("https://bücher.example:8080/a", "xn--bcher-kva.example:8080"),
            ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
            ("straße.de", "xn--strae-oqa.de"),
            ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ] {
            assert_eq!(clauses(&format!("site:{typed}")), [(Occur::Must, vec![Atom::Site(name.into())])]);
            assert_eq!(clauses(&format!("-host:{typed}")), [(Occur::Not, vec![Atom::Host(name.into())])]);
        }
        let odd = format!("é{}", "a".repeat(1_500));
        assert_eq!(clauses(&format!("site:{odd}")), [(Occur::Must, vec![Atom::Site(odd)])]);
    }

    #[test]
    fn words_may_match() {
        assert_eq!(clauses("red fox"), [(Occur::May, vec![w("red")]), (Occur::May, vec![w("fox")])]);
    }

    #[test]
    fn signs_are_operators_before_a_word_only() {
        assert_eq!(clauses("+a -b"), [(Occur::Must, vec![w("a")]), (Occur::Not, vec![w("b")])]);
        assert_eq!(clauses("well-known"), [(Occur::May, vec![w("well-known")])]);
        assert_eq!(
            clauses("a - b --help (-5)"),
            [
                (Occur::May, vec![w("a")]),
                (Occur::May, vec![w("b")]),
                (Occur::May, vec![w("help")]),
                (Occur::May, vec![w("5")]),
            ]
        );
        assert_eq!(clauses("C++ i++"), [(Occur::May, vec![w("C++")]), (Occur::May, vec![w("i++")])]);
    }

    #[test]
    fn phrases_are_required() {
        assert_eq!(
            clauses("\"to be\" x"),
            [(Occur::Must, vec![Atom::Phrase("to be".into())]), (Occur::May, vec![w("x")])]
        );
        assert_eq!(clauses("-\"to  be\""), [(Occur::Not, vec![Atom::Phrase("to be".into())])]);
        assert_eq!(clauses("“to be”"), [(Occur::Must, vec![Atom::Phrase("to be".into())])]);
    }

    #[test]
    fn odd_quotes_are_ignored() {
        assert_eq!(
            clauses("5\" disk \"drive"),
            [(Occur::May, vec![w("5")]), (Occur::May, vec![w("disk")]), (Occur::May, vec![w("drive")])]
        );
        assert!(!Query::parse("\"drive").notes().is_empty());
        assert_eq!(clauses("\"\" \" \""), []);
    }

    #[test]
    fn quotes_in_prose_are_quotations() {
        let text =
            "one two three four five six seven eight nine ten eleven twelve 13 14 15 \"filing machine,\" 18";
        let query = Query::parse(text);
        assert!(query.clauses().iter().all(|c| c.occur == Occur::May));
        assert!(!query.notes().is_empty());
    }

    #[test]
    fn or_joins_neighbours() {
        assert_eq!(clauses("a OR b c"), [(Occur::May, vec![w("a"), w("b")]), (Occur::May, vec![w("c")])]);
        assert_eq!(clauses("+a OR b"), [(Occur::Must, vec![w("a"), w("b")])]);
        assert_eq!(
            clauses("OR a OR"),
            [(Occur::May, vec![w("or")]), (Occur::May, vec![w("a")]), (Occur::May, vec![w("or")])]
        );
        assert_eq!(clauses("a OR -b"), [(Occur::May, vec![w("a")]), (Occur::Not, vec![w("b")])]);
    }

    #[test]
    fn fields_are_read() {
        assert_eq!(
            clauses("site:https://Example.org/x -host:a.b:81 lang:pt-BR title:\"a b\" url:/x/y"),
            [
                (Occur::Must, vec![Atom::Site("example.org".into())]),
                (Occur::Not, vec![Atom::Host("a.b:81".into())]),
                (Occur::Must, vec![Atom::Lang("pt".into())]),
                (Occur::Must, vec![Atom::Title("a b".into())]),
                (Occur::Must, vec![Atom::Url("/x/y".into())]),
            ]
        );
        assert_eq!(clauses("lang:es”"), [(Occur::Must, vec![Atom::Lang("es".into())])]);
        assert_eq!(clauses("site: x"), [(Occur::May, vec![w("site")]), (Occur::May, vec![w("x")])]);
    }

    #[test]
    fn a_huge_query_is_cut_and_says_so() {
        let query = Query::parse(&"a ".repeat(100_000));
        assert_eq!(query.clauses().len(), MAX_ATOMS);
        assert_eq!(query.notes().len(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_a_query_and_means_the_same_when_shown(
            text in "\\PC{0,60}|([-+]?(site:|title:|url:|lang:|host:)?[\"“(]?[a-c漢.:/#+-]{0,3}[\"”)]?( OR | ){0,2}){0,12}"
        ) {
            let query = Query::parse(&text);
            let again = Query::parse(&query.to_string());
            prop_assert_eq!(query.clauses(), again.clauses(), "{:?} shown as {:?}", text, query.to_string());
        }
    }
}
