//! Where in a page is SVG or MathML, in which tags mean nothing and tokens are other than in HTML?
//! (HTML Standard, 13.2.6.5 "The rules for parsing tokens in foreign content".)

use super::tags::Tag;

/// A level of nesting of foreign content and of the HTML inside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frame {
    Svg,
    Math,
    /// HTML inside SVG or MathML, in the element with this tag.
    Html(Tag),
}

/// Nesting that is tracked; real pages have three levels. What is deeper is taken for part of the last one.
const MAX_FRAMES: usize = 32;

/// The foreign content that the pass is in.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    frames: Vec<Frame>,
    svg: bool,
    /// A style or script inside: its text is none.
    pub(super) raw: bool,
}

impl Foreign {
    /// Whether tags are foreign here.
    #[inline]
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Svg | Frame::Math))
    }

    /// Whether this is anywhere inside SVG.
    #[inline]
    pub(super) fn in_svg(&self) -> bool {
        self.svg
    }

    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Back to a former depth.
    pub(super) fn truncate(&mut self, depth: usize) {
        self.frames.truncate(depth);
        self.changed();
    }

    /// The start tag of `svg` or `math` in HTML, or any start tag in foreign content.
    pub(super) fn start(&mut self, tag: Tag, self_closing: bool) {
        if self_closing || self.frames.len() >= MAX_FRAMES {
            return;
        }
        let frame = match (self.frames.last(), tag) {
            (_, Tag::Svg) => Frame::Svg,
            (_, Tag::Math) => Frame::Math,
            (Some(Frame::Svg), Tag::ForeignObject | Tag::Desc | Tag::Title)
            | (Some(Frame::Math), Tag::MathText) => Frame::Html(tag),
            (Some(_), Tag::Script | Tag::Style) => {
                self.raw = true;
                return;
            }
            _ => return,
        };
        self.frames.push(frame);
        self.changed();
    }

    /// An end tag while there is foreign content.
    pub(super) fn end(&mut self, tag: Tag) {
        let wanted = match tag {
            Tag::Svg => Frame::Svg,
            Tag::Math => Frame::Math,
            Tag::ForeignObject | Tag::Desc | Tag::Title | Tag::MathText => Frame::Html(tag),
            Tag::Script | Tag::Style => {
                self.raw = false;
                return;
            }
            // The end of something that this content stands in.
            Tag::BlockOut | Tag::Block | Tag::Cell | Tag::TablePart | Tag::Table if self.is_foreign() => {
                self.leave();
                return;
            }
            _ => return,
        };
        if let Some(at) = self.frames.iter().rposition(|f| *f == wanted) {
            self.truncate(at);
        }
    }

    /// Back to the innermost HTML.
    pub(super) fn leave(&mut self) {
        while self.is_foreign() {
            self.frames.pop();
        }
        self.changed();
    }

    fn changed(&mut self) {
        self.raw = false;
        self.svg = self.frames.contains(&Frame::Svg);
    }
}
