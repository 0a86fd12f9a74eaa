//! What a page is to the index.

/// One page, as its maker (the node) hands it over. Borrowed: nothing is copied that is not indexed.
#[derive(Clone, Debug, Default)]
pub struct Document<'a> {
    /// Names the page: a prefix of the hash of its URL. A document replaces the one with the same key.
    pub key: [u8; 16],
    /// Canonical.
    pub url: &'a str,
    /// `name` or `name:port`.
    pub host: &'a str,
    /// Registrable domain, or IP literal.
    pub site: &'a str,
    /// Shown with hits, and searched.
    pub title: &'a str,
    /// Searched with a weight of their own; they are expected to be in `text` too.
    pub headings: &'a [String],
    /// The page's text without boilerplate. Searched, not kept: [`snippet`](crate::Searcher::snippet) is given it again.
    pub text: &'a str,
    /// Meta description. Searched.
    pub description: &'a str,
    /// Anchor text of links to the page.
    pub anchors: &'a [String],
    /// ISO 639-1, else 639-3, if it is known. Decides how words are reduced to stems.
    pub lang: Option<&'a str>,
    /// Unix seconds.
    pub fetched_at_s: u64,
    /// Distinct sites that link to the page.
    pub inlinks: u32,
    /// How important the page is by the pages that link to it: 1 is what a page is on average, 0 where nothing is known.
    pub importance: f32,
    /// Near-duplicate fingerprint of the text; 0 if none.
    pub fingerprint: u64,
    /// Any hash of the body, for exact duplicates; 0 if none.
    pub digest: u64,
    /// Whether there is certainly no document with this key yet, which saves looking for it.
    pub fresh: bool,
}
