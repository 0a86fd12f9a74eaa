//! What does the environment say?

use super::error::SettingsError;
use super::origin::{Origin, Sourced};
use super::table;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What begins every variable of ours.
const PREFIX: &str = "ANTHILL_";
/// Variables of ours that are no settings: where settings are, where a node is, the token, data of tests.
const OTHERS: [&str; 4] = ["ANTHILL_CONFIG", "ANTHILL_NODE", "ANTHILL_TOKEN", "ANTHILL_SHARED"];

/// Environment variables, held apart from the process's so that tests can give their own.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process; ones that are not UTF-8 are left out.
    pub fn of_process() -> Environment {
        Environment(
            std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
        )
    }

    /// These.
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Environment {
        Environment(pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect())
    }

    /// The value of a variable, unless it is empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The folder for data of all programs: `$XDG_DATA_HOME`, else as the system has it.
    pub fn data_home(&self) -> Option<PathBuf> {
        self.base("XDG_DATA_HOME", ".local/share", |dirs| dirs.data_dir().to_owned())
    }

    /// The folder for settings of all programs: `$XDG_CONFIG_HOME`, else as the system has it.
    pub fn config_home(&self) -> Option<PathBuf> {
        self.base("XDG_CONFIG_HOME", ".config", |dirs| dirs.config_dir().to_owned())
    }

    /// A relative XDG path is to be ignored (XDG base directory specification, "Environment variables").
    fn base(
        &self,
        xdg: &str,
        under_home: &str,
        system: fn(&directories::BaseDirs) -> PathBuf,
    ) -> Option<PathBuf> {
        let absolute = |text: &str| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
        if let Some(path) = self.var(xdg).and_then(absolute) {
            return Some(path);
        }
        if cfg!(any(target_os = "macos", target_os = "windows")) {
            return directories::BaseDirs::new().map(|dirs| system(&dirs));
        }
        let home = self.var("HOME").and_then(absolute);
        home.map(|home| home.join(under_home))
            .or_else(|| directories::BaseDirs::new().map(|dirs| system(&dirs)))
    }

    /// The settings given by variables, and the variables that look like settings but are none.
    ///
    /// # Errors
    /// When a value is of the wrong kind.
    pub(super) fn values(&self) -> Result<(super::file::Values, Vec<String>), SettingsError> {
        let mut found = Vec::new();
        let mut strangers = Vec::new();
        for (name, text) in self.0.iter().filter(|(_, text)| !text.is_empty()) {
            let Some(rest) = name.strip_prefix(PREFIX) else { continue };
            if OTHERS.contains(&name.as_str()) {
                continue;
            }
            let path: Vec<String> = rest.to_ascii_lowercase().split("__").map(str::to_owned).collect();
            // Sites of extraction rules cannot be written in the name of a variable.
            let known =
                table::KEYS.iter().find(|key| key.path.split('.').eq(path.iter().map(String::as_str)));
            let Some(key) = known else {
                strangers.push(stranger(name, &path));
                continue;
            };
            let origin = Origin::Environment(name.clone());
            match key.kind.read(text) {
                Ok(value) => found.push((path, Sourced { value, origin, kind: key.kind })),
                Err(why) => return Err(SettingsError::Value { key: key.path.to_owned(), origin, why }),
            }
        }
        Ok((found, strangers))
    }
}

fn stranger(name: &str, path: &[String]) -> String {
    let variable = |key: String| format!("{PREFIX}{}", key.replace('.', "__").to_ascii_uppercase());
    match table::nearest(path) {
        Some(nearest) => {
            format!(
                "environment variable {name} is no setting and was ignored; did you mean {}?",
                variable(nearest)
            )
        }
        None => format!("environment variable {name} is no setting and was ignored"),
    }
}
