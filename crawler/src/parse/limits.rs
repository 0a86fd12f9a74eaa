//! How much of a page is kept, whatever it holds.

/// Bytes of text: a long book chapter has a tenth of it, and postings with positions must fit beside other pages.
pub const MAX_TEXT: usize = 1 << 20;
/// Bytes of a title. Search engines show some 70 characters; what is longer is stuffing.
pub const MAX_TITLE: usize = 1024;
/// Characters of an anchor text: a sentence or two; what is longer does not describe the target.
pub const MAX_ANCHOR: usize = 256;
/// Bytes of text before a link, and after it, that say what it is about: a dozen words. A guess.
pub const AROUND: usize = 80;
/// Links of a page. The general indexes of large manuals, the largest honest lists, have 17,000.
pub const MAX_LINKS: usize = 50_000;
/// Bytes of an attribute that is used. Canonical URLs end at 2,048; a description is shorter.
pub const MAX_ATTRIBUTE: usize = 8 << 10;
/// Headings of a page; an API reference on one page has hundreds.
pub const MAX_HEADINGS: usize = 1_000;
/// Characters of a heading.
pub const MAX_HEADING: usize = 256;
/// `hreflang` alternates: a site in every language with its regions has under 200.
pub const MAX_HREFLANG: usize = 256;
/// Feeds named by a page.
pub const MAX_FEEDS: usize = 64;
/// Bytes of a link's `rel`.
pub const MAX_REL: usize = 128;
/// Bytes of text outside navigation and the like from which on those are left out of a page's text: about two
/// sentences, so a page that is all menu keeps its menu.
pub const MIN_MAIN_TEXT: usize = 200;
/// Largest page that extraction rules are tried on: building a tree costs memory of ten times the page.
pub const MAX_RULES_PAGE: usize = 2 << 20;
/// Deepest nesting for extraction rules: building a tree costs the square of the depth.
pub const MAX_RULES_DEPTH: usize = 512;
/// Most attributes of one tag for extraction rules: building a tree costs the square of their number.
pub const MAX_RULES_ATTRIBUTES: u32 = 256;
/// Largest tag, in bytes, for extraction rules.
pub const MAX_RULES_TAG: usize = 64 << 10;
