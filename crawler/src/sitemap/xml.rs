//! What do the elements of a sitemap or feed say?
//!
//! Tolerant: an entry is what lies between the start of one and its end (or the start of the next), its fields are
//! its children with the same namespace prefix. That tells `<loc>` from `<image:loc>` without resolving
//! namespaces, which many files declare wrongly.

use super::{Collector, Defect, Kind};
use crate::canon::MAX_URL;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

/// The longest field read, in bytes: a URL with much space around it.
const MAX_FIELD: usize = 2 * MAX_URL;

/// Attributes of one element that are looked at; links have about four.
const MAX_ATTRIBUTES: usize = 32;

/// Reads a whole file.
pub(super) fn read(text: &str, collector: &mut Collector) {
    let mut reader = Reader::from_str(text);
    tolerate(&mut reader);
    let mut state = State::default();
    loop {
        let more = match reader.read_event() {
            Ok(Event::Start(element)) => state.start(&element, false, collector),
            Ok(Event::Empty(element)) => state.start(&element, true, collector),
            Ok(Event::End(_)) => state.end(collector),
            Ok(Event::Text(text)) => state.text(&text.into_inner()),
            Ok(Event::CData(text)) => state.text(&text.into_inner()),
            Ok(Event::GeneralRef(reference)) => state.reference(&reference),
            Ok(Event::Eof) => {
                state.stop(collector);
                false
            }
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => true,
            Err(_) => {
                collector.defect(Defect::Xml);
                state.stop(collector);
                false
            }
        };
        if !more {
            break;
        }
    }
    match state.kind {
        Some(kind) => collector.sitemap.feed = kind.is_feed(),
        None => collector.defect(Defect::Unknown),
    }
}

/// What the root element says of the kind of file; `None` if there is no root element.
pub(super) fn root(head: &str) -> Option<Option<Kind>> {
    let mut reader = Reader::from_str(head);
    tolerate(&mut reader);
    loop {
        match reader.read_event() {
            Ok(Event::Start(element) | Event::Empty(element)) => {
                return Some(kind(element.local_name().as_ref()));
            }
            Ok(Event::Text(text)) if text.trim().is_empty() => {}
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            _ => return None,
        }
    }
}

fn tolerate(reader: &mut Reader<&[u8]>) {
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
}

fn kind(root: &str) -> Option<Kind> {
    Some(match root {
        "urlset" => Kind::UrlSet,
        "sitemapindex" => Kind::SitemapIndex,
        "rss" => Kind::Rss,
        "RDF" => Kind::Rdf,
        "feed" => Kind::Atom,
        _ => return None,
    })
}

/// The name of an element, apart from its prefix.
fn split(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

/// What a child of an entry is good for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Url,
    /// A URL where there is no better one.
    Id,
    Date,
    /// A date where there is no better one.
    FirstDate,
}

fn field(kind: Kind, same_prefix: bool, name: &str) -> Option<Field> {
    Some(match (kind, name) {
        (Kind::UrlSet | Kind::SitemapIndex, "loc") if same_prefix => Field::Url,
        (Kind::UrlSet | Kind::SitemapIndex, "lastmod") if same_prefix => Field::Date,
        (Kind::Rss | Kind::Rdf, "link") if same_prefix => Field::Url,
        (Kind::Rss, "guid") if same_prefix => Field::Id,
        (Kind::Rss, "pubDate") if same_prefix => Field::Date,
        // Dublin Core, whatever its prefix.
        (Kind::Rss | Kind::Rdf, "date") if !same_prefix => Field::Date,
        (Kind::Atom, "updated") if same_prefix => Field::Date,
        (Kind::Atom, "published") if same_prefix => Field::FirstDate,
        _ => return None,
    })
}

#[derive(Default)]
struct State {
    kind: Option<Kind>,
    /// Elements open, as far as starts and ends tell.
    open: usize,
    entry: Option<EntryState>,
}

struct EntryState {
    prefix: String,
    /// Elements open within it.
    depth: usize,
    /// The field whose text is read now.
    field: Option<Field>,
    text: String,
    url: String,
    id: String,
    date: String,
    first_date: String,
}

impl State {
    fn start(&mut self, element: &BytesStart<'_>, empty: bool, collector: &mut Collector) -> bool {
        let name = element.name();
        let (prefix, local) = split(name.as_ref());
        self.open += usize::from(!empty);
        let Some(kind) = self.kind else {
            self.kind = kind(local);
            if kind(local) == Some(Kind::Atom)
                && let Some(base) = attribute(element, |name| name == "xml:base")
                && let Ok(base) = collector.base.join(base.trim())
            {
                collector.base = base;
            }
            // The root of something else: there is nothing to find in it.
            return self.kind.is_some();
        };
        let is_entry = match kind {
            Kind::UrlSet => local == "url",
            Kind::SitemapIndex => local == "sitemap",
            Kind::Rss | Kind::Rdf => local == "item",
            Kind::Atom => local == "entry",
        };
        if is_entry {
            let more = self.finish(collector);
            let about = match kind {
                Kind::Rdf => attribute(element, |name| split(name).1 == "about").unwrap_or_default(),
                _ => String::new(),
            };
            self.entry = Some(EntryState {
                prefix: prefix.to_owned(),
                depth: 0,
                field: None,
                text: String::new(),
                url: String::new(),
                id: about,
                date: String::new(),
                first_date: String::new(),
            });
            return more && (!empty || self.finish(collector));
        }
        let Some(entry) = &mut self.entry else { return true };
        if entry.depth == 0 {
            let same_prefix = entry.prefix == prefix;
            entry.field = if empty { None } else { field(kind, same_prefix, local) };
            entry.text.clear();
            if kind == Kind::Atom && same_prefix && local == "link" && entry.url.is_empty() {
                entry.atom_link(element);
            }
            let opaque = attribute(element, |name| name == "isPermaLink");
            if entry.field == Some(Field::Id)
                && opaque.is_some_and(|is| is.trim().eq_ignore_ascii_case("false"))
            {
                entry.field = None;
            }
        }
        entry.depth += usize::from(!empty);
        true
    }

    fn end(&mut self, collector: &mut Collector) -> bool {
        self.open = self.open.saturating_sub(1);
        match &mut self.entry {
            None => true,
            Some(entry) if entry.depth == 0 => self.finish(collector),
            Some(entry) => {
                entry.depth -= 1;
                if entry.depth == 0 {
                    entry.take_field();
                }
                true
            }
        }
    }

    /// Takes text of a field; one over [`MAX_FIELD`] is given up.
    fn text(&mut self, text: &str) -> bool {
        if let Some(entry) = &mut self.entry
            && entry.field.is_some()
        {
            if entry.text.len() + text.len() <= MAX_FIELD {
                entry.text.push_str(text);
            } else {
                entry.field = None;
            }
        }
        true
    }

    /// `&amp;` and `&#38;`; an unknown one is left as written, since in a URL it is most often a bare `&`.
    fn reference(&mut self, reference: &BytesRef<'_>) -> bool {
        if let Ok(Some(character)) = reference.resolve_char_ref() {
            return self.text(character.encode_utf8(&mut [0; 4]));
        }
        let name: &str = reference;
        match resolve_predefined_entity(name) {
            Some(text) => self.text(text),
            None => self.text("&") && self.text(name) && self.text(";"),
        }
    }

    /// Ends the entry that is open, if one is; false when there is no room for more.
    fn finish(&mut self, collector: &mut Collector) -> bool {
        let Some(mut entry) = self.entry.take() else { return true };
        entry.take_field();
        let url = if entry.url.trim().is_empty() { &entry.id } else { &entry.url };
        let date = if entry.date.trim().is_empty() { &entry.first_date } else { &entry.date };
        collector.entry(url, date, self.kind == Some(Kind::SitemapIndex))
    }

    /// Here the file ends, in order or not. The field it ends in may be half a URL.
    fn stop(&mut self, collector: &mut Collector) {
        if self.open > 0 {
            collector.defect(Defect::Xml);
        }
        if let Some(entry) = &mut self.entry {
            entry.field = None;
            if !entry.url.is_empty() {
                self.finish(collector);
            }
        }
    }
}

impl EntryState {
    /// The text of a field is complete; the first of each kind counts.
    fn take_field(&mut self) {
        let place = match self.field.take() {
            Some(Field::Url) => &mut self.url,
            Some(Field::Id) => &mut self.id,
            Some(Field::Date) => &mut self.date,
            Some(Field::FirstDate) => &mut self.first_date,
            None => return,
        };
        if place.is_empty() {
            std::mem::swap(place, &mut self.text);
        }
        self.text.clear();
    }

    /// `<link href="…"/>`, unless it is of another kind than the entry itself (RFC 4287 section 4.2.7.2).
    fn atom_link(&mut self, element: &BytesStart<'_>) {
        let itself = attribute(element, |name| name == "rel").is_none_or(|rel| rel.trim() == "alternate");
        if let (true, Some(href)) = (itself, attribute(element, |name| name == "href")) {
            self.url = href;
        }
    }
}

/// The value of the first attribute whose name is wanted.
fn attribute(element: &BytesStart<'_>, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let mut attributes = element.attributes();
    let found =
        attributes.with_checks(false).take(MAX_ATTRIBUTES).flatten().find(|one| wanted(one.key.as_ref()))?;
    if found.value.len() > MAX_FIELD {
        return None;
    }
    let value = found.normalized_value(XmlVersion::Implicit1_0);
    Some(value.unwrap_or(found.value).into_owned())
}
