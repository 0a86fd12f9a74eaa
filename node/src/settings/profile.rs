//! The swarm's crawl profile: settings that its peers share, in a file that the swarm's first peer signs.
//!
//! It is a file of settings like `anthill.toml`, of some keys only. Its last line is the signature, a comment to who reads TOML:
//!
//! ```toml
//! seeds = ["https://example.org/"]
//! host_delay = "2s"
//! # anthill profile signed by 12D3… at 2026-11-22T12:00:00Z: BASE64
//! ```
//!
//! Who signs it is a moderator of the swarm, with those it names. A peer's own settings come before it, but for what all have to do
//! alike ([`Bound`]).

use super::error::SettingsError;
use super::file::{self, Values};
use super::kind::Kind;
use super::origin::{Origin, Sourced};
use super::table;
use super::units::parse_duration;
use anthill_dht::identity::{self, Identity};
use anthill_dht::invite::MAX_PROFILE as MAX_PACKED;
use anthill_dht::name;
use data_encoding::BASE64;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use toml::Value;

/// Name of the profile in a peer's folder.
pub const PROFILE_NAME: &str = "profile.toml";
/// Bytes of a profile, at most.
pub const MAX_PROFILE: usize = 64 << 10;

const MARK: &str = "# anthill profile signed by ";
/// What is signed begins with this, the format's version, and is followed by a digest.
const CONTEXT: &[u8] = b"anthill swarm profile\0\x01";
/// Zstandard's level for what is packed once and sent often.
const LEVEL: i32 = 19;

/// How far the profile binds a peer's own settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// All peers have to have the same.
    Same,
    /// A peer may wait longer, not shorter.
    Least,
    /// It is a default.
    Free,
}

/// How a profile binds a key; none if it is each peer's own.
pub fn bound(path: &[String]) -> Option<Bound> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["swarm" | "replicas" | "moderators" | "prefer" | "index_only"]
        | ["canon", _]
        | ["index", "stemming"]
        | ["topic", "digest" | "levels" | "query" | "rules"] => Some(Bound::Same),
        ["host_delay" | "ip_delay"] => Some(Bound::Least),
        ["seeds" | "scope" | "subscriptions" | "importance"]
        | ["limits" | "filters" | "revisit", _]
        | ["extract", _, _] => Some(Bound::Free),
        _ => None,
    }
}

/// Who signed a profile, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Public key of the signer.
    pub by: [u8; 32],
    /// Unix seconds, by its clock.
    pub issued_s: i64,
}

impl Mark {
    /// The name of who signed.
    pub fn signer(&self) -> String {
        name::text(&self.by)
    }

    /// When, as people write it.
    pub fn issued_at(&self) -> String {
        jiff::Timestamp::from_second(self.issued_s).unwrap_or_default().to_string()
    }
}

/// A profile that has been read: its keys are known, and its signature is right if it has one.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    body: String,
    signature: Option<(Mark, String)>,
    values: Values,
}

/// Why a text is no profile, or not the one it should be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProfileError {
    /// Over [`MAX_PROFILE`].
    #[error("it has more than {} KiB, too many for a profile: is it another file?", MAX_PROFILE >> 10)]
    Long,
    /// Over [`MAX_PACKED`] when packed.
    #[error(
        "it is too long to travel in an invitation ({0} bytes packed, {MAX_PACKED} at most): leave rules of extraction to the peers' own settings"
    )]
    Packed(usize),
    /// The signature does not fit.
    #[error(
        "it is not as {0} signed it: get it again, or, if it is yours, sign it with `anthill profile sign`"
    )]
    Forged(String),
    /// The last line looks like a signature and is none.
    #[error("its last line is no signature: remove it, then `anthill profile sign` adds one")]
    NoMark,
    /// Not packed by `pack`.
    #[error("the invitation's profile cannot be read: was the link cut?")]
    NoPack,
    /// The settings in it.
    #[error("{0}")]
    Settings(String),
}

impl Profile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is no profile.
    pub fn read(path: &Path) -> Result<Profile, SettingsError> {
        let failed = |source| SettingsError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_PROFILE as u64 + 1).read_to_string(&mut text).map_err(failed)?;
        Profile::parse(&text, path).map_err(|why| SettingsError::Profile { path: path.to_owned(), why })
    }

    /// Reads a text, which may be anybody's; `path` is for messages.
    ///
    /// # Errors
    /// [`ProfileError`] says what is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Profile, ProfileError> {
        if text.len() > MAX_PROFILE {
            return Err(ProfileError::Long);
        }
        let end = text.trim_end();
        let at = end.rfind('\n').map_or(0, |at| at + 1);
        let (body, signature) = match end[at..].strip_prefix(MARK) {
            Some(rest) => (&text[..at], Some(signature(&text[..at], rest)?)),
            None => (text, None),
        };
        let values = file::parse(body, path).map_err(|e| ProfileError::Settings(e.to_string()))?;
        let values = values.into_iter().map(shared).collect::<Result<Values, _>>()?;
        Ok(Profile { body: body.to_owned(), signature, values })
    }

    /// The whole file.
    pub fn text(&self) -> String {
        let line = self.signature.as_ref().map(|(mark, signature)| {
            format!("{MARK}{} at {}: {signature}\n", mark.signer(), mark.issued_at())
        });
        self.body.clone() + &line.unwrap_or_default()
    }

    /// Who signed it; nobody yet if none.
    pub fn mark(&self) -> Option<Mark> {
        self.signature.as_ref().map(|(mark, _)| *mark)
    }

    /// Whether another says the same, whoever signed it.
    pub fn says_the_same(&self, other: &Profile) -> bool {
        self.body.trim_end() == other.body.trim_end()
    }

    /// The keys it sets, as in the file, and their values.
    pub fn settings(&self) -> impl Iterator<Item = (String, &Value)> {
        self.values.iter().map(|(path, sourced)| (table::dotted(path), &sourced.value))
    }

    /// The same, signed, in place of who signed it before.
    pub fn sign(&self, identity: &Identity, now_s: i64) -> Profile {
        let mut body = self.body.clone();
        if !body.is_empty() && !body.ends_with('\n') {
            body.push('\n');
        }
        let mark = Mark { by: identity.key(), issued_s: now_s };
        let signature = BASE64.encode(&identity.sign(&signed_bytes(&body, &mark)));
        Profile { body, signature: Some((mark, signature)), values: self.values.clone() }
    }

    /// For an invitation.
    ///
    /// # Errors
    /// [`ProfileError::Packed`] when it is too long for one.
    pub fn pack(&self) -> Result<Vec<u8>, ProfileError> {
        let packed = zstd::bulk::compress(self.text().as_bytes(), LEVEL).unwrap_or_default();
        if packed.is_empty() || packed.len() > MAX_PACKED {
            return Err(ProfileError::Packed(packed.len()));
        }
        Ok(packed)
    }

    /// From an invitation, which may be anybody's: it has to be signed.
    ///
    /// # Errors
    /// [`ProfileError`] says what is wrong.
    pub fn unpack(packed: &[u8]) -> Result<Profile, ProfileError> {
        let bytes = zstd::bulk::decompress(packed, MAX_PROFILE).map_err(|_| ProfileError::NoPack)?;
        let text = String::from_utf8(bytes).map_err(|_| ProfileError::NoPack)?;
        let profile = Profile::parse(&text, Path::new("the invitation's profile"))?;
        if profile.signature.is_some() { Ok(profile) } else { Err(ProfileError::NoPack) }
    }

    /// Its values, with who signed it among the moderators.
    pub(super) fn values(&self) -> Values {
        let path = vec!["moderators".to_owned()];
        let mut values = self.values.clone();
        let Some(mark) = self.mark() else { return values };
        let signer = Value::from(mark.signer());
        match values.iter_mut().find(|(key, _)| *key == path) {
            Some((_, Sourced { value: Value::Array(named), .. })) => {
                if !named.contains(&signer) {
                    named.push(signer);
                }
            }
            _ => {
                let value = Value::Array(vec![signer]);
                values.push((path, Sourced { value, origin: Origin::Profile(0), kind: Kind::Texts }));
            }
        }
        values
    }

    /// Looks whether a peer's settings keep to it.
    ///
    /// # Errors
    /// The first that does not, with what it says.
    pub(super) fn check(&self, settings: &BTreeMap<Vec<String>, Sourced>) -> Result<(), SettingsError> {
        for (path, shared) in self.values() {
            let Some(own) = settings.get(&path).filter(|own| own.value != shared.value) else { continue };
            let shorter = || match (delay(&own.value), delay(&shared.value)) {
                (Some(own), Some(shared)) => own < shared,
                _ => true,
            };
            let (key, says) = (table::dotted(&path), &shared.value);
            let why = match bound(&path) {
                Some(Bound::Same) if key == "moderators" => {
                    "the swarm's profile names the moderators; whom else you heed goes to `follow`".to_owned()
                }
                Some(Bound::Same) => {
                    format!("all peers of the swarm have {says}, as its profile says: leave it out here")
                }
                Some(Bound::Least) if shorter() => {
                    format!("the swarm's profile asks for {says} at least: leave it out here, or wait longer")
                }
                _ => continue,
            };
            return Err(SettingsError::Value { key, origin: own.origin.clone(), why });
        }
        Ok(())
    }
}

fn delay(value: &Value) -> Option<std::time::Duration> {
    parse_duration(value.as_str()?).ok()
}

/// A value of the profile, if it may be there.
fn shared((path, sourced): (Vec<String>, Sourced)) -> Result<(Vec<String>, Sourced), ProfileError> {
    let line = match sourced.origin {
        Origin::File(_, line) => line,
        _ => 0,
    };
    match bound(&path) {
        Some(_) => Ok((path, Sourced { origin: Origin::Profile(line), ..sourced })),
        None => Err(ProfileError::Settings(format!(
            "line {line}: `{}` is each peer's own and no part of a profile: leave it out; `anthill profile new` lists what may be there",
            table::dotted(&path)
        ))),
    }
}

/// Reads what follows [`MARK`], and checks it.
fn signature(body: &str, rest: &str) -> Result<(Mark, String), ProfileError> {
    let read = || {
        let (signer, rest) = rest.split_once(" at ")?;
        let (time, encoded) = rest.split_once(": ")?;
        let by = name::key(&signer.parse().ok()?)?;
        let issued_s = time.parse::<jiff::Timestamp>().ok()?.as_second();
        let signature: [u8; 64] = BASE64.decode(encoded.as_bytes()).ok()?.try_into().ok()?;
        Some((Mark { by, issued_s }, encoded.to_owned(), signature))
    };
    let (mark, encoded, signature) = read().ok_or(ProfileError::NoMark)?;
    match identity::verify(&mark.by, &signed_bytes(body, &mark), &signature) {
        true => Ok((mark, encoded)),
        false => Err(ProfileError::Forged(mark.signer())),
    }
}

fn signed_bytes(body: &str, mark: &Mark) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key("anthill settings 1 profile");
    hasher.update(&mark.by).update(&mark.issued_s.to_le_bytes()).update(body.as_bytes());
    [CONTEXT, hasher.finalize().as_bytes()].concat()
}

/// A profile to begin with: every key that may be there, with what it is without.
pub fn new_profile() -> String {
    let mut out = String::from(
        "# The crawl profile of a swarm: what its peers share. Remove the `# ` before what you set.\n\
         # The swarm's first peer signs it: anthill node --profile FILE. Whoever joins gets it with the invitation.\n\
         # Who signs is a moderator.\n",
    );
    super::show::keys(
        &mut out,
        |key| {
            let path: Vec<String> = key.path.split('.').map(str::to_owned).collect();
            bound(&path).is_some()
        },
        false,
    );
    out
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
