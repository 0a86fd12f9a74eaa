//! What people read: on a terminal with colours, else plain; on standard output if that is a terminal, else on
//! standard error, so that standard output holds JSON or nothing.

use std::fmt::{Display, Write as _};
use std::io::{IsTerminal, Write};

/// Text for people, gathered and then shown at once.
pub struct Page {
    text: String,
    colours: bool,
}

impl Page {
    /// An empty one.
    pub fn new() -> Page {
        let terminal = if std::io::stdout().is_terminal() { true } else { std::io::stderr().is_terminal() };
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Page { text: String::new(), colours: terminal && !unwanted }
    }

    /// An empty one without colours.
    #[cfg(test)]
    pub fn plain() -> Page {
        Page { text: String::new(), colours: false }
    }

    /// A line. What it says is made safe.
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}", clean(text));
    }

    /// A line of a name and a value, the values below each other.
    pub fn field(&mut self, name: &str, value: impl std::fmt::Display) {
        let name = format!("{name}:");
        let _ =
            writeln!(self.text, "{}{}", self.paint(&format!("{name:18}"), "2"), clean(&value.to_string()));
    }

    /// As [`Page::field`], if there is a value.
    pub fn field_if(&mut self, name: &str, value: &Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.field(name, value);
        }
    }

    /// A line in bold.
    pub fn bold(&mut self, text: &str) {
        let line = self.paint(&clean(text), "1");
        let _ = writeln!(self.text, "{line}");
    }

    /// A line that steps back.
    pub fn quiet(&mut self, text: &str) {
        let line = self.paint(&clean(text), "2");
        let _ = writeln!(self.text, "{line}");
    }

    /// A line that holds a link.
    pub fn link(&mut self, text: &str) {
        let line = self.paint(&clean(text), "32");
        let _ = writeln!(self.text, "{line}");
    }

    /// A snippet: what is in `<b>` stands out, the rest is text.
    pub fn snippet(&mut self, indent: &str, html: &str) {
        let (on, off) = if self.colours { ("\u{1b}[1;33m", "\u{1b}[0m") } else { ("*", "*") };
        let mut line = String::from(indent);
        let mut open = false;
        let mut rest = html;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("<b>") {
                line.push_str(if open { "" } else { on });
                (open, rest) = (true, after);
            } else if let Some(after) = rest.strip_prefix("</b>") {
                line.push_str(if open { off } else { "" });
                (open, rest) = (false, after);
            } else {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                let end = rest[first..].find('<').map_or(rest.len(), |at| at + first);
                line.push_str(&clean(&unescape(&rest[..end])));
                rest = &rest[end..];
            }
        }
        let _ = writeln!(self.text, "{line}{}", if open { off } else { "" });
    }

    /// What was gathered.
    #[cfg(test)]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Shows it. A reader that went away is not an error.
    pub fn show(self) {
        let stdout = std::io::stdout();
        let _ = if stdout.is_terminal() {
            stdout.lock().write_all(self.text.as_bytes())
        } else {
            std::io::stderr().lock().write_all(self.text.as_bytes())
        };
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Writes JSON for programs: one line on standard output. A reader that went away is not an error.
pub fn json_line(text: &str) {
    line(text);
}

/// Writes a line on standard output, and says whether there is still somebody to read more (`| head` goes away when it has enough).
pub fn line(text: impl Display) -> bool {
    writeln!(std::io::stdout().lock(), "{text}").is_ok()
}

/// Text without what would command a terminal: control characters, and marks that turn its direction.
pub fn clean(text: &str) -> String {
    let harmless = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => '\u{fffd}',
        c => c,
    };
    text.chars().map(harmless).collect()
}

/// Undoes the escapes of HTML that a snippet may have; `&amp;` last, so that nothing is undone twice.
fn unescape(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")]
        .into_iter()
        .fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c))
}

/// A number of bytes for people.
pub fn bytes(n: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match UNITS.iter().find(|(_, per)| n as f64 >= *per) {
        Some((unit, per)) => format!("{:.1} {unit}", n as f64 / per),
        None => format!("{n} B"),
    }
}

/// A span of time for people.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600..=86_399 => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_by_the_web_commands_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\u{7}\u{202e}c\nd"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c d");
        let mut page = Page::plain();
        page.line("x\u{1b}]0;evil\u{7}");
        page.field("name", "y\u{1b}[0m");
        page.snippet("", "z\u{1b}[0m");
        assert!(!page.text().contains('\u{1b}'), "{:?}", page.text());
    }

    #[test]
    fn matches_in_a_snippet_stand_out() {
        let mut page = Page::plain();
        page.snippet("  ", "a &lt;b&gt; <b>c</b> &amp;lt; <b>d");
        assert_eq!(page.text(), "  a <b> *c* &lt; *d*\n");
        let mut page = Page { colours: true, ..Page::plain() };
        page.snippet("", "<b>c</b>");
        assert_eq!(page.text(), "\u{1b}[1;33mc\u{1b}[0m\n");
    }

    #[test]
    fn numbers_are_said_as_people_say_them() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1_500), bytes(2_000_000_000)],
            ["0 B", "999 B", "1.5 kB", "2.0 GB"]
        );
        assert_eq!([span(5), span(61), span(3_700), span(90_000)], ["5s", "1m 1s", "1h 1m", "1d 1h"]);
    }
}
