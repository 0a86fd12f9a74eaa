//! The one pass over a page's tags and text.
//!
//! No tree is built. What a tree would decide and matters here (which tag ends a link, what is SVG, what a
//! template hides) is decided by a few counters, so the cost is linear in the page whatever it holds.

use super::body::Body;
use super::emitter::Attributes;
use super::foreign::Foreign;
use super::limits::{AROUND, MAX_ANCHOR, MAX_HEADING, MAX_HEADINGS, MAX_LINKS, MAX_REL, MAX_TEXT, MAX_TITLE};
use super::meta::Head;
use super::page::{Defect, Defects, Heading};
use super::tags::{Attribute, Tag};
use super::text::{Gap, Text};
use html5gum::State;

/// How the text of an element whose content is not mark-up is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Raw {
    Title,
    Skipped,
    Shown,
}

/// A link as found; positions in `Found::hrefs` and in the text.
#[derive(Clone, Copy, Debug)]
struct RawLink {
    href: (usize, usize),
    rel: (usize, usize),
    text: (usize, usize),
}

#[derive(Clone, Copy, Debug)]
struct OpenLink {
    index: usize,
    /// Depth of tables and of foreign content when it began.
    table: u32,
    foreign: usize,
}

/// What is known while reading.
#[derive(Debug)]
pub(super) struct Pass {
    body: Body,
    title: Text,
    raw: Option<Raw>,
    template: u32,
    /// The form control that text is in.
    control: Option<Tag>,
    /// Inside `rp`, whose end is often left out.
    parenthesis: bool,
    foreign: Foreign,
    table: u32,
    heading: Option<(u8, usize)>,
    link: Option<OpenLink>,
    links: Vec<RawLink>,
    hrefs: Vec<u8>,
    pub(super) headings: Vec<Heading>,
    pub(super) head: Head,
    pub(super) images: u32,
    /// Most attributes and bytes of attributes in one tag: what building a tree would have to cope with.
    pub(super) most_attributes: u32,
    /// See `most_attributes`.
    pub(super) largest_tag: usize,
    pub(super) defects: Defects,
}

impl Pass {
    /// For a page of about so many bytes, with directives addressed to `agent`.
    pub(super) fn new(bytes: usize, agent: &str) -> Pass {
        Pass {
            body: Body::with_capacity((bytes / 3).min(MAX_TEXT)),
            title: Text::default(),
            raw: None,
            template: 0,
            control: None,
            parenthesis: false,
            foreign: Foreign::default(),
            table: 0,
            heading: None,
            link: None,
            links: Vec::new(),
            hrefs: Vec::new(),
            headings: Vec::new(),
            head: Head { agent: agent.to_owned(), ..Head::default() },
            images: 0,
            most_attributes: 0,
            largest_tag: 0,
            defects: Defects::default(),
        }
    }

    #[inline]
    pub(super) fn in_foreign(&self) -> bool {
        self.foreign.is_foreign()
    }

    /// The page ended inside something that it should not end in.
    pub(super) fn ended_inside(&mut self) {
        self.defects.add(Defect::Truncated);
    }

    /// A piece of text.
    #[inline]
    pub(super) fn text(&mut self, bytes: &[u8]) {
        match self.raw {
            None | Some(Raw::Shown) => {}
            Some(Raw::Skipped) => return,
            Some(Raw::Title) => {
                let room = MAX_TITLE.saturating_sub(self.title.len());
                self.title.push(&bytes[..bytes.len().min(room)]);
                return;
            }
        }
        if self.template > 0 || self.foreign.raw {
            return;
        }
        if self.body.is_hidden() && self.link.is_none() && self.heading.is_none() {
            return;
        }
        self.record(bytes);
    }

    /// Records text; of a link or heading even when the page's text is full.
    #[inline]
    fn record(&mut self, bytes: &[u8]) {
        if !self.body.record(bytes) {
            let link = self.link.map(|l| self.links[l.index].text.0);
            self.body.record_beyond(bytes, link.max(self.heading.map(|h| h.1)));
        }
    }

    /// A start tag; answers how the tokenizer goes on.
    pub(super) fn start(&mut self, tag: Tag, attributes: &Attributes, self_closing: bool) -> Option<State> {
        if self.parenthesis {
            self.parenthesis = false;
            self.update_hidden();
        }
        if self.foreign.is_foreign() {
            if !tag.leaves_foreign() {
                self.foreign.start(tag, self_closing);
                if tag == Tag::A && self.template == 0 && !self_closing {
                    self.open_link(attributes);
                }
                self.update_hidden();
                return None;
            }
            self.foreign.leave();
            self.update_hidden();
        }
        let state = tag.next_state();
        if self.template > 0 {
            match tag {
                Tag::Template => self.template = self.template.saturating_add(1),
                Tag::Svg | Tag::Math => self.foreign.start(tag, self_closing),
                _ => self.raw = state.map(|_| Raw::Skipped),
            }
            return state;
        }
        self.start_live(tag, attributes, self_closing);
        state
    }

    /// A start tag of HTML outside templates.
    fn start_live(&mut self, tag: Tag, attributes: &Attributes, self_closing: bool) {
        match tag {
            Tag::Other | Tag::InlineOut => {}
            Tag::A => self.open_link(attributes),
            Tag::Block | Tag::BlockOut | Tag::Break => self.body.text.separate(Gap::Line),
            Tag::Apart => self.body.text.separate(Gap::Space),
            Tag::Cell | Tag::TablePart => self.cell_boundary(tag),
            Tag::Table => {
                self.table = self.table.saturating_add(1);
                self.body.text.separate(Gap::Line);
            }
            Tag::Heading(level) => {
                self.end_heading();
                self.body.text.separate(Gap::Line);
                self.heading = Some((level, self.body.text.len()));
            }
            Tag::Img => {
                self.images = self.images.saturating_add(1);
                if self.link.is_some() || self.heading.is_some() {
                    self.alternative(attributes);
                }
            }
            Tag::Area => {
                let outer = self.link.take();
                self.open_link(attributes);
                if self.link.is_some() {
                    self.alternative(attributes);
                    self.close_link();
                }
                self.link = outer;
            }
            Tag::Base => self.head.base(attributes),
            Tag::Html => self.head.html(attributes),
            Tag::Link => self.head.link(attributes, &mut self.defects),
            Tag::Meta => self.head.meta(attributes),
            Tag::Title => {
                self.raw = Some(if self.title.len() == 0 { Raw::Title } else { Raw::Skipped });
            }
            Tag::Textarea | Tag::Script | Tag::Style | Tag::Fallback => {
                self.raw = Some(Raw::Skipped);
                if matches!(tag, Tag::Textarea | Tag::Fallback) {
                    self.end_control();
                    self.body.text.separate(Gap::Space);
                }
            }
            Tag::Xmp | Tag::Plaintext => {
                self.raw = Some(Raw::Shown);
                self.body.text.separate(Gap::Line);
            }
            Tag::Template => self.template = 1,
            Tag::Button | Tag::Select | Tag::Datalist => {
                self.end_control();
                self.body.text.separate(Gap::Space);
                self.control = Some(tag);
                self.update_hidden();
            }
            Tag::Form | Tag::Input => {
                self.end_control();
                self.body.text.separate(if tag == Tag::Form { Gap::Line } else { Gap::Space });
            }
            Tag::RubyParenthesis => {
                self.parenthesis = true;
                self.update_hidden();
            }
            Tag::Svg | Tag::Math => {
                self.foreign.start(tag, self_closing);
                self.update_hidden();
            }
            Tag::ForeignObject | Tag::Desc | Tag::MathText => {}
            Tag::Main | Tag::Article | Tag::Nav | Tag::Aside | Tag::Header | Tag::Footer => {
                self.body.start_part(tag)
            }
        }
    }

    /// An end tag.
    pub(super) fn end(&mut self, tag: Tag) {
        if let Some(raw) = self.raw.take() {
            if raw == Raw::Shown {
                self.body.text.separate(Gap::Line);
            }
            return;
        }
        if self.parenthesis {
            self.parenthesis = false;
            self.update_hidden();
        }
        if self.foreign.depth() > 0 {
            self.foreign.end(tag);
            self.update_hidden();
        }
        if self.template > 0 {
            if tag == Tag::Template {
                self.template -= 1;
            }
            return;
        }
        match tag {
            Tag::A => {
                if let Some(link) = self.link
                    && link.foreign < self.foreign.depth()
                {
                    self.foreign.truncate(link.foreign);
                    self.update_hidden();
                }
                self.close_link();
            }
            Tag::Block | Tag::BlockOut | Tag::Break => self.body.text.separate(Gap::Line),
            Tag::Apart => self.body.text.separate(Gap::Space),
            Tag::Cell | Tag::TablePart => self.cell_boundary(tag),
            Tag::Table => {
                self.cell_boundary(Tag::TablePart);
                self.table = self.table.saturating_sub(1);
            }
            Tag::Heading(_) => {
                self.end_heading();
                self.body.text.separate(Gap::Line);
            }
            Tag::Button | Tag::Select | Tag::Datalist => {
                if self.control == Some(tag) {
                    self.end_control();
                }
                self.body.text.separate(Gap::Space);
            }
            Tag::Form => {
                self.end_control();
                self.body.text.separate(Gap::Line);
            }
            Tag::Main | Tag::Article | Tag::Nav | Tag::Aside | Tag::Header | Tag::Footer => {
                self.body.end_part(tag)
            }
            _ => {}
        }
    }

    /// The begin or end of a table's cell or row: ends what is open in the cell before.
    fn cell_boundary(&mut self, tag: Tag) {
        if self.link.is_some_and(|l| l.table == self.table && self.table > 0) {
            self.close_link();
        }
        self.end_control();
        self.body.text.separate(if tag == Tag::Cell { Gap::Space } else { Gap::Line });
    }

    fn end_control(&mut self) {
        if self.control.take().is_some() {
            self.update_hidden();
            self.body.text.separate(Gap::Space);
        }
    }

    fn update_hidden(&mut self) {
        let now = self.control.is_some() || self.parenthesis || self.foreign.in_svg();
        self.body.set_hidden(now);
    }

    /// The alternative text of an image or area: part of a link's or heading's text, not of the page's.
    fn alternative(&mut self, attributes: &Attributes) {
        let Some(alt) = attributes.get(Attribute::Alt) else { return };
        let hidden = self.body.is_hidden();
        self.body.set_hidden(true);
        self.body.text.separate(Gap::Space);
        self.record(alt);
        self.body.text.separate(Gap::Space);
        self.body.set_hidden(hidden);
    }

    /// `<a>` or `<area>`: ends the link before, and begins one if it has an `href`.
    fn open_link(&mut self, attributes: &Attributes) {
        self.close_link();
        let Some(href) = attributes.get(Attribute::Href) else { return };
        if attributes.is_too_long(Attribute::Href) {
            self.defects.add(Defect::LongAttribute);
            return;
        }
        if self.links.len() >= MAX_LINKS {
            self.defects.add(Defect::LinksCut);
            return;
        }
        let href = add_bytes(&mut self.hrefs, href.trim_ascii());
        let rel = attributes.get(Attribute::Rel).unwrap_or_default();
        let rel = add_bytes(&mut self.hrefs, if rel.len() > MAX_REL { &[] } else { rel });
        let at = self.body.text.len();
        self.link =
            Some(OpenLink { index: self.links.len(), table: self.table, foreign: self.foreign.depth() });
        self.links.push(RawLink { href, rel, text: (at, at) });
    }

    fn close_link(&mut self) {
        if let Some(open) = self.link.take() {
            self.links[open.index].text.1 = self.body.text.len();
        }
    }

    fn end_heading(&mut self) {
        let Some((level, start)) = self.heading.take() else { return };
        if self.headings.len() >= MAX_HEADINGS {
            self.defects.add(Defect::HeadingsCut);
            return;
        }
        let text = self.body.text.slice(start, self.body.text.len(), MAX_HEADING);
        if !text.is_empty() {
            self.headings.push(Heading { level, text });
        }
    }

    /// Ends what is open.
    pub(super) fn finish(&mut self) {
        self.end_heading();
        self.close_link();
        self.body.finish();
        if self.body.text.nul || self.title.nul {
            self.defects.add(Defect::Nul);
        }
        if self.body.is_full() {
            self.defects.add(Defect::TextCut);
        }
    }

    /// The links as they stand: href, rel, and where in the text they are.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &str, (usize, usize))> {
        let piece = |(start, end): (usize, usize)| {
            std::str::from_utf8(self.hrefs.get(start..end).unwrap_or_default()).unwrap_or_default()
        };
        self.links.iter().map(move |link| (piece(link.href), piece(link.rel), link.text))
    }

    /// The text of a link that is there.
    pub(super) fn anchor(&self, (start, end): (usize, usize)) -> String {
        self.body.text.slice(start, end, MAX_ANCHOR)
    }

    /// The same with whole words before and after it.
    pub(super) fn around(&self, (start, end): (usize, usize)) -> String {
        self.body.text.slice_with(start, end.min(start + MAX_ANCHOR), AROUND)
    }

    /// Number of links.
    pub(super) fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Title and text.
    pub(super) fn into_title_and_text(self) -> (Option<String>, String) {
        let title = self.title.into_string(&[]);
        ((!title.is_empty()).then_some(title), self.body.into_string())
    }
}

fn add_bytes(to: &mut Vec<u8>, bytes: &[u8]) -> (usize, usize) {
    let start = to.len();
    to.extend_from_slice(bytes);
    (start, to.len())
}
