//! Lists: published by this peer, and followed by it.

use super::swarm::named;
use super::{Live, LivePeer, PATIENCE, ending, heard, rfc3339};
use crate::api::{PeerError, types};
use crate::driver::ToDriver;
use crate::lists::fetch::{Getter, Got};
use crate::lists::list::{self, Entries, Kind, List, MAX_ENTRIES, MAX_ISSUERS, Seed};
use crate::lists::subscriptions::{
    AFTER_TROUBLE_S, Bounds, MAX_SUBSCRIPTIONS, Subscription, Subscriptions, Wanted,
};
use crate::swarm::Signer;
use anthill_agent::peer::io::Input;
use anthill_crawler::fetch::Validators;
use anthill_protocol::exclusion;
use anthill_protocol::exclusion::set::MAX_KEPT;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::signed::Signed;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Between two looks whether a list should be looked at.
const LOOK: Duration = Duration::from_secs(60);
/// Words of a list that the driver takes in one turn: each costs the check of a signature.
const WORDS_AT_ONCE: usize = 200;

/// What a peer has for lists.
pub struct Lists {
    /// Signs what this peer publishes, checks what others do.
    pub signer: Signer,
    /// Gets lists from the web.
    pub getter: Getter,
    /// What is followed; never locked for long.
    subscriptions: Mutex<Subscriptions>,
    /// Who changes that: one at a time, because it asks the web.
    turn: tokio::sync::Mutex<()>,
}

impl Lists {
    /// With what is followed already.
    pub fn new(signer: Signer, getter: Getter, subscriptions: Subscriptions) -> Lists {
        Lists { signer, getter, subscriptions: Mutex::new(subscriptions), turn: tokio::sync::Mutex::new(()) }
    }

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        // Every change of it is made at once, by assignment.
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LivePeer {
    /// Looks at lists on the web when it is time, for ever. Those of the settings are followed first.
    pub async fn refresh_lists(self) {
        let mut wanted: Vec<String> = self.0.settings.subscriptions.clone();
        let mut wanted_s = 0;
        loop {
            let now_s = self.0.clock.now().unix_s();
            if !wanted.is_empty() && wanted_s <= now_s {
                wanted = self.follow_wanted(wanted).await;
                wanted_s = now_s.saturating_add(AFTER_TROUBLE_S);
            }
            tokio::time::sleep(LOOK).await;
            // Nobody lets it go meanwhile.
            let _turn = self.0.lists.turn.lock().await;
            let now_s = self.0.clock.now().unix_s();
            let due = self.0.lists.subscriptions().due(now_s).cloned();
            let Some(due) = due else { continue };
            let request = types::SubscribeRequest {
                location: due.location.clone(),
                list: None,
                publisher: Some(due.publisher.clone()),
                scope: due.bounds.scope,
                depth: due.bounds.depth,
                max_pages: due.bounds.max_pages,
            };
            if let Err(error) = self.look(request).await {
                tracing::warn!(list = due.location, %error, "a list that is followed cannot be had");
                let troubled = Subscription { looked_s: now_s, trouble: Some(error.to_string()), ..due };
                if let Err(error) = self.0.lists.subscriptions().put(troubled, None) {
                    tracing::error!(%error, "subscriptions");
                }
            }
        }
    }

    /// Follows lists of the settings that are not followed yet. Those that cannot be had are left, to be tried again.
    async fn follow_wanted(&self, wanted: Vec<String>) -> Vec<String> {
        let mut troubled = Vec::new();
        for list in wanted {
            // Those that are none do not pass the settings' checks.
            let Some(Wanted { location, publisher }) = Wanted::parse(&list) else { continue };
            if self.0.lists.subscriptions().get(location).is_some() {
                continue;
            }
            let request = types::SubscribeRequest {
                location: location.to_owned(),
                publisher: publisher.map(str::to_owned),
                scope: self.0.settings.scope,
                ..types::SubscribeRequest::default()
            };
            if let Err(error) = self.follow_list(request).await {
                tracing::warn!(list = location, %error, "a list of the settings cannot be had; it is tried again in an hour");
                troubled.push(list);
            }
        }
        troubled
    }

    pub(super) async fn follow_list(
        &self,
        request: types::SubscribeRequest,
    ) -> Result<types::Subscribed, PeerError> {
        let _turn = self.0.lists.turn.lock().await;
        self.look(request).await
    }

    /// The same, by who has the turn.
    async fn look(&self, request: types::SubscribeRequest) -> Result<types::Subscribed, PeerError> {
        let lists = &self.0.lists;
        let had = lists.subscriptions().get(&request.location).cloned();
        let got = match request.list.clone() {
            Some(text) => Some((text, None)),
            None => {
                let before = had.as_ref().and_then(Subscription::validators);
                let got = lists.getter.get(&request.location, before.as_ref()).await;
                got.map_err(PeerError::Conflict)?
            }
        };
        self.answer(move |live| live.follow_list(&request, had, got)).await
    }

    pub(super) async fn leave_list(&self, location: String) -> Result<types::Subscriptions, PeerError> {
        let _turn = self.0.lists.turn.lock().await;
        self.answer(move |live| live.leave_list(&location)).await
    }
}

impl Live {
    pub(super) fn publish(&self, request: types::PublishRequest) -> Result<types::Published, PeerError> {
        let entries = match (request.kind, request.seeds) {
            (Kind::Exclusions, None) => Entries::Exclusions(self.own_words()?),
            (Kind::Exclusions, Some(_)) => {
                return Err(PeerError::Bad("exclusions are published as they are: give no seeds".into()));
            }
            (Kind::Seeds, Some(seeds)) => Entries::Seeds(self.canonical_seeds(seeds)?),
            (Kind::Seeds, None) => Entries::Seeds(self.known_seeds()?),
        };
        let list = List {
            publisher: self.key,
            swarm: self.settings.swarm.clone(),
            issued_s: self.clock.now().unix_s(),
            entries,
        };
        let count = match &list.entries {
            Entries::Exclusions(words) => words.len(),
            Entries::Seeds(seeds) => seeds.len(),
        };
        match count {
            0 => Err(PeerError::Conflict(format!("there are no {} to publish", list.kind()))),
            1..=MAX_ENTRIES => {
                Ok(types::Published { entries: list.count() as u64, list: list.write(&self.lists.signer) })
            }
            _ => Err(PeerError::Conflict(format!("{count} entries, a list has at most {MAX_ENTRIES}"))),
        }
    }

    /// What this peer and the swarm's moderators said, taken back or not.
    fn own_words(&self) -> Result<Vec<Signed<exclusion::Exclusion>>, PeerError> {
        let issuers = issuers(&self.settings.moderators).chain([self.key]).collect::<BTreeSet<_>>();
        if issuers.len() > MAX_ISSUERS {
            return Err(PeerError::Conflict(format!("a list has words of at most {MAX_ISSUERS} issuers")));
        }
        let now_s = self.clock.now().unix_s();
        self.ask(move |mind| {
            let known = mind.exclusions().book().exclusions();
            let words = issuers.iter().flat_map(|issuer| known.of_issuer(issuer));
            words.filter(|one| !one.statement().is_dead(now_s)).map(|one| one.signed().clone()).collect()
        })
    }

    fn canonical_seeds(&self, seeds: Vec<Seed>) -> Result<Vec<Seed>, PeerError> {
        let canonical = |seed: Seed| Ok(Seed { url: self.canonical(&seed.url)?.url().to_owned(), ..seed });
        seeds.into_iter().map(canonical).collect()
    }

    /// Of all crawls that are known here.
    fn known_seeds(&self) -> Result<Vec<Seed>, PeerError> {
        let seeds: BTreeSet<String> =
            self.ask(|mind| mind.crawl().crawls().flat_map(|crawl| crawl.record.seeds.clone()).collect())?;
        Ok(seeds.into_iter().map(|url| Seed { url, title: None }).collect())
    }

    pub(super) fn list_subscriptions(&self) -> types::Subscriptions {
        types::Subscriptions { subscriptions: self.lists.subscriptions().all().iter().map(shown).collect() }
    }

    /// Takes what was got, if anything, of a list that was had before, or not.
    fn follow_list(
        &self,
        request: &types::SubscribeRequest,
        had: Option<Subscription>,
        got: Option<Got>,
    ) -> Result<types::Subscribed, PeerError> {
        let looked_s = self.clock.now().unix_s();
        let bounds = Bounds { scope: request.scope, depth: request.depth, max_pages: request.max_pages };
        let (text, validators) = match (got, had.clone()) {
            (Some(got), _) => got,
            (None, Some(had)) => {
                is_by(request, &had.publisher)?;
                let same = Subscription { looked_s, trouble: None, bounds, ..had };
                return self.followed(same, None, false, None);
            }
            (None, None) => return Err(PeerError::Internal("nothing was got, and nothing was had".into())),
        };
        let list = List::read(&text, &self.lists.signer)
            .map_err(|error| PeerError::Bad(format!("{}: {error}", request.location)))?;
        let publisher = named(&list.publisher);
        self.check(request, had.as_ref(), &list, &publisher)?;
        let crawl = match &list.entries {
            Entries::Exclusions(words) => {
                self.heed(&request.location, &list, words)?;
                None
            }
            Entries::Seeds(seeds) => self.crawl_new(request, seeds)?,
        };
        let Validators { etag, last_modified } = validators.unwrap_or_default();
        let one = Subscription {
            location: request.location.clone(),
            kind: list.kind(),
            publisher,
            swarm: list.swarm.clone(),
            issuers: list.issuers().iter().map(named).collect(),
            issued_s: list.issued_s,
            entries: list.count() as u64,
            looked_s,
            trouble: None,
            etag,
            last_modified,
            bounds,
        };
        let changed = had.is_none_or(|had| had.issued_s != list.issued_s);
        self.followed(one, Some(&text), changed, crawl)
    }

    /// Whether it is the list that is wanted.
    fn check(
        &self,
        request: &types::SubscribeRequest,
        had: Option<&Subscription>,
        list: &List,
        publisher: &str,
    ) -> Result<(), PeerError> {
        let at = &request.location;
        if list.publisher == self.key {
            return Err(PeerError::Bad(format!("{at} was published by this peer itself")));
        }
        is_by(request, publisher)?;
        let Some(had) = had else {
            return match self.lists.subscriptions().has_room() {
                true => Ok(()),
                false => Err(PeerError::Conflict(format!(
                    "{MAX_SUBSCRIPTIONS} lists are followed already: `anthill unsubscribe` one first"
                ))),
            };
        };
        if had.publisher != publisher || had.kind != list.kind() {
            return Err(PeerError::Conflict(format!(
                "{at} was a list of {} by {}, now it is one of {} by {publisher}: if you trust that, `anthill unsubscribe {at}` first",
                had.kind,
                had.publisher,
                list.kind(),
            )));
        }
        if had.issued_s > list.issued_s {
            return Err(PeerError::Conflict(format!(
                "{at} is older than what was there before: get the newer one"
            )));
        }
        Ok(())
    }

    /// Exclusions of a list bind from now on.
    fn heed(
        &self,
        location: &str,
        list: &List,
        words: &[Signed<exclusion::Exclusion>],
    ) -> Result<(), PeerError> {
        for word in words {
            word.verify(&self.lists.signer)
                .map_err(|error| PeerError::Bad(format!("{location}: {error}")))?;
        }
        let others = self
            .lists
            .subscriptions()
            .all()
            .iter()
            .filter(|one| one.location != location)
            .cloned()
            .collect::<Vec<_>>();
        let others = others.iter().flat_map(|one| &one.issuers).filter_map(|name| list::key(name));
        let followed: BTreeSet<PeerKey> =
            others.chain(list.issuers()).chain(issuers(&self.settings.follow)).collect();
        let most = MAX_KEPT - 1;
        if followed.len() > most {
            return Err(PeerError::Conflict(format!(
                "with this list {} issuers of exclusions would be followed, at most {most}: unsubscribe from another first",
                followed.len()
            )));
        }
        self.tell(Input::Follow(followed))?;
        for some in words.chunks(WORDS_AT_ONCE) {
            self.tell(Input::Words(some.to_vec()))?;
        }
        // In force, then written down.
        self.turned()?;
        self.written()
    }

    /// Crawls what was not on the list when it was taken last.
    fn crawl_new(&self, request: &types::SubscribeRequest, seeds: &[Seed]) -> Result<Option<u64>, PeerError> {
        let before = self.lists.subscriptions().text(&request.location);
        let before = before.and_then(|text| List::read(&text, &self.lists.signer).ok());
        let known: BTreeSet<&str> = match before.as_ref().map(|list| &list.entries) {
            Some(Entries::Seeds(seeds)) => seeds.iter().map(|seed| seed.url.as_str()).collect(),
            _ => BTreeSet::new(),
        };
        let new = seeds.iter().filter(|seed| !known.contains(seed.url.as_str()));
        let new: Vec<String> = new.map(|seed| seed.url.clone()).collect();
        if new.is_empty() {
            return Ok(None);
        }
        let crawl = types::CrawlRequest {
            seeds: new,
            scope: request.scope,
            depth: request.depth,
            max_pages: request.max_pages,
            ..types::CrawlRequest::default()
        };
        Ok(Some(self.crawl(&crawl)?.crawl))
    }

    fn followed(
        &self,
        one: Subscription,
        text: Option<&str>,
        changed: bool,
        crawl: Option<u64>,
    ) -> Result<types::Subscribed, PeerError> {
        let subscription = shown(&one);
        self.lists
            .subscriptions()
            .put(one, text)
            .map_err(|error| PeerError::Conflict(format!("{error:#}")))?;
        Ok(types::Subscribed { subscription, changed, crawl })
    }

    fn leave_list(&self, location: &str) -> Result<types::Subscriptions, PeerError> {
        let known = self.lists.subscriptions().remove(location);
        if !known.map_err(|error| PeerError::Conflict(format!("{error:#}")))? {
            return Err(PeerError::NotFound(format!(
                "`{location}` is not followed; `anthill subscriptions` lists what is"
            )));
        }
        let left = self.lists.subscriptions().issuers();
        self.tell(Input::Follow(left.into_iter().chain(issuers(&self.settings.follow)).collect()))?;
        self.turned()?;
        Ok(self.list_subscriptions())
    }

    /// Waits until the driver has heard what was told, and shows what follows from it.
    fn turned(&self) -> Result<(), PeerError> {
        let (reply, answer) = crossbeam_channel::bounded(1);
        self.driver.send(ToDriver::Turn(reply)).map_err(|_| ending())?;
        heard(&answer, PATIENCE)
    }

    fn tell(&self, input: Input) -> Result<(), PeerError> {
        self.driver.send(ToDriver::Peer(Box::new(input))).map_err(|_| ending())
    }
}

/// Whether a list is by whom it should be.
fn is_by(request: &types::SubscribeRequest, publisher: &str) -> Result<(), PeerError> {
    match request.publisher.as_deref().filter(|wanted| *wanted != publisher) {
        Some(wanted) => Err(PeerError::Conflict(format!(
            "{} was published by {publisher}, not by {wanted}",
            request.location
        ))),
        None => Ok(()),
    }
}

/// Keys of peers named in settings, which were checked.
fn issuers(names: &[String]) -> impl Iterator<Item = PeerKey> + '_ {
    names.iter().filter_map(|name| list::key(name))
}

fn shown(one: &Subscription) -> types::Subscription {
    types::Subscription {
        location: one.location.clone(),
        kind: one.kind.to_string(),
        publisher: one.publisher.clone(),
        swarm: one.swarm.clone(),
        issuers: one.issuers.clone(),
        issued_at: rfc3339(one.issued_s).unwrap_or_default(),
        entries: one.entries,
        looked_at: rfc3339(one.looked_s).unwrap_or_default(),
        trouble: one.trouble.clone(),
    }
}
