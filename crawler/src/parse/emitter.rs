//! From the tokenizer's calls to start tags, end tags and text, without an allocation per token.
//!
//! Names longer than any that means something, and attributes that mean nothing, are not even copied.

use super::limits::MAX_ATTRIBUTE;
use super::pass::Pass;
use super::tags::{ATTRIBUTES, Attribute, Tag};
use html5gum::{Emitter, Error, State};
use std::convert::Infallible;

/// Longest name of interest is `foreignobject`.
const NAME: usize = 16;

/// A name in lower case, if it is short enough to be one of interest.
#[derive(Clone, Copy, Debug, Default)]
struct Name {
    bytes: [u8; NAME],
    /// Above `NAME`: too long.
    length: usize,
}

impl Name {
    fn clear(&mut self) {
        self.length = 0;
    }

    #[inline]
    fn push(&mut self, part: &[u8]) {
        let end = self.length.saturating_add(part.len());
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(part);
        }
        self.length = end;
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The attributes of interest of the current start tag; the first of a name counts.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    values: Vec<u8>,
    ranges: [Option<(u32, u32)>; ATTRIBUTES],
    any: bool,
    /// A bit for each that was longer than [`MAX_ATTRIBUTE`]; it counts as empty.
    too_long: u16,
}

impl Attributes {
    fn clear(&mut self) {
        if self.any {
            self.values.clear();
            self.ranges = [None; ATTRIBUTES];
            self.any = false;
            self.too_long = 0;
        }
    }

    /// Its value, if the tag has it.
    pub(super) fn get(&self, attribute: Attribute) -> Option<&[u8]> {
        let (start, end) = self.ranges[attribute as usize]?;
        self.values.get(start as usize..end as usize)
    }

    /// Whether its value was too long to be kept.
    pub(super) fn is_too_long(&self, attribute: Attribute) -> bool {
        self.too_long & (1 << attribute as u16) != 0
    }

    /// Its value as text, if the tag has it.
    pub(super) fn text(&self, attribute: Attribute) -> Option<&str> {
        std::str::from_utf8(self.get(attribute)?).ok()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Start,
    End,
}

/// The tokenizer's emitter: collects a tag, hands it to the [`Pass`].
#[derive(Debug)]
pub(super) struct Collector<'p> {
    pass: &'p mut Pass,
    which: Which,
    tag_name: Name,
    tag: Option<Tag>,
    self_closing: bool,
    attributes: Attributes,
    attribute_name: Name,
    /// The attribute whose value is being collected.
    attribute: Option<Attribute>,
    in_attribute: bool,
    /// Of the current tag.
    attribute_count: u32,
    tag_bytes: usize,
    /// The last start tag's name, if its content is not mark-up: only its own end tag ends it.
    raw: Option<Name>,
    in_tag: bool,
}

impl<'p> Collector<'p> {
    pub(super) fn new(pass: &'p mut Pass) -> Collector<'p> {
        Collector {
            pass,
            which: Which::Start,
            tag_name: Name::default(),
            tag: None,
            self_closing: false,
            attributes: Attributes::default(),
            attribute_name: Name::default(),
            attribute: None,
            in_attribute: false,
            attribute_count: 0,
            tag_bytes: 0,
            raw: None,
            in_tag: false,
        }
    }

    fn begin_tag(&mut self, which: Which) {
        self.which = which;
        self.tag_name.clear();
        self.tag = None;
        self.self_closing = false;
        self.in_attribute = false;
        self.attribute_count = 0;
        self.tag_bytes = 0;
        self.in_tag = true;
    }

    /// The current tag, whose name is complete.
    #[inline]
    fn current(&mut self) -> Tag {
        let name = &self.tag_name;
        *self.tag.get_or_insert_with(|| Tag::of(name.as_bytes()))
    }

    /// The attribute's name is complete: is it one of interest that was not there before?
    fn begin_value(&mut self) {
        self.attribute = Attribute::of(self.attribute_name.as_bytes())
            .filter(|a| self.attributes.ranges[*a as usize].is_none());
        if let Some(attribute) = self.attribute {
            let at = self.attributes.values.len() as u32;
            self.attributes.ranges[attribute as usize] = Some((at, at));
            self.attributes.any = true;
        }
        self.attribute_name.clear();
    }

    fn end_attribute(&mut self) {
        if self.in_attribute {
            if self.attribute_name.length > 0 {
                self.begin_value();
            }
            self.in_attribute = false;
            self.attribute = None;
        }
    }
}

impl Emitter for Collector<'_> {
    type Token = Infallible;

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}

    fn emit_eof(&mut self) {
        if self.in_tag || self.raw.is_some() {
            self.pass.ended_inside();
        }
    }

    #[inline]
    fn emit_error(&mut self, _: Error) {}

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    #[inline]
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    #[inline]
    fn emit_string(&mut self, text: &[u8]) {
        self.in_tag = false;
        self.pass.text(text);
    }

    #[inline]
    fn init_start_tag(&mut self) {
        self.begin_tag(Which::Start);
    }

    #[inline]
    fn init_end_tag(&mut self) {
        self.begin_tag(Which::End);
    }

    fn init_comment(&mut self) {
        self.in_tag = true;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        self.in_tag = false;
        self.pass.largest_tag = self.pass.largest_tag.max(self.tag_bytes);
        self.pass.most_attributes = self.pass.most_attributes.max(self.attribute_count);
        let tag = self.current();
        if self.which == Which::End {
            self.raw = None;
            self.pass.end(tag);
            return None;
        }
        let state = self.pass.start(tag, &self.attributes, self.self_closing);
        self.attributes.clear();
        self.raw = state.filter(|s| *s != State::PlainText).map(|_| self.tag_name);
        state
    }

    fn emit_current_comment(&mut self) {
        self.in_tag = false;
    }

    fn emit_current_doctype(&mut self) {
        self.in_tag = false;
    }

    #[inline]
    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }

    fn set_force_quirks(&mut self) {}

    #[inline]
    fn push_tag_name(&mut self, part: &[u8]) {
        self.tag_name.push(part);
    }

    fn push_comment(&mut self, _: &[u8]) {}

    fn push_doctype_name(&mut self, _: &[u8]) {}

    fn init_doctype(&mut self) {
        self.in_tag = true;
    }

    #[inline]
    fn init_attribute(&mut self) {
        self.end_attribute();
        self.attribute_count += 1;
        self.in_attribute = self.which == Which::Start && self.current().has_attributes();
        self.attribute_name.clear();
    }

    #[inline]
    fn push_attribute_name(&mut self, part: &[u8]) {
        self.tag_bytes += part.len();
        if self.in_attribute {
            self.attribute_name.push(part);
        }
    }

    #[inline]
    fn push_attribute_value(&mut self, part: &[u8]) {
        self.tag_bytes += part.len();
        if !self.in_attribute {
            return;
        }
        if self.attribute_name.length > 0 {
            self.begin_value();
        }
        let Some(attribute) = self.attribute else { return };
        let Some((start, end)) = &mut self.attributes.ranges[attribute as usize] else { return };
        if (*end - *start) as usize + part.len() > MAX_ATTRIBUTE {
            self.attributes.too_long |= 1 << attribute as u16;
            self.attribute = None;
            self.attributes.values.truncate(*start as usize);
            *end = *start;
            return;
        }
        self.attributes.values.extend_from_slice(part);
        *end = self.attributes.values.len() as u32;
    }

    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}

    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}

    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}

    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.which == Which::End && self.raw.is_some_and(|raw| raw.as_bytes() == self.tag_name.as_bytes())
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.pass.in_foreign()
    }
}
