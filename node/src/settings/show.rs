//! How are settings shown to people? `anthill config` and `anthill config --default`.

use super::table::{EXTRACT, EXTRACT_SECTION, KEYS, Key};
use super::tree::Settings;
use crate::api::types::{ConfigReport, ConfigValue};
use std::fmt::Write;

/// A file of all settings with their defaults and what they mean. Read back, it changes nothing.
pub fn default_file() -> String {
    let mut out = String::from(
        "# Settings of an Anthill peer. Every value below is the default; a line that begins with `# ` has none.\n\
         # Flags and environment variables (ANTHILL_HOST_DELAY, ANTHILL_LIMITS__MAX_BODY) come before this file.\n",
    );
    keys(&mut out, |_| true, true);
    out
}

/// Keys with what they mean and their defaults, which are comments unless they are `set`.
pub(super) fn keys(out: &mut String, wanted: impl Fn(&Key) -> bool, set: bool) {
    let mut section = "";
    for key in KEYS.iter().filter(|key| wanted(key)) {
        let (head, name) = key.path.split_once('.').unwrap_or(("", key.path));
        if head != section {
            section = head;
            let _ = write!(out, "\n[{head}]\n");
        }
        entry(out, key, name, set);
    }
    let _ = write!(
        out,
        "\n# How to read the pages of one site: a section for each.\n# [{EXTRACT_SECTION}.\"example.org\"]\n"
    );
    for key in EXTRACT {
        entry(out, key, key.path, set);
    }
}

fn entry(out: &mut String, key: &Key, name: &str, set: bool) {
    out.push('\n');
    for line in key.doc.lines() {
        let _ = writeln!(out, "# {line}");
    }
    let _ = match key.default {
        Some(default) if set => writeln!(out, "{name} = {default}"),
        Some(default) => writeln!(out, "# {name} = {default}"),
        None => writeln!(out, "# {name} ="),
    };
}

/// The settings as a file, each value with where it came from.
pub fn resolved_text(settings: &Settings) -> String {
    let lines: Vec<(String, String, String)> = settings
        .origins
        .iter()
        .map(|(key, sourced)| (key, sourced.value.to_string(), sourced.origin.to_string()))
        .collect();
    let width = lines
        .iter()
        .map(|(key, value, _)| key.chars().count() + value.chars().count() + 3)
        .max()
        .unwrap_or(0);
    // A very long list must not push all origins out of sight.
    let width = width.min(60);
    let mut out = String::new();
    for (key, value, origin) in lines {
        let _ = writeln!(out, "{:width$}  # {origin}", format!("{key} = {value}"));
    }
    out
}

impl Settings {
    /// Every value with where it came from, for the API.
    pub fn report(&self) -> ConfigReport {
        let settings = self
            .origins
            .iter()
            .map(|(key, sourced)| ConfigValue {
                key,
                value: serde_json::to_value(&sourced.value).unwrap_or_default(),
                origin: sourced.origin.to_string(),
            })
            .collect();
        ConfigReport { settings }
    }
}
