//! What does an element mean for a page's text, links and tree?

use html5gum::State;

/// The elements that make a difference here; the rest is `Other`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    /// Inline, without meaning.
    Other,
    A,
    Area,
    Base,
    Html,
    Img,
    Link,
    Meta,
    // Their content is not mark-up.
    Title,
    Textarea,
    Script,
    Style,
    /// `iframe`, `noembed`, `noframes`: shown only by browsers of long ago.
    Fallback,
    /// `xmp`: text as it stands.
    Xmp,
    Plaintext,
    // Not part of the text.
    Template,
    Button,
    Select,
    Datalist,
    RubyParenthesis,
    // Foreign content and the places in it where HTML begins again.
    Svg,
    Math,
    ForeignObject,
    Desc,
    MathText,
    // Parts of a page.
    Main,
    Article,
    Nav,
    Aside,
    Header,
    Footer,
    Heading(u8),
    // Tables, whose cells end what is open in them.
    Table,
    Cell,
    TablePart,
    /// `br`, and what ends foreign content besides.
    Break,
    Form,
    Input,
    /// Begins a new line.
    Block,
    /// Begins a new line and ends foreign content.
    BlockOut,
    /// Inline, and ends foreign content.
    InlineOut,
    /// Separated from what is around it, without beginning a line.
    Apart,
}

impl Tag {
    /// By its name in lower case.
    pub(super) fn of(name: &[u8]) -> Tag {
        match name {
            b"a" => Tag::A,
            b"p" | b"div" | b"li" | b"ul" | b"ol" | b"dl" | b"dt" | b"dd" | b"pre" | b"blockquote"
            | b"hr" | b"center" | b"menu" | b"listing" | b"body" | b"head" => Tag::BlockOut,
            b"span" | b"b" | b"i" | b"em" | b"strong" | b"code" | b"small" | b"big" | b"sub" | b"sup"
            | b"tt" | b"u" | b"s" | b"strike" | b"var" | b"embed" | b"nobr" | b"ruby" => Tag::InlineOut,
            b"td" | b"th" | b"caption" => Tag::Cell,
            b"tr" | b"tbody" | b"thead" | b"tfoot" | b"colgroup" => Tag::TablePart,
            b"table" => Tag::Table,
            b"img" | b"image" => Tag::Img,
            b"br" => Tag::Break,
            b"h1" => Tag::Heading(1),
            b"h2" => Tag::Heading(2),
            b"h3" => Tag::Heading(3),
            b"h4" => Tag::Heading(4),
            b"h5" => Tag::Heading(5),
            b"h6" => Tag::Heading(6),
            b"script" => Tag::Script,
            b"style" => Tag::Style,
            b"link" => Tag::Link,
            b"meta" => Tag::Meta,
            b"title" => Tag::Title,
            b"base" => Tag::Base,
            b"html" => Tag::Html,
            b"area" => Tag::Area,
            b"textarea" => Tag::Textarea,
            b"iframe" | b"noembed" | b"noframes" => Tag::Fallback,
            b"xmp" => Tag::Xmp,
            b"plaintext" => Tag::Plaintext,
            b"template" => Tag::Template,
            b"button" => Tag::Button,
            b"select" => Tag::Select,
            b"datalist" => Tag::Datalist,
            b"rp" => Tag::RubyParenthesis,
            b"svg" => Tag::Svg,
            b"math" => Tag::Math,
            b"foreignobject" => Tag::ForeignObject,
            b"desc" => Tag::Desc,
            b"mi" | b"mo" | b"mn" | b"ms" | b"mtext" => Tag::MathText,
            b"main" => Tag::Main,
            b"article" => Tag::Article,
            b"nav" => Tag::Nav,
            b"aside" => Tag::Aside,
            b"header" => Tag::Header,
            b"footer" => Tag::Footer,
            b"form" => Tag::Form,
            b"input" => Tag::Input,
            b"section" | b"address" | b"details" | b"dialog" | b"dir" | b"fieldset" | b"figcaption"
            | b"figure" | b"hgroup" | b"legend" | b"search" | b"summary" | b"optgroup" | b"option" => {
                Tag::Block
            }
            b"label" | b"object" | b"video" | b"audio" | b"canvas" | b"output" | b"meter" | b"progress" => {
                Tag::Apart
            }
            _ => Tag::Other,
        }
    }

    /// Whether any attribute of it is of use.
    pub(super) fn has_attributes(self) -> bool {
        matches!(self, Tag::A | Tag::Area | Tag::Base | Tag::Html | Tag::Img | Tag::Link | Tag::Meta)
    }

    /// How the tokenizer goes on after its start tag (HTML Standard, 13.2.6.4, scripting off).
    pub(super) fn next_state(self) -> Option<State> {
        match self {
            Tag::Title | Tag::Textarea => Some(State::RcData),
            Tag::Style | Tag::Fallback | Tag::Xmp => Some(State::RawText),
            Tag::Script => Some(State::ScriptData),
            Tag::Plaintext => Some(State::PlainText),
            _ => None,
        }
    }

    /// Whether its start tag ends SVG or MathML that it stands in (13.2.6.5).
    pub(super) fn leaves_foreign(self) -> bool {
        matches!(
            self,
            Tag::BlockOut | Tag::InlineOut | Tag::Break | Tag::Img | Tag::Meta | Tag::Table | Tag::Heading(_)
        )
    }
}

/// The attributes that are of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attribute {
    Href,
    Rel,
    Alt,
    Lang,
    XmlLang,
    Name,
    Content,
    HttpEquiv,
    Hreflang,
    Type,
    Property,
}

/// Number of [`Attribute`]s.
pub(super) const ATTRIBUTES: usize = 11;

impl Attribute {
    /// By its name in lower case.
    pub(super) fn of(name: &[u8]) -> Option<Attribute> {
        Some(match name {
            b"href" => Attribute::Href,
            b"rel" => Attribute::Rel,
            b"alt" => Attribute::Alt,
            b"lang" => Attribute::Lang,
            b"xml:lang" => Attribute::XmlLang,
            b"name" => Attribute::Name,
            b"content" => Attribute::Content,
            b"http-equiv" => Attribute::HttpEquiv,
            b"hreflang" => Attribute::Hreflang,
            b"type" => Attribute::Type,
            b"property" => Attribute::Property,
            _ => return None,
        })
    }
}
