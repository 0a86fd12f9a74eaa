//! The one pass over a page's tags and text.
//!
//! No tree is built. What a tree would decide and matters here (which tag ends a link, what is SVG, what a
//! template hides) is decided by a few counters, so the cost is linear in the page whatever it holds.

use super::emitter::Attributes;
use super::foreign::Foreign;
use super::limits::{
    MAX_ANCHOR, MAX_HEADING, MAX_HEADINGS, MAX_LINKS, MAX_REL, MAX_TEXT, MAX_TITLE, MIN_MAIN_TEXT,
};
use super::meta::Head;
use super::page::{Defect, Defects, Heading};
use super::tags::{Attribute, Tag};
use super::text::{Gap, Text};
use html5gum::State;

/// Bytes of a link's or heading's text that are recorded when the page's own text is full.
const MAX_PIECE: usize = 4 * MAX_ANCHOR;

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
    text: Text,
    /// Where the page's text ended because it was full.
    full: Option<usize>,
    title: Text,
    raw: Option<Raw>,
    template: u32,
    /// The form control that text is in.
    control: Option<Tag>,
    /// Inside `rp`, whose end is often left out.
    parenthesis: bool,
    foreign: Foreign,
    /// If text is hidden now: since which position, and the gap before it.
    hidden: Option<(usize, Gap)>,
    /// Hidden ranges: never part of the text.
    cut: Vec<(usize, usize)>,
    nav: u32,
    /// A stack of bits, one for each open header, footer or aside: whether it is one of the page, not of its main part.
    frame: u64,
    main: u32,
    boilerplate_since: Option<usize>,
    boilerplate: Vec<(usize, usize)>,
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
            text: Text::with_capacity((bytes / 3).min(MAX_TEXT)),
            full: None,
            title: Text::default(),
            raw: None,
            template: 0,
            control: None,
            parenthesis: false,
            foreign: Foreign::default(),
            hidden: None,
            cut: Vec::new(),
            nav: 0,
            frame: 0,
            main: 0,
            boilerplate_since: None,
            boilerplate: Vec::new(),
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
        if self.hidden.is_some() && self.link.is_none() && self.heading.is_none() {
            return;
        }
        self.record(bytes);
    }

    /// Records text while there is room.
    #[inline]
    fn record(&mut self, bytes: &[u8]) {
        if self.full.is_none() && self.text.len() + bytes.len() < MAX_TEXT {
            self.text.push(bytes);
        } else {
            self.record_beyond(bytes);
        }
    }

    /// The text is full: only links and headings go on, a little.
    #[cold]
    fn record_beyond(&mut self, mut bytes: &[u8]) {
        if self.full.is_none() {
            let room = character_boundary(bytes, MAX_TEXT.saturating_sub(self.text.len()));
            self.text.push(&bytes[..room]);
            bytes = &bytes[room..];
            self.full = Some(self.text.len());
            self.defects.add(Defect::TextCut);
        }
        let link = self.link.map(|l| self.links[l.index].text.0);
        if let Some(start) = link.max(self.heading.map(|h| h.1)) {
            let room = MAX_PIECE.saturating_sub(self.text.len().saturating_sub(start));
            self.text.push(&bytes[..character_boundary(bytes, room)]);
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
            Tag::Block | Tag::BlockOut | Tag::Break => self.text.separate(Gap::Line),
            Tag::Apart => self.text.separate(Gap::Space),
            Tag::Cell | Tag::TablePart => self.cell_boundary(tag),
            Tag::Table => {
                self.table = self.table.saturating_add(1);
                self.text.separate(Gap::Line);
            }
            Tag::Heading(level) => {
                self.end_heading();
                self.text.separate(Gap::Line);
                self.heading = Some((level, self.text.len()));
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
                    self.text.separate(Gap::Space);
                }
            }
            Tag::Xmp | Tag::Plaintext => {
                self.raw = Some(Raw::Shown);
                self.text.separate(Gap::Line);
            }
            Tag::Template => self.template = 1,
            Tag::Button | Tag::Select | Tag::Datalist => {
                self.end_control();
                self.text.separate(Gap::Space);
                self.control = Some(tag);
                self.update_hidden();
            }
            Tag::Form | Tag::Input => {
                self.end_control();
                self.text.separate(if tag == Tag::Form { Gap::Line } else { Gap::Space });
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
                self.start_part(tag)
            }
        }
    }

    /// An end tag.
    pub(super) fn end(&mut self, tag: Tag) {
        if let Some(raw) = self.raw.take() {
            if raw == Raw::Shown {
                self.text.separate(Gap::Line);
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
            Tag::Block | Tag::BlockOut | Tag::Break => self.text.separate(Gap::Line),
            Tag::Apart => self.text.separate(Gap::Space),
            Tag::Cell | Tag::TablePart => self.cell_boundary(tag),
            Tag::Table => {
                self.cell_boundary(Tag::TablePart);
                self.table = self.table.saturating_sub(1);
            }
            Tag::Heading(_) => {
                self.end_heading();
                self.text.separate(Gap::Line);
            }
            Tag::Button | Tag::Select | Tag::Datalist => {
                if self.control == Some(tag) {
                    self.end_control();
                }
                self.text.separate(Gap::Space);
            }
            Tag::Form => {
                self.end_control();
                self.text.separate(Gap::Line);
            }
            Tag::Main | Tag::Article | Tag::Nav | Tag::Aside | Tag::Header | Tag::Footer => {
                self.end_part(tag)
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
        self.text.separate(if tag == Tag::Cell { Gap::Space } else { Gap::Line });
    }

    fn end_control(&mut self) {
        if self.control.take().is_some() {
            self.update_hidden();
            self.text.separate(Gap::Space);
        }
    }

    /// Begins a part of the page. A header, footer or aside inside the main part or an article belongs to it.
    fn start_part(&mut self, tag: Tag) {
        self.text.separate(Gap::Line);
        match tag {
            Tag::Main => {
                // The main part is in no other: whatever seems open was never closed.
                (self.nav, self.frame) = (0, 0);
                self.main = self.main.saturating_add(1);
            }
            Tag::Article => self.main = self.main.saturating_add(1),
            Tag::Nav => self.nav = self.nav.saturating_add(1),
            _ => self.frame = (self.frame << 1) | u64::from(self.main == 0),
        }
        self.update_boilerplate();
    }

    fn end_part(&mut self, tag: Tag) {
        self.text.separate(Gap::Line);
        match tag {
            Tag::Main | Tag::Article => self.main = self.main.saturating_sub(1),
            Tag::Nav => self.nav = self.nav.saturating_sub(1),
            _ => self.frame >>= 1,
        }
        self.update_boilerplate();
    }

    fn update_boilerplate(&mut self) {
        let now = self.nav > 0 || self.frame != 0;
        match self.boilerplate_since {
            None if now => self.boilerplate_since = Some(self.text.len()),
            Some(since) if !now => {
                self.boilerplate_since = None;
                add_range(&mut self.boilerplate, since, self.text.len());
            }
            _ => {}
        }
    }

    fn update_hidden(&mut self) {
        let now = self.control.is_some() || self.parenthesis || self.foreign.in_svg();
        if now && self.hidden.is_none() {
            self.begin_hidden();
        } else if !now {
            self.end_hidden();
        }
    }

    fn begin_hidden(&mut self) {
        self.hidden = Some((self.text.len(), self.text.gap()));
        self.text.separate(Gap::Space);
    }

    fn end_hidden(&mut self) {
        let Some((since, gap)) = self.hidden.take() else { return };
        if self.text.len() > since {
            // Inside a link or heading the hidden part still stands apart from what follows.
            self.text.write_space();
            add_range(&mut self.cut, since, self.text.len());
        }
        self.text.set_gap(gap);
    }

    /// The alternative text of an image or area: part of a link's or heading's text, not of the page's.
    fn alternative(&mut self, attributes: &Attributes) {
        let Some(alt) = attributes.get(Attribute::Alt) else { return };
        if self.hidden.is_some() {
            self.text.separate(Gap::Space);
            self.record(alt);
            self.text.separate(Gap::Space);
        } else {
            self.begin_hidden();
            self.record(alt);
            self.end_hidden();
        }
    }

    /// `<a>` or `<area>`: ends the link before, and begins one if it has an `href`.
    fn open_link(&mut self, attributes: &Attributes) {
        self.close_link();
        let Some(href) = attributes.get(Attribute::Href) else { return };
        if attributes.too_long {
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
        let at = self.text.len();
        self.link =
            Some(OpenLink { index: self.links.len(), table: self.table, foreign: self.foreign.depth() });
        self.links.push(RawLink { href, rel, text: (at, at) });
    }

    fn close_link(&mut self) {
        if let Some(open) = self.link.take() {
            self.links[open.index].text.1 = self.text.len();
        }
    }

    fn end_heading(&mut self) {
        let Some((level, start)) = self.heading.take() else { return };
        if self.headings.len() >= MAX_HEADINGS {
            self.defects.add(Defect::HeadingsCut);
            return;
        }
        let text = self.text.slice(start, self.text.len(), MAX_HEADING);
        if !text.is_empty() {
            self.headings.push(Heading { level, text });
        }
    }

    /// Ends what is open.
    pub(super) fn finish(&mut self) {
        self.end_heading();
        self.close_link();
        self.end_hidden();
        (self.nav, self.frame) = (0, 0);
        self.update_boilerplate();
        if let Some(full) = self.full {
            self.cut = union(&self.cut, &[(full, self.text.len())]);
        }
        if self.text.nul || self.title.nul {
            self.defects.add(Defect::Nul);
        }
    }

    /// The links as they stand: href, rel, anchor text.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &str, String)> {
        let piece = |(start, end): (usize, usize)| {
            std::str::from_utf8(self.hrefs.get(start..end).unwrap_or_default()).unwrap_or_default()
        };
        self.links.iter().map(move |link| {
            let anchor = self.text.slice(link.text.0, link.text.1, MAX_ANCHOR);
            (piece(link.href), piece(link.rel), anchor)
        })
    }

    /// Number of links.
    pub(super) fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Title and text.
    pub(super) fn into_title_and_text(self) -> (Option<String>, String) {
        let without = union(&self.cut, &self.boilerplate);
        let kept = self.text.len() - without.iter().map(|(start, end)| end - start).sum::<usize>();
        let cut = if kept >= MIN_MAIN_TEXT { &without } else { &self.cut };
        let title = self.title.into_string(&[]);
        ((!title.is_empty()).then_some(title), self.text.into_string(cut))
    }
}

fn add_bytes(to: &mut Vec<u8>, bytes: &[u8]) -> (usize, usize) {
    let start = to.len();
    to.extend_from_slice(bytes);
    (start, to.len())
}

/// Adds a range that begins where or after the last one ended.
fn add_range(ranges: &mut Vec<(usize, usize)>, start: usize, end: usize) {
    match ranges.last_mut() {
        Some(last) if last.1 >= start => last.1 = last.1.max(end),
        _ if end > start => ranges.push((start, end)),
        _ => {}
    }
}

/// The union of two sorted lists of ranges, as such a list.
fn union(a: &[(usize, usize)], b: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let mut merged = Vec::with_capacity(all.len());
    for (start, end) in all {
        add_range(&mut merged, start, end);
    }
    merged
}

/// The largest length up to `room` at which `bytes` can be cut without cutting a character.
fn character_boundary(bytes: &[u8], room: usize) -> usize {
    let mut end = bytes.len().min(room);
    while end > 0 && bytes.get(end).is_some_and(|b| b & 0xc0 == 0x80) {
        end -= 1;
    }
    end
}
