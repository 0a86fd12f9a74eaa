//! Exclusions of the swarm: which of them bind this peer, told to the crawl when that changes.

use super::io::{Change, Effect};
use super::{Message, Peer};
use crate::io as crawl;
use anthill_crawler::exclusion::{Exclusion, Exclusions, Pattern, Scope};
use anthill_crawler::time::Instant;
use anthill_protocol::exclusion::rules::{Binding, Judge};
use anthill_protocol::exclusion::set::Standing;
use anthill_protocol::exclusion::sync::{Input, Refused, State};
use anthill_protocol::exclusion::{self, Draft, Item, RuleKey, Rules, Verified};
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::placement::Member;
use anthill_protocol::signed::Signed;
use anthill_protocol::view;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// From a change to when what binds is reckoned anew: what comes together is reckoned once.
const REBIND_AFTER: Duration = Duration::from_millis(100);

/// The exclusions of one peer.
pub(super) struct Excluded<K> {
    pub state: State<K>,
    keys: K,
    rules: Rules,
    /// As last told to the set: who binds, and who the members are.
    standing: (Standing, BTreeSet<PeerKey>),
    /// As last told to the crawl.
    pub(super) bound: Arc<Exclusions>,
    rebind_at: Option<Instant>,
}

impl<K: Keys + Clone> Excluded<K> {
    pub fn new(state: State<K>, keys: K, rules: Rules, now: Instant) -> Excluded<K> {
        let standing = Default::default();
        Excluded { state, keys, rules, standing, bound: Arc::default(), rebind_at: Some(now) }
    }

    pub fn deadline(&self) -> Option<Instant> {
        [self.state.deadline().map(|(at, _)| at), self.rebind_at].into_iter().flatten().min()
    }
}

/// What the crawl is told of a rule that binds; none for a pattern that is not understood.
pub fn rule(binding: &Binding<'_>, own: &PeerKey) -> Option<Exclusion> {
    let one = binding.exclusion;
    Some(Exclusion {
        pattern: Pattern::parse(&one.pattern).ok()?,
        scope: match one.scope {
            exclusion::Scope::Crawl => Scope::Crawl,
            exclusion::Scope::Index => Scope::Index,
            exclusion::Scope::Show => Scope::Show,
        },
        reason: one.reason.clone(),
        issuer: if one.key.issuer == *own { String::new() } else { one.key.issuer.hex() },
        seq: one.sequence,
        created_s: one.issued_s,
    })
}

/// Where a member speaks from: its public network, or itself on a private one.
fn network(view: &view::View, peer: &PeerKey) -> Option<u64> {
    let member = Member::from(&*view.member(peer)?.record);
    let mut own = [0xff; 8];
    own[1..].copy_from_slice(&peer.0[..7]);
    Some(member.network().unwrap_or(u64::from_be_bytes(own)))
}

fn covers(pattern: &str, site: &str) -> bool {
    Pattern::parse(pattern).is_ok_and(|pattern| pattern.site() == site)
}

impl<K: Keys + Clone> Peer<K> {
    pub(super) fn tell_exclusions(&mut self, input: Input) {
        let mut out = Vec::new();
        self.excluded.state.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                exclusion::sync::Effect::Send(to, message) => {
                    self.outbox.push(Effect::Send(to, Message::Exclusion(message)));
                }
                exclusion::sync::Effect::Broadcast(message) => {
                    self.outbox.push(Effect::Broadcast(Message::Exclusion(message)));
                }
                exclusion::sync::Effect::Changed(_) => self.rebind_soon(),
                exclusion::sync::Effect::Persist(item) => {
                    let change = Change::Exclusion(item.name().key(), Some(Box::new(item)));
                    self.unwritten.put(change, true, self.now);
                }
                exclusion::sync::Effect::Forget(name) => {
                    self.unwritten.put(Change::Exclusion(name.key(), None), false, self.now);
                }
                // Told to who said it.
                exclusion::sync::Effect::Refused(..) => {}
                exclusion::sync::Effect::Misbehaved(peer, fault) => self.misbehaved(peer, &fault),
            }
        }
    }

    /// What binds may be different.
    pub(super) fn rebind_soon(&mut self) {
        let at = self.now + REBIND_AFTER;
        self.excluded.rebind_at = Some(self.excluded.rebind_at.map_or(at, |before| before.min(at)));
    }

    /// Reckons what binds, if it is time, and tells the crawl. Nothing is fetched before that was done with what another
    /// member knows, or by a peer that is alone.
    pub(super) fn rebind(&mut self) {
        let heeds = self.crawl.rights_ref().heeds;
        let knows = || self.excluded.state.compared() || self.seen.settled() && self.is_alone();
        if !heeds && knows() {
            self.crawl.rights().heeds = true;
            self.crawl.rights().change();
            self.excluded.rebind_at = Some(self.now);
        }
        if self.excluded.rebind_at.take_if(|at| *at <= self.now).is_none() {
            return;
        }
        let (now_s, view) = (self.now.unix_s(), self.seen.clone());
        let network = |peer: &PeerKey| network(&view, peer);
        let judge = Judge { covers: &covers, network: &network };
        let rules = &self.excluded.rules;
        let book = self.excluded.state.book();
        let owners = Rules::owners(book.witnesses(), &judge, now_s);
        let standing = Standing { binding: rules.binding_issuers(&owners), kept: rules.kept_issuers() };
        let effective = rules.effective(book.exclusions(), &owners, &judge, now_s);
        let mut bound = Exclusions::default();
        for binding in &effective {
            // What finds no room is within the bounds of what the crawler holds: the rules that come first are kept.
            rule(binding, &self.own).into_iter().for_each(|one| _ = bound.insert(one));
        }
        let expires = effective.iter().filter_map(|binding| binding.exclusion.expires_s).min();
        self.excluded.rebind_at = expires.map(Instant::from_unix_s);
        let members: BTreeSet<PeerKey> = self.seen.members().map(|(peer, _)| *peer).collect();
        let standing = (standing, members);
        if self.excluded.standing != standing {
            self.excluded.standing = standing.clone();
            self.tell_exclusions(Input::Standing(standing));
        }
        if *self.excluded.bound != bound {
            self.excluded.bound = Arc::new(bound);
            self.tell_crawl(crawl::Input::Exclusions(self.excluded.bound.clone()));
        }
    }

    /// The operator says something.
    pub(super) fn exclude(&mut self, request: u64, draft: Draft) {
        let book = self.excluded.state.book();
        let now_s = self.now.unix_s();
        let full = Refused::Refusal(exclusion::set::Refusal::Full);
        let signed = match book.exclusions().draft(self.own, draft, now_s) {
            Some(one) => Verified::sign(one, &self.excluded.keys).map_err(Refused::Statement),
            None => Err(full),
        };
        let answer = signed.map(|one| {
            let key = one.statement().key;
            self.tell_exclusions(Input::Local(Item::Exclusion(one.signed().clone())));
            key
        });
        self.outbox.push(Effect::Excluded(request, answer));
        // What the own operator says holds at once.
        self.excluded.rebind_at = Some(self.now);
    }

    /// The operator takes something back.
    pub(super) fn include(&mut self, key: RuleKey) {
        let known = self.excluded.state.book().exclusions().get(&key);
        let word = known.map(|one| one.statement().tombstone(self.now.unix_s()));
        if let Some(Ok(one)) = word.map(|word| Verified::sign(word, &self.excluded.keys)) {
            self.tell_exclusions(Input::Local(Item::Exclusion(one.signed().clone())));
            self.excluded.rebind_at = Some(self.now);
        }
    }

    /// The operator follows these issuers.
    pub(super) fn follow(&mut self, issuers: BTreeSet<PeerKey>) {
        self.excluded.rules.followed = issuers;
        self.excluded.rebind_at = Some(self.now);
        // At once: whose words are kept is known before these come.
        self.rebind();
    }

    /// Words of others came on a list.
    pub(super) fn hear(&mut self, words: Vec<Signed<exclusion::Exclusion>>) {
        for word in words {
            self.tell_exclusions(Input::Local(Item::Exclusion(word)));
        }
        // Whose list it is wants to see that it holds.
        self.excluded.rebind_at = Some(self.now);
        self.rebind();
    }
}
