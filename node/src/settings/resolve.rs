//! Which value holds, when flag, environment, file and default each may give one?

use super::environment::Environment;
use super::error::SettingsError;
use super::file;
use super::flags::NodeFlags;
use super::kind::Kind;
use super::origin::{Origin, Origins, Sourced};
use super::profile::Profile;
use super::table;
use super::tree::Settings;
use super::{FILE_NAME, check};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Value;

/// Settings, and what to tell about how they came to be.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The settings; they know their origins.
    pub settings: Settings,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// What looks like a mistake but need not be one.
    pub warnings: Vec<String>,
}

/// Finds the settings: flags, then environment, then file, then defaults.
///
/// # Errors
/// When a file cannot be read or understood, a key is unknown, a value will not do, or there is no place for data.
pub fn load(flags: &NodeFlags, environment: &Environment) -> Result<Resolved, SettingsError> {
    let (from_environment, warnings) = environment.values()?;
    let from_flags = flags.values();
    let data = [&from_flags, &from_environment].into_iter().find_map(|layer| {
        layer
            .iter()
            .find(|(path, _)| path == &["data"])
            .and_then(|(_, s)| s.value.as_str())
            .map(PathBuf::from)
    });
    let file = config_file(flags, environment, data.as_deref());
    let from_file = file.as_deref().map(file::read).transpose()?.unwrap_or_default();

    let mut own: BTreeMap<Vec<String>, Sourced> = from_file.into_iter().collect();
    own.extend(from_environment);
    own.extend(from_flags);
    let mut values: BTreeMap<Vec<String>, Sourced> = defaults(environment).into_iter().collect();
    let data = ["data".to_owned()];
    let data = own.get(data.as_slice()).or_else(|| values.get(data.as_slice()));
    let profile = profile(flags, data.and_then(|data| data.value.as_str()))?;
    values.extend(profile.iter().flat_map(Profile::values));
    values.extend(own);
    if let Some(profile) = &profile {
        profile.check(&values)?;
    }
    let mut settings = build(values)?;
    settings.profile = profile.map(Arc::new);
    Ok(Resolved { settings, file, warnings })
}

/// The swarm's profile: the one given, else the one of the peer's folder.
fn profile(flags: &NodeFlags, data: Option<&str>) -> Result<Option<Profile>, SettingsError> {
    match (&flags.profile, data) {
        (Some(given), _) => Profile::read(given).map(Some),
        (None, Some(data)) => Profile::of_folder(Path::new(data)),
        (None, None) => Ok(None),
    }
}

/// The folder of a peer's data as `--data` (if given), the environment or the default have it, without reading a file.
///
/// # Errors
/// When there is no home folder.
pub fn data_folder(given: Option<&Path>, environment: &Environment) -> Result<PathBuf, SettingsError> {
    given
        .map(Path::to_owned)
        .or_else(|| environment.var("ANTHILL_DATA").map(PathBuf::from))
        .or_else(|| environment.data_home().map(|home| home.join("anthill")))
        .ok_or(SettingsError::NoDataFolder)
}

impl Settings {
    /// The defaults, with this folder of data.
    ///
    /// # Panics
    /// Never: a test reads the table of defaults.
    pub fn with_data(data: &Path) -> Settings {
        let mut values: BTreeMap<Vec<String>, Sourced> =
            defaults(&Environment::default()).into_iter().collect();
        let value = Value::from(data.to_string_lossy().into_owned());
        values.insert(vec!["data".to_owned()], Sourced { value, origin: Origin::Default, kind: Kind::Text });
        build(values).expect("the table of defaults is valid, as a test shows")
    }
}

/// The file to read: `--config` or `ANTHILL_CONFIG` (then it has to be there), else the first that is there.
fn config_file(flags: &NodeFlags, environment: &Environment, data: Option<&Path>) -> Option<PathBuf> {
    if let Some(path) = flags.config.clone().or_else(|| environment.var("ANTHILL_CONFIG").map(PathBuf::from))
    {
        return Some(path);
    }
    let in_data = data_folder(data, environment).ok().map(|folder| folder.join(FILE_NAME));
    let in_home = environment.config_home().map(|home| home.join("anthill").join(FILE_NAME));
    [in_data, in_home].into_iter().flatten().find(|path| path.is_file())
}

/// The layer of defaults. The folder of data depends on the environment, and is missing where there is no home.
fn defaults(environment: &Environment) -> file::Values {
    let mut values: file::Values = table::KEYS
        .iter()
        .filter_map(|key| {
            let value = default_value(key)?;
            let path = key.path.split('.').map(str::to_owned).collect();
            Some((path, Sourced { value, origin: Origin::Default, kind: key.kind }))
        })
        .collect();
    if let Some(home) = environment.data_home() {
        let value = Value::from(home.join("anthill").to_string_lossy().into_owned());
        values.push((vec!["data".to_owned()], Sourced { value, origin: Origin::Default, kind: Kind::Text }));
    }
    values
}

/// The default of a key.
fn default_value(key: &table::Key) -> Option<Value> {
    let document: toml::Table = toml::from_str(&format!("v = {}", key.default?)).ok()?;
    document.get("v").cloned()
}

/// Makes the tree of values and checks what no single value can tell.
fn build(values: BTreeMap<Vec<String>, Sourced>) -> Result<Settings, SettingsError> {
    if !values.contains_key(["data".to_owned()].as_slice()) {
        return Err(SettingsError::NoDataFolder);
    }
    let mut tree = toml::Table::new();
    // A section none of whose keys has a value is there all the same.
    for (section, _) in table::KEYS.iter().filter_map(|key| key.path.split_once('.')) {
        tree.entry(section).or_insert_with(|| Value::Table(toml::Table::new()));
    }
    for (path, sourced) in &values {
        insert(&mut tree, path, sourced.value.clone());
    }
    let mut settings = Settings::deserialize(tree).map_err(|e| SettingsError::Value {
        key: String::new(),
        origin: Origin::Default,
        why: e.message().to_owned(),
    })?;
    settings.origins = Origins(Arc::new(values));
    check::check(&settings)?;
    Ok(settings)
}

fn insert(tree: &mut toml::Table, path: &[String], value: Value) {
    let [sections @ .., last] = path else { return };
    let mut at = tree;
    for section in sections {
        let below = at.entry(section.clone()).or_insert_with(|| Value::Table(toml::Table::new()));
        let Value::Table(below) = below else { return };
        at = below;
    }
    at.insert(last.clone(), value);
}
