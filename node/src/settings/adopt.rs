//! Which profile a peer keeps: the one that its swarm was founded with, or a later one of the same signer.

use super::error::SettingsError;
use super::origin::Origin;
use super::profile::{PROFILE_NAME, Profile};
use crate::files::{self, Readers};
use anthill_dht::identity::Identity;
use anyhow::{Context, bail, ensure};
use std::path::Path;
use std::sync::Arc;

impl Profile {
    /// The one that a peer keeps in its folder, if it has one.
    ///
    /// # Errors
    /// When it cannot be read, or is no profile.
    pub fn of_folder(data: &Path) -> Result<Option<Profile>, SettingsError> {
        let path = data.join(PROFILE_NAME);
        path.is_file().then(|| Profile::read(&path)).transpose()
    }

    /// Whether both are of one signer, and this one is later.
    pub fn is_later(&self, other: &Profile) -> bool {
        match (self.mark(), other.mark()) {
            (Some(this), Some(other)) => this.by == other.by && this.issued_s > other.issued_s,
            _ => false,
        }
    }

    /// Writes it to a peer's folder, in place of the one it keeps, if that is of the same signer and not later.
    ///
    /// # Errors
    /// When what is kept is another's or later, or it cannot be written.
    pub fn keep(&self, data: &Path, kept: Option<&Profile>) -> anyhow::Result<()> {
        let path = data.join(PROFILE_NAME);
        if let (Some(kept), Some(mark)) = (kept.and_then(Profile::mark), self.mark()) {
            ensure!(
                kept.by == mark.by,
                "{} is the profile of another swarm, signed by {}: give this peer its own folder by --data",
                path.display(),
                kept.signer()
            );
            ensure!(
                kept.issued_s <= mark.issued_s,
                "{} is later (of {}) than this profile (of {}): take the later one",
                path.display(),
                kept.issued_at(),
                mark.issued_at()
            );
        }
        if kept == Some(self) {
            return Ok(());
        }
        files::replace(&path, self.text().as_bytes(), Readers::All)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

impl super::Settings {
    /// Makes the profile that was given the one of this peer's folder. One that nobody signed is signed with this peer's key if the
    /// peer founds the swarm.
    ///
    /// # Errors
    /// When the folder has another founder's profile, or a later one; when nobody signed it and the peer founds no swarm; when it
    /// cannot be written.
    pub fn adopt_profile(&mut self, identity: &Identity, now_s: i64) -> anyhow::Result<()> {
        let Some(given) = &self.profile else { return Ok(()) };
        let kept = Profile::of_folder(&self.data)?;
        let signed = self.signed(given, kept.as_ref(), identity, now_s)?;
        signed.keep(&self.data, kept.as_ref())?;
        let signer = signed.mark().map(|mark| mark.signer()).unwrap_or_default();
        if !self.moderators.contains(&signer) {
            self.moderators.push(signer);
        }
        self.profile = Some(Arc::new(signed));
        Ok(())
    }

    /// What was given if somebody signed it, else what this peer signed of the same words before, else signed now.
    fn signed(
        &self,
        given: &Profile,
        kept: Option<&Profile>,
        identity: &Identity,
        now_s: i64,
    ) -> anyhow::Result<Profile> {
        if given.mark().is_some() {
            return Ok(given.clone());
        }
        let mine = kept.filter(|kept| kept.mark().is_some_and(|mark| mark.by == identity.key()));
        let founds = kept.is_none() && self.bootstrap.is_empty();
        match mine {
            Some(mine) if mine.says_the_same(given) => Ok(mine.clone()),
            _ if mine.is_some() || founds => Ok(given.sign(identity, now_s)),
            _ => bail!(
                "nobody signed the profile, and this peer founds no swarm: take the one that its first peer signed \
                 (it comes with an invitation)"
            ),
        }
    }

    /// Whether this peer begins the seeds of its settings: those of the profile are begun by who signed that.
    pub fn begins_seeds(&self, own: &[u8; 32]) -> bool {
        let signer = self.profile.as_ref().and_then(|profile| profile.mark());
        !matches!(self.origins.of("seeds"), Origin::Profile(_)) || signer.is_none_or(|mark| mark.by == *own)
    }
}
