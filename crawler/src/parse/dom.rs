//! A tree for CSS selectors, built only where that is cheap.
//!
//! Building a tree costs the square of the nesting, of the attributes of a tag, and of misnested formatting
//! elements, so the builder is watched while it works: every step it takes through its stack of open elements
//! and every node it makes, by its depth, is counted, and it is stopped when there are too many.

use super::limits::{MAX_RULES_ATTRIBUTES, MAX_RULES_DEPTH, MAX_RULES_PAGE, MAX_RULES_TAG};
use super::pass::Pass;
use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, QualName};
use scraper::{Html, HtmlTreeSink};
use std::borrow::Cow;
use std::cell::Cell;

/// Why no tree was built for a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TooComplex {
    /// Larger than [`MAX_RULES_PAGE`].
    #[error("the page has {0} bytes; selectors work on pages of at most {MAX_RULES_PAGE}: cut it")]
    Large(usize),
    /// A tag larger than [`MAX_RULES_TAG`] or of more than [`MAX_RULES_ATTRIBUTES`] attributes.
    #[error(
        "a tag has {attributes} attributes and {bytes} bytes; selectors work on tags of at most {MAX_RULES_ATTRIBUTES} and {MAX_RULES_TAG}: remove it"
    )]
    Tag {
        /// Most attributes of a tag.
        attributes: u32,
        /// Most bytes of attributes of a tag.
        bytes: usize,
    },
    /// Deeper than [`MAX_RULES_DEPTH`], or misnested so badly that building the tree would take too long.
    #[error(
        "the page is nested deeper than {MAX_RULES_DEPTH} levels or too badly misnested for selectors: repair its mark-up"
    )]
    Nested,
}

/// Bytes given to the builder between two looks at its counters.
const CHUNK: usize = 2048;
/// Steps allowed per byte. The real pages measured take under one; at the limit a page of 100 kB takes 30 ms.
const STEPS_PER_BYTE: u64 = 32;
/// Steps allowed to the smallest page.
const MIN_STEPS: u64 = 1 << 20;

/// A page that passed the tests that need no tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard;

impl Guard {
    /// Looks at what the plain pass found.
    pub(super) fn new(text: &str, pass: &Pass) -> Result<Guard, TooComplex> {
        if text.len() > MAX_RULES_PAGE {
            return Err(TooComplex::Large(text.len()));
        }
        let (attributes, bytes) = (pass.most_attributes, pass.largest_tag);
        if attributes > MAX_RULES_ATTRIBUTES || bytes > MAX_RULES_TAG {
            return Err(TooComplex::Tag { attributes, bytes });
        }
        Ok(Guard)
    }

    /// Builds the tree.
    pub(super) fn build(self, text: &str) -> Result<Html, TooComplex> {
        let limit = MIN_STEPS.max(STEPS_PER_BYTE * text.len() as u64);
        let sink = Watched {
            inner: HtmlTreeSink::new(Html::new_document()),
            steps: Cell::new(0),
            deep: Cell::new(false),
        };
        let options = ParseOpts {
            tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
            ..ParseOpts::default()
        };
        let mut parser = parse_document(sink, options);
        let mut rest = text;
        while !rest.is_empty() {
            let mut end = rest.len().min(CHUNK);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            parser.process(StrTendril::from_slice(&rest[..end]));
            rest = &rest[end..];
            let watched = &parser.tokenizer.sink.sink;
            if watched.deep.get() || watched.steps.get() > limit {
                return Err(TooComplex::Nested);
            }
        }
        Ok(parser.finish())
    }
}

/// Scraper's tree under construction, with counters.
struct Watched {
    inner: HtmlTreeSink,
    steps: Cell<u64>,
    deep: Cell<bool>,
}

impl Watched {
    fn count(&self, steps: u64) {
        self.steps.set(self.steps.get() + steps);
    }

    /// A node gets a parent: counts how deep it comes to stand.
    fn count_depth<T>(&self, parent: &<HtmlTreeSink as TreeSink>::Handle, child: &NodeOrText<T>) {
        if let NodeOrText::AppendNode(_) = child {
            let tree = self.inner.0.borrow();
            let depth = tree.tree.get(*parent).map_or(0, |n| n.ancestors().take(MAX_RULES_DEPTH + 1).count());
            self.count(depth as u64);
            if depth > MAX_RULES_DEPTH {
                self.deep.set(true);
            }
        }
    }
}

impl TreeSink for Watched {
    type Handle = <HtmlTreeSink as TreeSink>::Handle;
    type Output = Html;
    type ElemName<'a> = <HtmlTreeSink as TreeSink>::ElemName<'a>;

    fn finish(self) -> Html {
        self.inner.finish()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Self::Handle {
        self.inner.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Self::Handle) -> Self::ElemName<'a> {
        self.count(1);
        self.inner.elem_name(target)
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Self::Handle {
        self.inner.create_element(name, attributes, flags)
    }

    fn create_comment(&self, text: StrTendril) -> Self::Handle {
        self.inner.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Self::Handle {
        self.inner.create_pi(target, data)
    }

    fn append(&self, parent: &Self::Handle, child: NodeOrText<Self::Handle>) {
        self.count_depth(parent, &child);
        self.inner.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Self::Handle,
        previous: &Self::Handle,
        child: NodeOrText<Self::Handle>,
    ) {
        self.count_depth(element, &child);
        self.inner.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.inner.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &Self::Handle) -> Self::Handle {
        self.inner.get_template_contents(target)
    }

    fn same_node(&self, x: &Self::Handle, y: &Self::Handle) -> bool {
        self.count(1);
        x == y
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.inner.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &Self::Handle, node: NodeOrText<Self::Handle>) {
        self.count_depth(sibling, &node);
        self.inner.append_before_sibling(sibling, node);
    }

    fn add_attrs_if_missing(&self, target: &Self::Handle, attributes: Vec<Attribute>) {
        self.inner.add_attrs_if_missing(target, attributes);
    }

    fn remove_from_parent(&self, target: &Self::Handle) {
        self.inner.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Self::Handle, new_parent: &Self::Handle) {
        self.inner.reparent_children(node, new_parent);
    }
}
