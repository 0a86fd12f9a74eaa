//! Which of the text that comes by is the page's text?
//!
//! Everything recorded goes to one buffer, also what is not the page's (an image's alternative text inside a
//! link, a button), so that links and headings are ranges of it; ranges that are not the page's are cut out at the end.

use super::limits::{MAX_ANCHOR, MAX_TEXT, MIN_MAIN_TEXT};
use super::tags::Tag;
use super::text::{Gap, Text};

/// Bytes of a link's or heading's text that are recorded when the page's own text is full.
const MAX_PIECE: usize = 4 * MAX_ANCHOR;

/// A range of the text, in bytes.
type Range = (usize, usize);

/// A page's text and what is to be cut out of it.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) text: Text,
    /// Where the page's text ended because it was full.
    full: Option<usize>,
    /// If text is hidden now: since which position, and the gap before it.
    hidden: Option<(usize, Gap)>,
    /// Hidden ranges: never part of the text.
    cut: Vec<Range>,
    nav: u32,
    /// A stack of bits, one for each open header, footer or aside: whether it is one of the page, not of its main part.
    frame: u64,
    main: u32,
    boilerplate_since: Option<usize>,
    boilerplate: Vec<Range>,
}

impl Body {
    pub(super) fn with_capacity(bytes: usize) -> Body {
        Body { text: Text::with_capacity(bytes), ..Body::default() }
    }

    /// Records text if there is room for it.
    #[inline]
    pub(super) fn record(&mut self, bytes: &[u8]) -> bool {
        let room = self.full.is_none() && self.text.len() + bytes.len() < MAX_TEXT;
        if room {
            self.text.push(bytes);
        }
        room
    }

    /// Records what there is room for, and of a link or heading that began at `start` a little more.
    #[cold]
    pub(super) fn record_beyond(&mut self, mut bytes: &[u8], start: Option<usize>) {
        if self.full.is_none() {
            let room = character_boundary(bytes, MAX_TEXT.saturating_sub(self.text.len()));
            self.text.push(&bytes[..room]);
            bytes = &bytes[room..];
            self.full = Some(self.text.len());
        }
        if let Some(start) = start {
            let room = MAX_PIECE.saturating_sub(self.text.len().saturating_sub(start));
            self.text.push(&bytes[..character_boundary(bytes, room)]);
        }
    }

    /// Whether there was more text than is kept.
    pub(super) fn is_full(&self) -> bool {
        self.full.is_some()
    }

    /// Whether what is recorded now is not the page's text.
    #[inline]
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    /// From here on what is recorded is, or is not, the page's text.
    pub(super) fn set_hidden(&mut self, hidden: bool) {
        match self.hidden {
            None if hidden => {
                self.hidden = Some((self.text.len(), self.text.gap()));
                self.text.separate(Gap::Space);
            }
            Some((since, gap)) if !hidden => {
                self.hidden = None;
                if self.text.len() > since {
                    // Inside a link or heading the hidden part still stands apart from what follows.
                    self.text.write_space();
                    add_range(&mut self.cut, since, self.text.len());
                }
                self.text.set_gap(gap);
            }
            _ => {}
        }
    }

    /// Begins a part of the page. A header, footer or aside inside the main part or an article belongs to it.
    pub(super) fn start_part(&mut self, tag: Tag) {
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

    /// Ends a part of the page.
    pub(super) fn end_part(&mut self, tag: Tag) {
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

    /// Ends what is open.
    pub(super) fn finish(&mut self) {
        self.set_hidden(false);
        (self.nav, self.frame) = (0, 0);
        self.update_boilerplate();
        if let Some(full) = self.full {
            self.cut = union(&self.cut, &[(full, self.text.len())]);
        }
    }

    /// The page's text: without navigation and the like, if [`MIN_MAIN_TEXT`] is left then.
    pub(super) fn into_string(self) -> String {
        let without = union(&self.cut, &self.boilerplate);
        let left = self.text.len() - without.iter().map(|(start, end)| end - start).sum::<usize>();
        self.text.into_string(if left >= MIN_MAIN_TEXT { &without } else { &self.cut })
    }
}

/// Adds a range that begins at or after the begin of the last one.
fn add_range(ranges: &mut Vec<Range>, start: usize, end: usize) {
    match ranges.last_mut() {
        Some(last) if last.1 >= start => last.1 = last.1.max(end),
        _ if end > start => ranges.push((start, end)),
        _ => {}
    }
}

/// The union of two sorted lists of ranges, as such a list.
fn union(a: &[Range], b: &[Range]) -> Vec<Range> {
    let mut all: Vec<Range> = a.iter().chain(b).copied().collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_union_covers_what_either_covers(a in ranges(), b in ranges()) {
            let union = union(&a, &b);
            let covers = |l: &[Range], x| l.iter().any(|(s, e)| (*s..*e).contains(&x));
            for x in 0..120 {
                prop_assert_eq!(covers(&union, x), covers(&a, x) || covers(&b, x));
            }
            prop_assert!(union.windows(2).all(|w| w[0].1 < w[1].0));
        }
    }

    fn ranges() -> impl Strategy<Value = Vec<Range>> {
        prop::collection::vec((1usize..10, 0usize..10), 0..6).prop_map(|steps| {
            let (mut ranges, mut at) = (Vec::new(), 0);
            for (gap, length) in steps {
                add_range(&mut ranges, at + gap, at + gap + length);
                at += gap + length;
            }
            ranges
        })
    }
}
