//! Which of a group's rules decides about a path?
//!
//! The one with the most octets, an allowing one before a forbidding one (RFC 9309 section 2.2.2). Rules are sorted
//! once, so that asking costs a binary search for those without wildcards, however many there are, and one
//! linear scan of the path for each of the others.

use super::glob;
use crate::canon::percent;
use std::cmp::Reverse;

/// Rules with a wildcard before their end that are kept for scanning: many times what real files have, few
/// enough that a path of 2 KiB is decided in milliseconds even if each is made to be slow.
///
/// What is over is not scanned: a forbidding rule then forbids all that begins like it up to its first wildcard, an
/// allowing one is dropped. A file that big forbids too much rather than too little.
pub(super) const MAX_WILDCARDS: usize = 4_096;

const NONE: u32 = u32::MAX;

/// A part of [`RuleSet::text`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rule {
    /// As a person may read it.
    shown: Span,
    /// Normalised, without trailing `*` and `$`.
    pattern: Span,
    rank: Rank,
    anchored: bool,
}

/// The greater decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    octets: u32,
    allow: bool,
}

/// Rules that match whatever begins with their pattern; one for all with the same pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Prefix {
    pattern: Span,
    /// The deciding one of all rules whose pattern this one's begins with, itself among them.
    best: u32,
    /// The longest other prefix that this one begins with.
    parent: u32,
}

/// The rules of one group, sorted for asking.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RuleSet {
    text: Box<str>,
    rules: Box<[Rule]>,
    /// By pattern.
    prefixes: Box<[Prefix]>,
    /// Anchored rules without wildcard, by pattern, the deciding one of equal ones first.
    exact: Box<[u32]>,
    /// The others, the deciding ones first.
    wild: Box<[u32]>,
}

impl RuleSet {
    /// Takes rules as the file has them: whether each allows, and its value.
    pub(super) fn new(lines: &[(bool, &[u8])]) -> RuleSet {
        let (mut text, mut rules) = (String::new(), Vec::with_capacity(lines.len()));
        let (mut prefixes, mut exact, mut wild) = (Vec::new(), Vec::new(), Vec::new());
        for &(allow, value) in lines {
            let Some(mut rule) = read(allow, value, &mut text) else { continue };
            let number = rules.len() as u32;
            let first_star = slice(&text, rule.pattern).find('*');
            match first_star {
                None if rule.anchored => exact.push(number),
                None => prefixes.push(number),
                Some(_) if wild.len() < MAX_WILDCARDS => wild.push(number),
                Some(_) if allow => continue,
                Some(at) => {
                    rule.pattern.end = rule.pattern.start + at as u32;
                    rule.anchored = false;
                    prefixes.push(number);
                }
            }
            rules.push(rule);
        }
        let rank = |&number: &u32| Reverse(rules[number as usize].rank);
        let pattern = |&number: &u32| slice(&text, rules[number as usize].pattern);
        wild.sort_by_key(rank);
        exact.sort_by(|a, b| pattern(a).cmp(pattern(b)).then(rank(a).cmp(&rank(b))));
        exact.dedup_by(|b, a| pattern(a) == pattern(b));
        prefixes.sort_by(|a, b| pattern(a).cmp(pattern(b)).then(rank(a).cmp(&rank(b))));
        prefixes.dedup_by(|b, a| pattern(a) == pattern(b));
        let prefixes = nest(&text, &rules, &prefixes);
        RuleSet { text: text.into(), rules: rules.into(), prefixes, exact: exact.into(), wild: wild.into() }
    }

    /// The rule that decides about the first path it applies to best, of several spellings of one path: whether it
    /// allows, and its text.
    pub(super) fn decide<'a>(&self, spellings: impl IntoIterator<Item = &'a str>) -> Option<(bool, &str)> {
        let mut best = None;
        for path in spellings {
            best = self.better(best, self.prefix_of(path));
            best = self.better(best, self.equal_to(path));
            best = self.better(best, self.wild_for(path, best));
        }
        best.map(|number| {
            let rule = &self.rules[number as usize];
            (rule.rank.allow, slice(&self.text, rule.shown))
        })
    }

    fn rank(&self, number: u32) -> Rank {
        self.rules[number as usize].rank
    }

    fn better(&self, a: Option<u32>, b: Option<u32>) -> Option<u32> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if self.rank(b) > self.rank(a) { b } else { a }),
            _ => a.or(b),
        }
    }

    fn prefix_of(&self, path: &str) -> Option<u32> {
        let pattern = |prefix: &Prefix| slice(&self.text, prefix.pattern);
        let after = self.prefixes.partition_point(|prefix| pattern(prefix) <= path);
        let nearest = &self.prefixes[after.checked_sub(1)?];
        // Every prefix of the path is the nearest one, or one that it begins with; and those no longer than what the
        // nearest has in common with the path are prefixes of the path.
        let common = pattern(nearest).bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
        let mut prefix = nearest;
        while pattern(prefix).len() > common {
            prefix = self.prefixes.get(prefix.parent as usize)?;
        }
        Some(prefix.best)
    }

    fn equal_to(&self, path: &str) -> Option<u32> {
        let found = self.exact.binary_search_by_key(&path, |&number| self.pattern(number)).ok()?;
        Some(self.exact[found])
    }

    fn wild_for(&self, path: &str, best: Option<u32>) -> Option<u32> {
        let floor = best.map(|best| self.rank(best));
        self.wild.iter().copied().take_while(|&number| Some(self.rank(number)) > floor).find(|&number| {
            let anchored = self.rules[number as usize].anchored;
            glob::matches(self.pattern(number).as_bytes(), anchored, path.as_bytes())
        })
    }

    fn pattern(&self, number: u32) -> &str {
        slice(&self.text, self.rules[number as usize].pattern)
    }
}

/// Reads one rule, writing its texts to `text`; `None` if it can match no path.
fn read(allow: bool, value: &[u8], text: &mut String) -> Option<Rule> {
    if !matches!(value.first(), Some(b'/' | b'*')) {
        return None;
    }
    let start = text.len();
    text.push_str(if allow { "Allow: " } else { "Disallow: " });
    let written = text.len();
    text.push_str(&String::from_utf8_lossy(value));
    let shown = Span { start: start as u32, end: text.len() as u32 };

    let (body, anchored) = value.strip_suffix(b"$").map_or((value, false), |body| (body, true));
    let mut pattern = if percent::RULE.is_normal(body) {
        Span { start: written as u32, end: (written + body.len()) as u32 }
    } else {
        let start = text.len() as u32;
        percent::RULE.normalise(body, text);
        Span { start, end: text.len() as u32 }
    };
    let octets = pattern.end - pattern.start + u32::from(anchored);
    let open = slice(text, pattern).trim_end_matches('*').len() as u32;
    let anchored = anchored && open == pattern.end - pattern.start;
    pattern.end = pattern.start + open;
    Some(Rule { shown, pattern, rank: Rank { octets, allow }, anchored })
}

/// Finds for each prefix, sorted and each there once, the one it lies within.
fn nest(text: &str, rules: &[Rule], sorted: &[u32]) -> Box<[Prefix]> {
    let mut prefixes: Vec<Prefix> = Vec::with_capacity(sorted.len());
    let mut parent = NONE;
    for &number in sorted {
        let rule = &rules[number as usize];
        let pattern = slice(text, rule.pattern);
        while let Some(outer) = prefixes.get(parent as usize) {
            if pattern.starts_with(slice(text, outer.pattern)) {
                break;
            }
            parent = outer.parent;
        }
        let best = match prefixes.get(parent as usize) {
            Some(outer) if rules[outer.best as usize].rank > rule.rank => outer.best,
            _ => number,
        };
        prefixes.push(Prefix { pattern: rule.pattern, best, parent });
        parent = prefixes.len() as u32 - 1;
    }
    prefixes.into()
}

fn slice(text: &str, span: Span) -> &str {
    &text[span.start as usize..span.end as usize]
}
