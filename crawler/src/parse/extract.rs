//! Extraction rules for a site: which elements are a page's title, main text and date, and what to drop.
//!
//! For people who care about a site and know its mark-up better than any rule of thumb.

use super::dom::{Guard, TooComplex};
use super::limits::{MAX_TEXT, MAX_TITLE};
use super::page::{Defect, Defects, Page};
use super::read;
use super::tags::Tag;
use super::text::{Gap, Text, one_line};
use scraper::{ElementRef, Html, Node, Selector};
use serde::{Deserialize, Serialize};

/// Extraction rules as they stand in the settings: CSS selectors.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractionSettings {
    /// The first element that matches holds the title.
    pub title: Option<String>,
    /// All elements that match hold the text, in order of the page.
    pub text: Option<String>,
    /// The first element that matches holds the date: in its `datetime` or `content` attribute, else as text.
    pub date: Option<String>,
    /// What these match is left out of title, text and date.
    pub drop: Vec<String>,
}

/// Extraction rules, ready for use.
#[derive(Clone, Debug)]
pub struct Extraction {
    title: Option<Selector>,
    text: Option<Selector>,
    date: Option<Selector>,
    drop: Vec<Selector>,
}

/// Extraction rules that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExtractionError {
    /// Not a selector.
    #[error(
        "extraction rule `{rule}`: `{selector}` is no CSS selector ({reason}); write one like `main > article, #content`"
    )]
    Selector {
        /// Which rule.
        rule: &'static str,
        /// As written.
        selector: String,
        /// What the selector parser says.
        reason: String,
    },
    /// Too long to be applied to every page.
    #[error("extraction rule `{rule}` has {length} bytes; the limit is {MAX_SELECTOR}: shorten it")]
    Long {
        /// Which rule.
        rule: &'static str,
        /// Its length in bytes.
        length: usize,
    },
    /// Too many rules to be applied to every page.
    #[error("{0} extraction rules `drop`; the limit is {MAX_DROP}: join them by commas or remove some")]
    Many(usize),
}

/// Bytes of a selector: it is tried on every element of a page.
const MAX_SELECTOR: usize = 1024;
/// Rules of what to drop, for the same reason.
const MAX_DROP: usize = 32;
/// Bytes of a date.
const MAX_DATE: usize = 128;
/// Results of [`select`], and bytes of each.
const MAX_SELECTED: usize = 10_000;

impl Extraction {
    /// Compiles rules; an error names the bad one.
    pub fn compile(settings: &ExtractionSettings) -> Result<Extraction, ExtractionError> {
        if settings.drop.len() > MAX_DROP {
            return Err(ExtractionError::Many(settings.drop.len()));
        }
        let one = |rule, css: &Option<String>| css.as_deref().map(|css| compile(rule, css)).transpose();
        Ok(Extraction {
            title: one("title", &settings.title)?,
            text: one("text", &settings.text)?,
            date: one("date", &settings.date)?,
            drop: settings.drop.iter().map(|css| compile("drop", css)).collect::<Result<_, _>>()?,
        })
    }

    /// Replaces what the rules speak of; what matches nothing stays as it was.
    pub(super) fn apply(&self, dom: &Html, page: &mut Page, defects: &mut Defects) {
        if let Some(title) = self.title.as_ref().and_then(|s| self.first(dom, s)) {
            let title = one_line(self.text_of([title].into_iter(), MAX_TITLE).as_bytes(), MAX_TITLE);
            if !title.is_empty() {
                page.title = Some(title);
            }
        }
        if let Some(date) = self.date.as_ref().and_then(|s| self.first(dom, s)) {
            let attribute = date.value().attr("datetime").or_else(|| date.value().attr("content"));
            let date = match attribute {
                Some(value) => one_line(value.as_bytes(), MAX_DATE),
                None => one_line(self.text_of([date].into_iter(), MAX_DATE).as_bytes(), MAX_DATE),
            };
            page.date = Some(date).filter(|d| !d.is_empty());
        }
        let text = match &self.text {
            Some(selector) => self.text_of(dom.select(selector), MAX_TEXT),
            None if self.drop.is_empty() => return,
            None => self.text_of([dom.root_element()].into_iter(), MAX_TEXT),
        };
        if text.is_empty() {
            defects.add(Defect::RuleUnmatched);
        } else {
            page.text = text;
        }
    }

    fn first<'a>(&self, dom: &'a Html, selector: &Selector) -> Option<ElementRef<'a>> {
        dom.select(selector).find(|e| !self.dropped(*e))
    }

    fn dropped(&self, element: ElementRef<'_>) -> bool {
        self.drop.iter().any(|s| s.matches(&element))
    }

    /// The text of elements, a line per block, each node once though a match may be inside another.
    fn text_of<'a>(&self, elements: impl Iterator<Item = ElementRef<'a>>, limit: usize) -> String {
        let mut text = Text::default();
        let mut inside = None;
        for element in elements {
            // Matches come in order of the page, so a nested one follows the one that it is in.
            if inside.is_some_and(|outer| element.ancestors().any(|a| a.id() == outer)) {
                continue;
            }
            inside = Some(element.id());
            text.separate(Gap::Line);
            self.push(element, &mut text, limit);
            if text.len() >= limit {
                break;
            }
        }
        text.into_string(&[])
    }

    /// Appends an element's text, without recursion: depth is bounded, but stacks of threads are small.
    fn push(&self, root: ElementRef<'_>, text: &mut Text, limit: usize) {
        let mut node = *root;
        loop {
            let mut below = None;
            match node.value() {
                Node::Text(piece) => {
                    let room = limit.saturating_sub(text.len());
                    if room == 0 {
                        return;
                    }
                    text.push(&piece.as_bytes()[..piece.len().min(room)]);
                }
                Node::Element(element) => {
                    let tag = Tag::of(element.name().as_bytes());
                    text.separate(gap(tag));
                    if !has_no_text(tag) && !ElementRef::wrap(node).is_some_and(|e| self.dropped(e)) {
                        below = node.first_child();
                    }
                }
                _ => {}
            }
            // On to the first child, else the next sibling of the nearest ancestor that has one.
            while below.is_none() {
                if let Node::Element(element) = node.value() {
                    text.separate(gap(Tag::of(element.name().as_bytes())));
                }
                if node.id() == root.id() {
                    return;
                }
                below = node.next_sibling();
                if below.is_none() {
                    match node.parent() {
                        Some(parent) => node = parent,
                        None => return,
                    }
                }
            }
            match below {
                Some(next) => node = next,
                None => return,
            }
        }
    }
}

fn has_no_text(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Script
            | Tag::Style
            | Tag::Title
            | Tag::Textarea
            | Tag::Fallback
            | Tag::Template
            | Tag::Button
            | Tag::Select
            | Tag::Datalist
            | Tag::RubyParenthesis
            | Tag::Svg
    )
}

fn gap(tag: Tag) -> Gap {
    match tag {
        Tag::Other | Tag::InlineOut | Tag::A | Tag::Img | Tag::RubyParenthesis => Gap::None,
        Tag::Cell | Tag::Apart | Tag::Button | Tag::Select | Tag::Input | Tag::Svg => Gap::Space,
        Tag::Math | Tag::MathText | Tag::Script | Tag::Style | Tag::Template | Tag::Link | Tag::Meta => {
            Gap::None
        }
        _ => Gap::Line,
    }
}

fn compile(rule: &'static str, css: &str) -> Result<Selector, ExtractionError> {
    if css.len() > MAX_SELECTOR {
        return Err(ExtractionError::Long { rule, length: css.len() });
    }
    Selector::parse(css).map_err(|e| ExtractionError::Selector {
        rule,
        selector: css.to_owned(),
        reason: e.to_string(),
    })
}

/// Why nothing could be selected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SelectError {
    /// The selector.
    #[error(transparent)]
    Selector(#[from] ExtractionError),
    /// The page.
    #[error(transparent)]
    Page(#[from] TooComplex),
}

/// The text of each element of a page that a CSS selector matches, in order; at most 10,000.
pub fn select(html: &str, css: &str) -> Result<Vec<String>, SelectError> {
    let selector = compile("select", css)?;
    let dom = Guard::new(html, &read(html, ""))?.build(html)?;
    let rules = Extraction { title: None, text: None, date: None, drop: Vec::new() };
    let mut budget = MAX_TEXT;
    let mut found = Vec::new();
    for element in dom.select(&selector).take(MAX_SELECTED) {
        let text = rules.text_of([element].into_iter(), budget);
        budget = budget.saturating_sub(text.len());
        found.push(text);
    }
    Ok(found)
}
