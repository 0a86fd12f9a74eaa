//! What a swarm's crawls prefer: a topic, whose model is in a file, or languages.

use crate::files;
use crate::settings::Settings;
use anthill_agent::focus;
use anthill_crawler::focus::bayes::{MAX_MODEL, Model};
use anthill_crawler::focus::reader::About;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::sync::Arc;

mod ask;

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

/// What crawls prefer by the settings: none, if nothing. A model that is not here is asked of the peers that this one begins with, and kept.
///
/// # Errors
/// The model cannot be read, is not that of the swarm, or nobody has it.
pub async fn find(settings: &Settings) -> Result<Option<focus::Settings>> {
    let topic = &settings.topic;
    let Some(digest) = topic.digest.as_ref().filter(|_| topic.model.is_none()) else { return of(settings) };
    let kept = ask::kept_at(settings, digest);
    if !kept.exists() {
        if settings.offline || settings.bootstrap.is_empty() {
            bail!(
                "crawls of this swarm are about a topic, and its model is missing: name its file with `topic.model`, or peers of the swarm with `--bootstrap`"
            );
        }
        ask::from_others(settings, digest).await?;
    }
    let model = read(&kept)?;
    let found = model.digest().to_hex();
    if found.as_str() != digest {
        bail!("{} is damaged: its digest is {found}; delete it, and it is asked for again", kept.display());
    }
    let levels = u8::try_from(topic.levels).unwrap_or(focus::MAX_TOPIC_LEVELS);
    Ok(Some(focus::Settings { about: About::Examples(Arc::new(model)), levels, rules: topic.rules }))
}

/// The same, of what is here.
fn of(settings: &Settings) -> Result<Option<focus::Settings>> {
    let topic = &settings.topic;
    let levels = u8::try_from(topic.levels).unwrap_or(focus::MAX_TOPIC_LEVELS);
    let Some(file) = &topic.model else {
        let words = topic.query.as_deref().map(|words| About::Words(words.into()));
        let about = words.or_else(|| (!settings.prefer.is_empty()).then_some(About::Languages));
        return Ok(about.map(|about| focus::Settings { about, levels, rules: topic.rules }));
    };
    let model = read(file).context("topic.model")?;
    let digest = model.digest().to_hex();
    if let Some(wanted) = topic.digest.as_ref().filter(|wanted| **wanted != digest.as_str()) {
        bail!(
            "topic.model: {} is another model than this swarm's: its digest is {digest}, the swarm's {wanted}",
            file.display()
        );
    }
    Ok(Some(focus::Settings { about: About::Examples(Arc::new(model)), levels, rules: topic.rules }))
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

    #[tokio::test]
    async fn a_model_that_came_from_others_is_read_again_and_one_that_nobody_can_be_asked_for_is_missed() {
        let folder = tempfile::tempdir().unwrap();
        let model = Model::unknowing();
        let digest = model.digest().to_hex();
        let mut wanting = settings(None, Some(&digest));
        wanting.data = folder.path().to_owned();
        let error = format!("{:#}", find(&wanting).await.unwrap_err());
        assert!(error.contains("--bootstrap") && error.contains("topic.model"), "{error}");
        std::fs::write(ask::kept_at(&wanting, &digest), model.encode()).unwrap();
        assert_eq!(find(&wanting).await.unwrap().unwrap().about.model().map(Arc::as_ref), Some(&model));
        std::fs::write(ask::kept_at(&wanting, &digest), "no model").unwrap();
        assert!(find(&wanting).await.is_err());
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
        assert_eq!((read.about.model().map(Arc::as_ref), read.levels), (Some(&model), 4));
        let spanish = Settings { prefer: vec!["es".to_owned()], ..settings(None, None) };
        assert!(of(&spanish).unwrap().is_some_and(|focus| matches!(focus.about, About::Languages)));
        let error = |settings: &Settings| format!("{:#}", of(settings).unwrap_err());
        assert!(error(&settings(Some(&file), Some(&"0".repeat(64)))).contains(digest.as_str()));
        std::fs::write(&file, "no model").unwrap();
        let error = error(&settings(Some(&file), None));
        assert!(error.contains("anthill topic train") && error.contains("ants.topic"), "{error}");
    }
}
