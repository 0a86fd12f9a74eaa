//! What this peer has learned of where the topic of its crawls is, in a file of its data folder: read when it starts, written now and then and when it ends.

use crate::files::{self, Readers};
use crate::peer::LivePeer;
use crate::settings::Settings;
use anthill_agent::focus;
use anthill_agent::focus::learned::{Learned, MAX_LEARNED};
use anthill_crawler::focus::reader::About;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its name.
const NAME: &str = "topic.learned";
/// Between two times that it is written: a crash costs what was learned in the meantime.
const EACH: Duration = Duration::from_secs(300);
/// How long the end waits for it.
const LAST: Duration = Duration::from_secs(1);
/// zstd's level; most of it is zeros.
const LEVEL: i32 = 1;
/// BLAKE3 of what crawls prefer.
type Digest = [u8; 32];

/// Where what was learned is kept, and of what.
#[derive(Clone)]
pub struct Keeper {
    path: PathBuf,
    about: Digest,
}

impl Keeper {
    /// That of a peer whose crawls prefer this.
    pub fn of(settings: &Settings, topic: &focus::Settings) -> Keeper {
        let mut hasher = blake3::Hasher::new();
        match &topic.about {
            About::Languages => {}
            About::Examples(model) => _ = hasher.update(model.digest().as_bytes()),
            About::Words(words) => _ = hasher.update(words.as_bytes()).update(b"\n"),
        }
        for language in &settings.prefer {
            hasher.update(language.as_bytes()).update(b" ");
        }
        Keeper { path: settings.data.join(NAME), about: *hasher.finalize().as_bytes() }
    }

    /// What was learned before; nothing if that was of another topic, or cannot be read, which is said.
    pub fn recall(&self) -> Option<Learned> {
        if !self.path.exists() {
            return None;
        }
        match read(&self.path) {
            Ok((about, learned)) if about == self.about => Some(learned),
            Ok(_) => {
                tracing::info!("what was learned before was of another topic: it is learned anew");
                None
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "what was learned of the topic cannot be read: it is learned anew");
                None
            }
        }
    }

    /// Writes it now and then, for ever.
    pub async fn keep(self, peer: LivePeer) {
        loop {
            tokio::time::sleep(EACH).await;
            self.write(&peer).await;
        }
    }

    /// Writes it once more, if there is time for that.
    pub async fn write_last(&self, peer: &LivePeer) {
        if tokio::time::timeout(LAST, self.write(peer)).await.is_err() {
            tracing::warn!(
                "there was no time to write what was learned of the topic since it was last written"
            );
        }
    }

    async fn write(&self, peer: &LivePeer) {
        let Some(learned) = peer.learned_so_far().await else { return };
        let (path, about) = (self.path.clone(), self.about);
        let written = tokio::task::spawn_blocking(move || write(&path, about, &learned)).await;
        if let Ok(Err(error)) = written {
            let error = format!("{error:#}");
            tracing::warn!(
                error,
                "what was learned of the topic cannot be written: it is learned anew after a restart"
            );
        }
    }
}

fn write(path: &Path, about: Digest, learned: &Learned) -> Result<()> {
    let mut bytes = about.to_vec();
    bytes.extend(zstd::bulk::compress(&learned.encode(), LEVEL)?);
    files::replace(path, &bytes, Readers::Owner).with_context(|| path.display().to_string())
}

fn read(path: &Path) -> Result<(Digest, Learned)> {
    let shown = || path.display().to_string();
    let bytes = files::head(path, 2 * MAX_LEARNED as u64).with_context(shown)?;
    let (about, packed) = bytes.split_first_chunk::<32>().context("it breaks off").with_context(shown)?;
    let plain = zstd::bulk::decompress(packed, MAX_LEARNED + 1).with_context(shown)?;
    Ok((*about, Learned::decode(&plain).with_context(shown)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_agent::focus::Focus;

    fn keeper(data: &Path, prefer: &[&str]) -> Keeper {
        let prefer = prefer.iter().map(|language| (*language).to_owned()).collect();
        let settings = Settings { prefer, ..Settings::with_data(data) };
        Keeper::of(&settings, &focus::Settings { about: About::Languages, levels: 4, rules: true })
    }

    #[test]
    fn what_was_learned_of_this_topic_is_read_again_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let spanish = keeper(dir.path(), &["es"]);
        assert!(spanish.recall().is_none());
        let learned =
            Focus::new(&focus::Settings { about: About::Languages, levels: 4, rules: true }).learned_so_far();
        write(&spanish.path, spanish.about, &learned).unwrap();
        assert_eq!(spanish.recall(), Some(learned));
        assert!(keeper(dir.path(), &["es", "en"]).recall().is_none());
        let whole = std::fs::read(&spanish.path).unwrap();
        for bytes in [&whole[..whole.len() / 2], &whole[..10], &[7; 4_000], &[]] {
            std::fs::write(&spanish.path, bytes).unwrap();
            assert!(spanish.recall().is_none());
        }
    }
}
