//! From a query to the lists of the index: words in all their forms, what must and must not be.

use crate::query::{Atom, Occur, Query};
use crate::schema::Fields;
use anthill_words::{Language, Splitter};
use std::collections::BTreeMap;
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, Occur as Tantivy, PhraseQuery, Query as TantivyQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption, Term};

/// Words of a query that are scored. Beyond it they only cost.
pub const MAX_WORDS: usize = 256;
/// Words of a phrase that are looked at.
pub(crate) const MAX_PHRASE_WORDS: usize = 64;

/// One word of the query with the forms it has in the index: its stems in the languages searched.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    /// No two alike; never empty. The first is the word itself.
    pub forms: Vec<String>,
    /// By language searched.
    stems: Vec<String>,
    /// How often the query says it.
    pub times: u32,
}

/// Words one after the other, in every language searched.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Phrase {
    /// Each of at least two words; no two alike.
    pub variants: Vec<Vec<String>>,
}

/// A query, analysed.
pub(crate) struct Plan {
    pub words: Vec<Word>,
    pub phrases: Vec<Phrase>,
    /// What "all the words" means: of each of these at least one word is in the page.
    pub needs: Vec<Vec<usize>>,
    /// Words of the query, for comparison with a title's length. None if it is more than plain words.
    pub title_words: Option<u32>,
    clauses: Vec<(Occur, Vec<Atom>)>,
    languages: Vec<Language>,
}

impl Plan {
    /// Analyses a query for pages in these languages, and for pages in none.
    pub(crate) fn new(query: &Query, languages: &[Language]) -> Self {
        let clauses = query.clauses().iter().map(|c| (c.occur, c.any.clone())).collect();
        let mut plan = Self {
            words: Vec::new(),
            phrases: Vec::new(),
            needs: Vec::new(),
            title_words: None,
            clauses,
            languages: languages.to_vec(),
        };
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let mut plain = true;
        for clause in query.clauses().iter().filter(|c| c.occur != Occur::Not) {
            let mut group = Vec::new();
            for atom in &clause.any {
                let (text, keep_together) = match atom {
                    Atom::Word(text) | Atom::Phrase(text) => (text, true),
                    Atom::Title(text) => (text, false),
                    Atom::Site(_) | Atom::Host(_) | Atom::Lang(_) | Atom::Url(_) => {
                        continue;
                    }
                };
                let tokens = tokens(text, MAX_PHRASE_WORDS);
                if keep_together && tokens.len() > 1 {
                    plan.phrases.push(plan.phrase(&tokens));
                }
                for (token, stemmable) in &tokens {
                    if let Some(i) = plan.word(token, *stemmable, &mut known) {
                        group.push(i);
                    }
                }
            }
            if let [Atom::Word(_) | Atom::Phrase(_)] = clause.any.as_slice() {
                plan.needs.extend(group.into_iter().map(|i| vec![i]));
            } else {
                plain = false;
                if !group.is_empty() {
                    plan.needs.push(group);
                }
            }
        }
        plan.needs.sort_unstable();
        plan.needs.dedup();
        if plain {
            plan.title_words = u32::try_from(plan.words.iter().map(|w| w.times as usize).sum::<usize>()).ok();
        }
        plan
    }

    fn word(&mut self, token: &str, stemmable: bool, known: &mut BTreeMap<String, usize>) -> Option<usize> {
        if let Some(i) = known.get(token) {
            self.words[*i].times += 1;
            return Some(*i);
        }
        if self.words.len() == MAX_WORDS {
            return None;
        }
        // Two words of the query with the same stems are one.
        let stems: Vec<String> =
            if stemmable { self.languages.iter().map(|l| l.stem(token)).collect() } else { Vec::new() };
        let same = |w: &Word| !stems.is_empty() && w.stems == stems;
        let i = match self.words.iter().position(same) {
            Some(i) => {
                let word = &mut self.words[i];
                word.times += 1;
                if !word.forms.iter().any(|f| f == token) {
                    word.forms.push(token.to_owned());
                }
                i
            }
            None => {
                self.words.push(Word { forms: forms(token, stemmable, &self.languages), stems, times: 1 });
                self.words.len() - 1
            }
        };
        known.insert(token.to_owned(), i);
        Some(i)
    }

    fn phrase(&self, tokens: &[(String, bool)]) -> Phrase {
        let mut variants = vec![tokens.iter().map(|(t, _)| t.clone()).collect::<Vec<_>>()];
        for language in &self.languages {
            let stemmed: Vec<String> =
                tokens.iter().map(|(t, s)| if *s { language.stem(t) } else { t.clone() }).collect();
            if !variants.contains(&stemmed) {
                variants.push(stemmed);
            }
        }
        Phrase { variants }
    }

    /// Every term whose frequency matters.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(|w| w.forms.iter().map(String::as_str))
    }

    /// Forgets the forms that `known` says are nowhere: they would only cost.
    pub(crate) fn prune(&mut self, known: impl Fn(&str) -> bool) {
        for word in &mut self.words {
            if word.forms.iter().any(|f| known(f)) {
                word.forms.retain(|f| known(f));
            } else {
                word.forms.truncate(1);
            }
        }
        for phrase in &mut self.phrases {
            phrase.variants.retain(|v| v.iter().all(|t| known(t)));
        }
        self.phrases.retain(|p| !p.variants.is_empty());
    }

    /// Whether more is asked of a page than that some word is in it.
    pub(crate) fn is_constrained(&self) -> bool {
        let plain = |any: &[Atom]| any.iter().all(|a| matches!(a, Atom::Word(_) | Atom::Phrase(_)));
        self.clauses.iter().any(|(occur, any)| *occur != Occur::May || !plain(any))
    }

    /// The query for tantivy. It only finds what matches.
    pub(crate) fn tantivy(&self, fields: &Fields) -> Box<dyn TantivyQuery> {
        let mut out: Vec<(Tantivy, Box<dyn TantivyQuery>)> = Vec::new();
        let mut may: Vec<Box<dyn TantivyQuery>> = Vec::new();
        let (mut may_clauses, mut content) = (false, false);
        for (occur, any) in &self.clauses {
            let constraint = || union(any.iter().filter_map(|a| self.constraint(fields, a)).collect());
            match occur {
                Occur::May => {
                    may_clauses = true;
                    for atom in any.iter().filter(|a| !matches!(a, Atom::Word(_) | Atom::Phrase(_))) {
                        may.extend(self.constraint(fields, atom).map(unscored));
                    }
                }
                Occur::Must => {
                    // A clause without any word, such as one of signs alone, asks nothing.
                    if let Some(query) = constraint() {
                        content |=
                            !any.iter().all(|a| matches!(a, Atom::Site(_) | Atom::Host(_) | Atom::Lang(_)));
                        out.push((Tantivy::Must, unscored(query)));
                    }
                }
                Occur::Not => out.extend(constraint().map(|q| (Tantivy::MustNot, q))),
            }
        }
        if may_clauses && !content {
            self.matched(fields, &mut may);
        }
        let musts = out.iter().any(|(occur, _)| *occur == Tantivy::Must);
        if may_clauses && !content && musts {
            // Filters alone do not answer for words.
            out.push((Tantivy::Must, Box::new(BooleanQuery::union(may))));
        } else if may.is_empty() && !may_clauses && musts {
            out.push((Tantivy::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 1.0))));
        } else {
            out.extend(may.into_iter().map(|q| (Tantivy::Should, q)));
        }
        Box::new(BooleanQuery::new(out))
    }

    /// Lists that only find.
    fn matched(&self, fields: &Fields, may: &mut Vec<Box<dyn TantivyQuery>>) {
        for word in &self.words {
            for field in [fields.all, fields.url] {
                may.extend(word.forms.iter().map(|form| term(field, form, IndexRecordOption::Basic)));
            }
        }
    }

    /// What an atom asks, without score.
    fn constraint(&self, fields: &Fields, atom: &Atom) -> Option<Box<dyn TantivyQuery>> {
        let name = |field, value: &str| term(field, value, IndexRecordOption::Basic);
        match atom {
            Atom::Word(text) | Atom::Phrase(text) => self.adjacent(fields.all, text),
            Atom::Title(text) => self.adjacent(fields.title, text),
            // Schemes are not indexed.
            Atom::Url(text) => {
                self.adjacent(fields.url, text.split_once("://").map_or(text, |(_, rest)| rest))
            }
            Atom::Site(site) => union(vec![name(fields.site, site), name(fields.host, site)]),
            Atom::Host(host) => Some(name(fields.host, host)),
            Atom::Lang(lang) => Some(name(fields.lang, lang)),
        }
    }

    /// The words of a text, one after the other, in any language.
    fn adjacent(&self, field: Field, text: &str) -> Option<Box<dyn TantivyQuery>> {
        let tokens = tokens(text, MAX_PHRASE_WORDS);
        match tokens.as_slice() {
            [] => None,
            [(token, stemmable)] => union(
                forms(token, *stemmable, &self.languages)
                    .iter()
                    .map(|form| term(field, form, IndexRecordOption::Basic))
                    .collect(),
            ),
            _ => union(self.phrase(&tokens).variants.iter().map(|v| sequence(field, v)).collect()),
        }
    }
}

/// The words of a text, and which of them may have a stem.
pub(crate) fn tokens(text: &str, limit: usize) -> Vec<(String, bool)> {
    let mut splitter = Splitter::new(text);
    let mut word = String::new();
    let mut out = Vec::new();
    while out.len() < limit && splitter.next(&mut word).is_some() {
        out.push((word.clone(), splitter.stemmable()));
    }
    out
}

/// A word and its stems, no two alike.
pub(crate) fn forms(token: &str, stemmable: bool, languages: &[Language]) -> Vec<String> {
    let mut forms = vec![token.to_owned()];
    if stemmable {
        for language in languages {
            let stem = language.stem(token);
            if !stem.is_empty() && !forms.contains(&stem) {
                forms.push(stem);
            }
        }
    }
    forms
}

fn term(field: Field, text: &str, option: IndexRecordOption) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), option))
}

fn sequence(field: Field, words: &[String]) -> Box<dyn TantivyQuery> {
    Box::new(PhraseQuery::new(words.iter().map(|w| Term::from_field_text(field, w)).collect()))
}

fn unscored(query: Box<dyn TantivyQuery>) -> Box<dyn TantivyQuery> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

/// Any of these; none if there are none.
fn union(mut queries: Vec<Box<dyn TantivyQuery>>) -> Option<Box<dyn TantivyQuery>> {
    match queries.len() {
        0 => None,
        1 => queries.pop(),
        _ => Some(Box::new(BooleanQuery::union(queries))),
    }
}
