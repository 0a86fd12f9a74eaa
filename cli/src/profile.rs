//! `anthill profile`: what the peers of a swarm share, signed by its first peer.

use crate::failure::Failure;
use crate::human::{json_line, line};
use anthill_dht::identity::Identity;
use anthill_node::files::{self, Readers};
use anthill_node::settings::profile::{PROFILE_NAME, new_profile};
use anthill_node::settings::{Environment, Profile, data_folder};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// What to do with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A swarm with a profile:
  anthill profile new swarm.toml          # then edit it
  anthill node --profile swarm.toml       # the first peer signs it
  anthill invite                          # the link has it
To change it later: edit swarm.toml, start the first peer with it again, and invite anew.")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Write a commented profile to begin with
    New {
        /// The file, which must not be there yet; without one it is printed
        file: Option<PathBuf>,
    },
    /// Sign a profile with a peer's key, in place
    Sign {
        /// The file
        file: PathBuf,
        /// Folder of the peer's data [default: $XDG_DATA_HOME/anthill]
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Show what a profile sets, and who signed it
    Show {
        /// The file [default: the one in the peer's folder]
        file: Option<PathBuf>,
        /// Folder of the peer's data [default: $XDG_DATA_HOME/anthill]
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Look whether a profile can be a swarm's: exit code 0 if it is signed, and short enough for an invitation
    Check {
        /// The file
        file: PathBuf,
    },
}

/// Does it.
///
/// # Errors
/// When a file cannot be read or written, or is no profile.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.what {
        What::New { file: None } => _ = line(new_profile().trim_end()),
        What::New { file: Some(file) } => write_new(&file)?,
        What::Sign { file, data } => sign(&file, data.as_deref())?,
        What::Show { file, data, json } => {
            let file = match file {
                Some(file) => file,
                None => folder(data.as_deref())?.join(PROFILE_NAME),
            };
            show(&read(&file)?, json);
        }
        What::Check { file } => check(&file)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<Profile, Failure> {
    Profile::read(file).map_err(|error| Failure::failed(error.to_string()))
}

fn folder(data: Option<&Path>) -> Result<PathBuf, Failure> {
    data_folder(data, &Environment::of_process()).map_err(|error| Failure::usage(error.to_string()))
}

fn failed(file: &Path) -> impl Fn(std::io::Error) -> Failure {
    let file = file.display().to_string();
    move |error| Failure::failed(format!("cannot write {file}: {error}"))
}

fn write_new(file: &Path) -> Result<(), Failure> {
    let mut out = std::fs::File::create_new(file).map_err(failed(file))?;
    out.write_all(new_profile().as_bytes()).map_err(failed(file))?;
    eprintln!(
        "{} written; edit it, then start the swarm's first peer: anthill node --profile {0}",
        file.display()
    );
    Ok(())
}

fn sign(file: &Path, data: Option<&Path>) -> Result<(), Failure> {
    let profile = read(file)?;
    let data = folder(data)?;
    std::fs::create_dir_all(&data).map_err(failed(&data))?;
    let identity = Identity::load_or_create(&data.join("peer.key")).map_err(anyhow::Error::from)?;
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let signed = profile.sign(&identity, i64::try_from(now_s).unwrap_or(i64::MAX));
    signed.pack().map_err(|error| Failure::failed(format!("the profile {}: {error}", file.display())))?;
    files::replace(file, signed.text().as_bytes(), Readers::All).map_err(failed(file))?;
    eprintln!("signed by {}, which is a moderator now", identity.peer_id());
    Ok(())
}

fn show(profile: &Profile, as_json: bool) {
    let mark = profile.mark();
    if as_json {
        let settings: serde_json::Map<_, _> = profile
            .settings()
            .map(|(key, value)| (key, serde_json::to_value(value).unwrap_or_default()))
            .collect();
        let (signer, at) = (mark.map(|mark| mark.signer()), mark.map(|mark| mark.issued_at()));
        return json_line(&json!({ "signer": signer, "issued_at": at, "settings": settings }).to_string());
    }
    match mark {
        Some(mark) => line(format_args!("# signed by {} at {}", mark.signer(), mark.issued_at())),
        None => line("# nobody signed it yet"),
    };
    for (key, value) in profile.settings() {
        line(format_args!("{key} = {value}"));
    }
}

fn check(file: &Path) -> Result<(), Failure> {
    let profile = read(file)?;
    let wrong = |why: &str| Failure::failed(format!("the profile {}: {why}", file.display()));
    let Some(mark) = profile.mark() else {
        return Err(wrong(
            "nobody signed it; `anthill profile sign` does, and so does the swarm's first peer",
        ));
    };
    let packed = profile.pack().map_err(|error| wrong(&error.to_string()))?;
    let count = profile.settings().count();
    eprintln!(
        "{count} settings, {} bytes in an invitation, signed by {} at {}",
        packed.len(),
        mark.signer(),
        mark.issued_at()
    );
    Ok(())
}
