//! What a swarm's crawls prefer: a topic, whose model is in a file, or languages.

use crate::files;
use crate::settings::Settings;
use anthill_agent::focus;
use anthill_crawler::focus::bayes::{MAX_MODEL, Model};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::sync::Arc;

/// Reads a topic model.
///
/// # Errors
/// When there is none that can be read; says what helps.
pub fn read(file: &Path) -> Result<Model> {
    // With its version it has one byte more than that; what is longer is no model, and is told so.
    let bytes =
        files::head(file, MAX_MODEL as u64 + 2).with_context(|| format!("cannot read {}", file.display()))?;
    Model::decode(&bytes)
        .map_err(|error| anyhow::anyhow!("{}: {error}; `anthill topic train` makes one", file.display()))
}

/// What crawls prefer by the settings: none, if nothing.
///
/// # Errors
/// The model cannot be read, or is not that of the swarm.
pub fn of(settings: &Settings) -> Result<Option<focus::Settings>> {
    let topic = &settings.topic;
    let levels = u8::try_from(topic.levels).unwrap_or(focus::MAX_TOPIC_LEVELS);
    let Some(file) = &topic.model else {
        if topic.digest.is_some() {
            bail!(
                "crawls of this swarm are about a topic, and its model is missing: get the file from who invited you, and name it with `topic.model`"
            );
        }
        return Ok((!settings.prefer.is_empty()).then_some(focus::Settings { model: None, levels }));
    };
    let model = read(file).context("topic.model")?;
    let digest = model.digest().to_hex();
    if let Some(wanted) = topic.digest.as_ref().filter(|wanted| **wanted != digest.as_str()) {
        bail!(
            "topic.model: {} is another model than this swarm's: its digest is {digest}, the swarm's {wanted}",
            file.display()
        );
    }
    Ok(Some(focus::Settings { model: Some(Arc::new(model)), levels }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(model: Option<&Path>, digest: Option<&str>) -> Settings {
        let mut settings = Settings::with_data(Path::new("/nowhere"));
        settings.topic.model = model.map(Path::to_owned);
        settings.topic.digest = digest.map(str::to_owned);
        settings
    }

    #[test]
    fn the_model_is_that_of_the_swarm_or_it_is_said_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ants.topic");
        let model = Model::unknowing();
        std::fs::write(&file, model.encode()).unwrap();
        let digest = model.digest().to_hex();
        assert!(of(&settings(None, None)).unwrap().is_none());
        let read = of(&settings(Some(&file), Some(&digest))).unwrap().unwrap();
        assert_eq!((read.model.as_deref(), read.levels), (Some(&model), 4));
        let spanish = Settings { prefer: vec!["es".to_owned()], ..settings(None, None) };
        assert!(of(&spanish).unwrap().is_some_and(|focus| focus.model.is_none()));
        let error = |settings: &Settings| format!("{:#}", of(settings).unwrap_err());
        assert!(error(&settings(None, Some(&digest))).contains("topic.model"));
        assert!(error(&settings(Some(&file), Some(&"0".repeat(64)))).contains(digest.as_str()));
        std::fs::write(&file, "no model").unwrap();
        let error = error(&settings(Some(&file), None));
        assert!(error.contains("anthill topic train") && error.contains("ants.topic"), "{error}");
    }
}
