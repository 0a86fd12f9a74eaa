//! `anthill join`: start a peer of the swarm that an invitation is to.

use crate::failure::Failure;
use crate::node;
use anthill_dht::Invite;
use anthill_node::files::{self, Readers};
use anthill_node::settings::profile::PROFILE_NAME;
use anthill_node::settings::{Environment, FILE_NAME, NodeFlags, Profile, data_folder};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// To which, and how the peer is started.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What `anthill invite` printed
    link: String,
    #[command(flatten)]
    flags: NodeFlags,
}

/// Runs a peer of that swarm until it is told to end. What the invitation says is kept in the data folder's settings, if it has none:
/// then `anthill node` is enough the next time.
///
/// # Errors
/// When the link is none, the settings will not do, or the peer cannot start.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let invite: Invite =
        args.link.parse().map_err(|e: anthill_dht::NoInvite| Failure::usage(e.to_string()))?;
    let mut flags = args.flags;
    let environment = Environment::of_process();
    let data = data_folder(flags.data.as_deref(), &environment).map_err(|e| Failure::usage(e.to_string()))?;
    std::fs::create_dir_all(&data).map_err(|e| Failure::failed(format!("{}: {e}", data.display())))?;
    let config = invite.config();
    flags.bootstrap.extend(config.bootstrap.iter().map(ToString::to_string));
    flags.swarm = Some(config.swarm.clone());
    if let Some(key) = config.shared_key {
        let file = data.join("swarm.key");
        files::replace(&file, format!("{}\n", key.hex()).as_bytes(), Readers::Owner)
            .map_err(|e| Failure::failed(format!("{}: {e}", file.display())))?;
        flags.swarm_key = Some(file);
    }
    if let Some(packed) = invite.profile() {
        let profile = Profile::unpack(packed).map_err(|e| Failure::usage(e.to_string()))?;
        flags.profile = Some(keep_profile(&data, &profile)?);
    }
    keep(&data, &flags).map_err(|e| Failure::failed(format!("{}: {e}", data.display())))?;
    node::start(&flags)
}

/// The swarm's profile, unless a later one is here: who joins anew may have an old link.
fn keep_profile(data: &Path, profile: &Profile) -> Result<PathBuf, Failure> {
    let kept = Profile::of_folder(data).map_err(|e| Failure::failed(e.to_string()))?;
    if !kept.as_ref().is_some_and(|kept| kept.is_later(profile)) {
        profile.keep(data, kept.as_ref())?;
    }
    Ok(data.join(PROFILE_NAME))
}

fn keep(data: &Path, flags: &NodeFlags) -> std::io::Result<()> {
    let file = data.join(FILE_NAME);
    if file.exists() {
        return Ok(());
    }
    let quoted = |text: &str| format!("{text:?}");
    let bootstrap: Vec<String> = flags.bootstrap.iter().map(|address| quoted(address)).collect();
    let mut text = format!(
        "# From an invitation.\nswarm = {}\nbootstrap = [{}]\n",
        quoted(flags.swarm.as_deref().unwrap_or_default()),
        bootstrap.join(", ")
    );
    if let Some(key) = &flags.swarm_key {
        text.push_str(&format!("swarm_key = {}\n", quoted(&key.to_string_lossy())));
    }
    files::replace(&file, text.as_bytes(), Readers::All)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_node::settings::load;

    #[test]
    fn what_an_invitation_says_is_found_at_the_next_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let key = folder.path().join("swarm.key");
        let flags = NodeFlags {
            data: Some(folder.path().to_owned()),
            bootstrap: vec![
                "/ip4/192.0.2.1/tcp/1/p2p/12D3KooWHMq5Y95sCBrpEu8ak4RD9RxHLDyaSYVF3PMTpefRXLVx".into(),
            ],
            swarm: Some("ants".into()),
            swarm_key: Some(key.clone()),
            ..NodeFlags::default()
        };
        keep(folder.path(), &flags).expect("written");
        let plain = NodeFlags { data: flags.data.clone(), ..NodeFlags::default() };
        let settings = load(&plain, &Environment::default()).expect("valid").settings;
        assert_eq!((settings.swarm.as_str(), settings.swarm_key), ("ants", Some(key)));
        assert_eq!(settings.bootstrap, flags.bootstrap);
    }
}
