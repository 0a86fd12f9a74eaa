//! The topic model of a swarm from its peers: who joins has the digest of it by the profile, and asks those that it begins with.

use crate::files::{self, Readers};
use crate::settings::Settings;
use crate::setup;
use crate::swarm::{Question, Said};
use anthill_crawler::focus::bayes::Model;
use anthill_dht::{Event, Handle, Identity, Incoming, Lane, PeerId};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::time::Duration;

/// How long somebody is looked for who has it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two times that all are asked.
const AGAIN: Duration = Duration::from_secs(3);

/// Where a model that came from others is kept.
pub fn kept_at(settings: &Settings, digest: &str) -> PathBuf {
    settings.data.join(format!("{}.topic", digest.get(..32).unwrap_or(digest)))
}

/// Asks the peers that this one begins with for the model with this digest, and keeps it. For that it takes part in their network for a while, under
/// another name, and says nothing else.
///
/// # Errors
/// Nobody has it within half a minute, or it cannot be written.
pub async fn from_others(settings: &Settings, digest: &str) -> Result<Model> {
    let wanted = data_encoding::HEXLOWER.decode(digest.as_bytes()).context("topic.digest")?;
    let wanted: [u8; 16] = wanted.first_chunk().copied().context("topic.digest: it is too short")?;
    let room = tempfile::tempdir().context("no temporary folder can be made")?;
    let identity = Identity::load_or_create(&room.path().join("key"))?;
    let mut config = setup::network(settings)?.swap_remove(0);
    config.listen = vec!["/ip4/127.0.0.1/tcp/0".parse()?];
    (config.lan, config.upnp, config.server) = (false, false, Some(false));
    let (handle, mut incoming) = anthill_dht::start(&identity, config)?;
    tracing::info!("crawls of this swarm are about a topic: its model is asked for");
    let asked = ask(&handle, &mut incoming, wanted, digest);
    let model = tokio::time::timeout(PATIENCE, asked).await.ok().flatten();
    handle.stop().await;
    let model = model.with_context(|| {
        format!("nobody that can be reached has the model of the swarm's topic ({digest}): start the peer again when others are there")
    })?;
    let path = kept_at(settings, digest);
    files::replace(&path, &model.encode(), Readers::All).with_context(|| path.display().to_string())?;
    Ok(model)
}

/// Asks all who come to be connected, until one answers with it; none if the network ends.
async fn ask(handle: &Handle, incoming: &mut Incoming, wanted: [u8; 16], digest: &str) -> Option<Model> {
    let question = Said::Ask(1, Question::Model(wanted)).bytes();
    let mut connected: Vec<PeerId> = Vec::new();
    let mut again = tokio::time::interval(AGAIN);
    let send = |peer: &PeerId| {
        let _ = handle.send(*peer, Lane::Control, question.clone());
    };
    loop {
        tokio::select! {
            _ = again.tick() => connected.iter().for_each(send),
            event = incoming.events.recv() => match event? {
                Event::Up(peer) => {
                    send(&peer);
                    connected.push(peer);
                }
                Event::Down(peer) => connected.retain(|one| *one != peer),
                Event::Gossip { .. } | Event::Address(_) => {}
            },
            said = incoming.messages.recv() => {
                if let Some(model) = heard(&said?.2).filter(|model| model.digest().to_hex().as_str() == digest) {
                    return Some(model);
                }
            }
            urgent = incoming.urgent.recv() => drop(urgent?),
        }
    }
}

/// A model that somebody tells, whichever it is.
fn heard(bytes: &[u8]) -> Option<Model> {
    let Some(Said::Answer(1, Some(answer))) = Said::heard(bytes) else { return None };
    let told: String = serde_json::from_slice(&answer).ok()?;
    Model::decode(&data_encoding::HEXLOWER.decode(told.as_bytes()).ok()?).ok()
}
