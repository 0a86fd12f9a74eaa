//! What does `anthill.toml` say, and on which lines?

use super::error::SettingsError;
use super::origin::{Origin, Sourced};
use super::table;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Largest file read: thousands of extraction rules fit.
pub const MAX_FILE: u64 = 1 << 20;

/// Values of a file, by path.
pub type Values = Vec<(Vec<String>, Sourced)>;

/// Reads the file.
///
/// # Errors
/// When it cannot be read, is no TOML, has an unknown key or a value of the wrong kind.
pub fn read(path: &Path) -> Result<Values, SettingsError> {
    let failed = |source| SettingsError::Read { path: path.to_owned(), source };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(failed)?;
    if read as u64 > MAX_FILE {
        return Err(SettingsError::TooLarge { path: path.to_owned(), limit: MAX_FILE });
    }
    parse(&text, path)
}

/// Reads the text of a file; `path` is for messages.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, path: &Path) -> Result<Values, SettingsError> {
    let syntax = |e: toml::de::Error| SettingsError::Syntax {
        path: path.to_owned(),
        why: match e.span() {
            Some(span) => format!("line {}: {}", line_of(text, span.start), e.message()),
            None => e.message().to_owned(),
        },
    };
    let spans = DeTable::parse(text).map_err(syntax)?;
    let values: toml::Table = toml::from_str(text).map_err(syntax)?;
    let mut walk = Walk { text, path: Arc::new(path.to_owned()), found: Vec::new() };
    walk.table(spans.get_ref(), &values, &mut Vec::new())?;
    Ok(walk.found)
}

struct Walk<'a> {
    text: &'a str,
    path: Arc<PathBuf>,
    found: Values,
}

impl Walk<'_> {
    /// Goes through a section. Known keys are at most three deep, so an unknown one ends the descent.
    fn table(
        &mut self,
        spans: &DeTable<'_>,
        values: &toml::Table,
        at: &mut Vec<String>,
    ) -> Result<(), SettingsError> {
        for (name, span) in spans {
            let Some(value) = values.get(name.get_ref().as_ref()) else { continue };
            let line = line_of(self.text, name.span().start);
            at.push(name.get_ref().to_string());
            match (table::find(at), span.get_ref(), value) {
                (Some(key), _, _) => self.leaf(key, value, line, at)?,
                (None, DeValue::Table(inner), toml::Value::Table(values)) if is_section(at) => {
                    self.table(inner, values, at)?;
                }
                _ => return Err(self.unknown(at, line)),
            }
            at.pop();
        }
        Ok(())
    }

    fn leaf(
        &mut self,
        key: &table::Key,
        value: &toml::Value,
        line: usize,
        at: &[String],
    ) -> Result<(), SettingsError> {
        let origin = Origin::File(self.path.clone(), line);
        if let Err(why) = key.kind.check(value) {
            return Err(SettingsError::Value { key: table::dotted(at), origin, why });
        }
        self.found.push((at.to_vec(), Sourced { value: value.clone(), origin, kind: key.kind }));
        Ok(())
    }

    fn unknown(&self, at: &[String], line: usize) -> SettingsError {
        SettingsError::UnknownKey {
            path: self.path.to_path_buf(),
            line,
            key: table::dotted(at),
            nearest: table::nearest(at),
        }
    }
}

fn is_section(at: &[String]) -> bool {
    match at {
        [section] => {
            section == table::EXTRACT_SECTION
                || table::KEYS.iter().any(|k| k.path.split_once('.').is_some_and(|(head, _)| head == section))
        }
        [section, _site] => section == table::EXTRACT_SECTION,
        _ => false,
    }
}

/// The line, from 1, in which the byte at `offset` stands.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|b| *b == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, Path::new("a.toml")).expect_err("must be refused").to_string()
    }

    #[test]
    fn values_are_found_with_their_lines() {
        let text = "name = \"x\"\n\n[limits]\nper_host = 7\n[extract.\"example.org\"]\ntitle = \"h1\"\ndrop = [\"nav\"]\n";
        let found = parse(text, Path::new("a.toml")).expect("valid");
        let lines: Vec<_> = found.iter().map(|(path, s)| (path.join("/"), s.origin.to_string())).collect();
        for (path, origin) in [
            ("name", "a.toml line 1"),
            ("limits/per_host", "a.toml line 4"),
            ("extract/example.org/title", "a.toml line 6"),
            ("extract/example.org/drop", "a.toml line 7"),
        ] {
            assert!(lines.contains(&(path.to_owned(), origin.to_owned())), "{path} in {lines:?}");
        }
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
        for (text, key, line, nearest) in [
            ("\nhost_dealy = \"1s\"", "host_dealy", 2, "host_delay"),
            ("[limits]\nmax_bodi = \"1MiB\"", "limits.max_bodi", 2, "limits.max_body"),
            ("max_body = \"1MiB\"", "max_body", 1, "limits.max_body"),
            ("[limit]\nmax_body = \"1MiB\"", "limit", 1, "limits"),
            (
                "[extract.\"example.org\"]\ntitel = \"h1\"",
                "extract.\"example.org\".titel",
                2,
                "extract.\"example.org\".title",
            ),
        ] {
            let message = error(text);
            assert!(
                message.contains(&format!("a.toml line {line}: there is no setting `{key}`")),
                "{message}"
            );
            assert!(message.contains(&format!("did you mean `{nearest}`?")), "{message}");
        }
        assert!(!error("zzzzqqqq = 1").contains("did you mean"), "nothing is like it");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named_with_its_line() {
        for (text, expected) in [
            ("host_delay = 5", "`host_delay` (a.toml line 1): a duration in quotes"),
            ("\nhost_delay = \"soon\"", "`host_delay` (a.toml line 2): `soon` is no duration"),
            ("fetchers = -1", "`fetchers` (a.toml line 1): a whole number"),
            ("fetchers = \"9\"", "a whole number"),
            ("seeds = \"http://a.test/\"", "a list of texts"),
            ("api = \"localhost\"", "an address and port"),
            ("resolve = [\"a.test\"]", "write it as PATTERN=IP:PORT"),
            ("shared_addresses = [\"300.1.1.1\"]", "is no address"),
            ("ranking.title = -1", "a number, 0 or more"),
            ("ranking.title = nan", "a number, 0 or more"),
            ("limits.max_body = \"much\"", "is no size"),
            ("allow_private = 1", "true or false"),
            ("[name]\nx = 1", "a text in quotes, not a section"),
        ] {
            let message = error(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        let message = error("name = \"x\"\nfetchers = = 3");
        assert!(message.starts_with("a.toml is not written as TOML: line 2"), "{message}");
        assert!(error("name = \"x\"\nname = \"y\"").contains("line 2"));
    }

    #[test]
    fn a_large_file_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        std::fs::write(file.path(), vec![b'#'; MAX_FILE as usize + 1]).expect("write");
        assert!(matches!(read(file.path()), Err(SettingsError::TooLarge { .. })));
        assert!(matches!(read(Path::new("/nonexistent/anthill.toml")), Err(SettingsError::Read { .. })));
    }

    proptest::proptest! {
        #[test]
        fn no_file_makes_it_panic(text in "[a-z_.\"= \\[\\]\n0-9{}#']{0,200}") {
            let _ = parse(&text, Path::new("a.toml"));
        }
    }
}
