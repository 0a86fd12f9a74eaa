//! One peer of a swarm: membership, claims, copies, links, windows and the crawl, composed.
//!
//! Each part is told what it must know by the others, and nothing else; a permit needs a claim with a live lease, a copy that is whole,
//! and, where the address has a delay, a window of it ([`land`]). A slot passes through these states here:
//!
//! | state | until | what this peer does there |
//! |---|---|---|
//! | not kept | the view says that it should be, and the claim is known | sends links to its holder |
//! | learning | the holder says that the copy is whole, and takes this peer into the set | pulls the content |
//! | kept | a claim of this peer | merges what the holder sends, acknowledges its lease |
//! | held | all that was ever durable is here, and the hosts are read | no permits, no admission; links wait at their senders |
//! | open | the holder changes | admits, fetches, answers |
//! | draining | what is in flight is written and on every live member | no new permits |

mod cash;
mod contracts;
pub mod exclusions;
mod holding;
pub mod io;
mod land;
mod leaving;
mod lessons;
pub mod message;
pub mod offers;
mod outlooks;
pub mod registry;
mod slots;
mod unsent;
mod unwritten;
mod wiring;

pub use leaving::WaitsFor;
pub use message::{Message, MessageError};

use crate::agent::{Agent, Config as CrawlConfig};
use crate::focus::learned::Learned;
use anthill_crawler::canon;
use anthill_crawler::time::Instant;
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::member::MemberError;
use anthill_protocol::pack::Thinning;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::{claim, contract_net, exclusion, links, registry as crawls, replica, steward, view};
use cash::Cash;
use contracts::Contracts;
use exclusions::Excluded;
use io::{Effect, Input, Ticket};
use land::Land;
use lessons::Lessons;
use outlooks::Outlooks;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use registry::Census;
use slots::Slots;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use unsent::Unsent;
use unwritten::Unwritten;

/// What each part is held to.
#[derive(Clone, Debug)]
pub struct Config {
    /// The crawl.
    pub crawl: CrawlConfig,
    /// Membership.
    pub view: view::Config,
    /// Claims.
    pub claim: claim::Config,
    /// Copies.
    pub replica: replica::Config,
    /// Links.
    pub links: links::Config,
    /// Windows.
    pub steward: steward::Config,
    /// Crawls.
    pub registry: crawls::Config,
    /// Contracts; none: this peer gives nothing away, and takes nothing.
    pub contracts: Option<contract_net::Config>,
    /// Exclusions.
    pub exclusion: exclusion::sync::Config,
    /// Whose exclusions bind this peer; its own always do.
    pub rules: exclusion::Rules,
    /// What URLs are made canonical by: the same at all peers.
    pub canon: canon::Rules,
}

/// What the disk has when a peer starts.
pub struct Start {
    /// What it says of itself.
    pub description: view::Description,
    /// Whether it founds the swarm: it names no other peer to begin with.
    pub founder: bool,
    /// Of membership.
    pub view: Vec<view::Stored>,
    /// Of claims.
    pub claims: Vec<(Slot, claim::Record)>,
    /// Of copies, with each slot's last change.
    pub copies: Vec<(replica::Record, u64)>,
    /// Of link logs.
    pub links: Vec<links::Stored>,
    /// Whether other peers may have windows from here.
    pub shared: bool,
    /// Of crawls.
    pub crawls: Vec<crawls::Item>,
    /// Of exclusions.
    pub exclusions: Vec<exclusion::Item>,
}

/// What a write of records is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    View(view::Ticket),
    Claim(claim::Ticket),
    Shared(u64),
    Crawl(crawls::Ticket),
    /// Crawls and exclusions that need no answer.
    Unwritten,
}

/// One peer's mind, in a swarm.
pub struct Peer<K> {
    own: PeerKey,
    config: Config,
    view: view::State<K>,
    /// As last told to the others.
    seen: Arc<view::View>,
    crawl: Agent<Land<K>>,
    copies: replica::State<K>,
    links: links::State,
    census: Census<K>,
    excluded: Excluded<K>,
    contracts: Contracts,
    lessons: Lessons,
    cash: Cash,
    outlooks: Outlooks,
    unwritten: Unwritten,
    slots: Slots,
    /// When memory of slots that went to others is given back.
    thinning: Thinning,
    writes: BTreeMap<Ticket, Owner>,
    tickets: u64,
    /// Writes of copies under way, and their slots.
    applying: BTreeMap<replica::Ticket, (Slot, u32)>,
    /// Deletions of copies under way.
    deleting: BTreeMap<replica::Ticket, Slot>,
    /// Links offered to the crawl: their slot, how many were not of it, and how many were offered.
    offered: BTreeMap<u64, (Slot, u32, u64)>,
    /// Links of others that the crawl took, new ones or not.
    links_received: u64,
    /// Commits under way, in order: the slot of those that end a permit.
    commits: VecDeque<Option<Slot>>,
    /// The parts were told what the others found on disk.
    begun: bool,
    description: view::Description,
    /// What is waited for, by who leaves.
    leaving: Option<WaitsFor>,
    /// It goes without waiting.
    hurries: bool,
    /// A slot for which it could not go when it looked last.
    stuck: Option<Slot>,
    /// The activity of all crawls when it said last, before that, how they stand here.
    last_word: Option<u64>,
    now: Instant,
    outbox: Vec<Effect>,
}

impl<K: Keys + Clone> Peer<K> {
    /// A process that begins at `now`. Everything it leaves to chance follows from `seed`, which must differ from start to start.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub fn new(
        config: Config,
        keys: K,
        seed: [u8; 32],
        now: Instant,
        start: Start,
    ) -> Result<Peer<K>, MemberError> {
        let mut root = ChaCha8Rng::from_seed(seed);
        let mut rng = || {
            let mut seed = [0; 32];
            root.fill_bytes(&mut seed);
            seed
        };
        let chacha = ChaCha8Rng::from_seed;
        let own = keys.own();
        let heads = start.copies.iter().map(|(record, head)| (record.slot, *head));
        let logged = start.links.iter().map(|stored| stored.slot).collect();
        let slots = Slots::new(logged, heads);
        let description = start.description;
        let first = view::Start {
            description: description.clone(),
            expects_others: !start.founder,
            stored: start.view,
        };
        let view = view::State::new(config.view.clone(), keys.clone(), chacha(rng()), now, first)?;
        let claims = claim::State::new(
            config.claim.clone(),
            keys.clone(),
            chacha(rng()),
            now,
            start.founder,
            start.claims,
        );
        let stewards = steward::State::new(config.steward.clone(), own, chacha(rng()), now, start.shared);
        let copies =
            replica::State::new(config.replica.clone(), keys.clone(), chacha(rng()), now, start.copies);
        let unsent = Unsent::new(&start.links);
        let links = links::State::new(config.links.clone(), own, chacha(rng()), now, start.links);
        let crawl = Agent::with_rights(config.crawl.clone(), Land::new(claims, stewards), rng());
        let registry =
            crawls::State::new(config.registry.clone(), keys.clone(), chacha(rng()), now, start.crawls);
        let census = Census::new(registry, unsent, chacha(rng()).next_u64());
        let mut rules = config.rules.clone();
        rules.own.insert(own);
        // Who is a member is not known yet: witnesses come back from others.
        let standing =
            exclusion::set::Standing { binding: rules.moderators.clone(), kept: rules.kept_issuers() };
        let excluded = exclusion::sync::State::new(
            config.exclusion.clone(),
            keys.clone(),
            chacha(rng()),
            now,
            (standing, BTreeSet::new()),
            start.exclusions,
        );
        let excluded = Excluded::new(excluded, keys, rules, now);
        let contracts = Contracts::new(config.contracts.clone(), own, chacha(rng()), now);
        let outlooks = Outlooks::new(own, chacha(rng()));
        Ok(Peer {
            own,
            seen: view.view(),
            view,
            crawl,
            copies,
            links,
            slots,
            thinning: Thinning::default(),
            begun: false,
            description,
            census,
            excluded,
            contracts,
            lessons: Lessons::default(),
            cash: Cash::default(),
            outlooks,
            unwritten: Unwritten::default(),
            writes: BTreeMap::new(),
            tickets: 0,
            applying: BTreeMap::new(),
            deleting: BTreeMap::new(),
            offered: BTreeMap::new(),
            links_received: 0,
            commits: VecDeque::new(),
            leaving: None,
            hurries: false,
            stuck: None,
            last_word: None,
            now,
            outbox: Vec::new(),
            config,
        })
    }

    /// Takes note of what happened, and asks for what follows from it.
    pub fn handle(&mut self, now: Instant, input: Input, outbox: &mut Vec<Effect>) {
        self.now = now.max(self.now);
        if !std::mem::replace(&mut self.begun, true) {
            self.resume_slots();
        }
        match input {
            Input::Tick => self.tick(),
            Input::Received(peer, message) => self.received(peer, message),
            Input::PeerUp(peer) => self.peer_up(peer),
            Input::PeerDown(peer) => self.peer_down(peer),
            Input::Found(records) => self.tell_view(view::Input::Found(records)),
            Input::Described(addresses, dialable) => {
                (self.description.addresses, self.description.dialable) = (addresses, dialable);
                self.tell_view(view::Input::Describe(self.description.clone()));
            }
            Input::Refound => self.tell_view(view::Input::Refound),
            Input::Leave => self.leave(),
            Input::Hurry => self.hurry(),
            Input::Persisted(ticket) => self.persisted(ticket, true),
            Input::NotPersisted(ticket) => self.persisted(ticket, false),
            Input::Applied(ticket, applied) => self.applied(ticket, applied),
            Input::NotApplied(ticket) => {
                self.applying.remove(&ticket);
                self.deleting.remove(&ticket);
                self.tell_copies(replica::Input::NotApplied(ticket));
            }
            Input::Read(id, answer) => self.tell_copies(replica::Input::Read(id, answer)),
            Input::Full(full) => {
                self.contracts.full = full;
                self.tell_copies(replica::Input::Full(full));
            }
            Input::Numbered(changes) => self.slots.numbered(changes),
            Input::Synced(changes) => {
                for (slot, seq) in changes {
                    self.slots.synced(slot, seq);
                    self.tell_copies(replica::Input::Wrote(slot, seq));
                    self.place(slot);
                }
            }
            Input::Logged(logged) => {
                for (slot, upto, bytes) in logged {
                    self.interest(slot);
                    self.logged(slot, upto);
                    self.tell_links(links::Input::Logged { slot, upto, bytes });
                }
            }
            Input::LogRead { slot, after, links, upto } => {
                self.tell_links(links::Input::LogRead { slot, after, links, upto });
            }
            Input::SlotLoaded(slot, hosts, untried) => self.slot_loaded(slot, hosts, untried),
            Input::Begin(request, spec) => self.begin_crawl(request, spec),
            Input::End(crawl) => self.end_crawl(crawl),
            Input::Exclude(request, draft) => self.exclude(request, draft),
            Input::Include(key) => self.include(key),
            Input::Follow(issuers) => self.follow(issuers),
            Input::Words(words) => self.hear(words),
            Input::Counted(part) => self.tell_counted(part),
            Input::Ability(ability) => self.contracts.ability = ability.min(contract_net::able::WHOLE),
            Input::Crawl(input) => {
                let starts = matches!(input, crate::io::Input::Start { .. });
                self.tell_crawl(input);
                if starts {
                    self.crawl_started();
                }
            }
        }
        self.settle();
        outbox.append(&mut self.outbox);
    }

    /// When to call again though nothing happened.
    pub fn deadline(&self) -> Option<Instant> {
        let land = self.crawl.rights_ref();
        [
            self.view.deadline().map(|(at, _)| at),
            land.claims.deadline().map(|(at, _)| at),
            land.stewards.deadline().map(|(at, _)| at),
            self.copies.deadline().map(|(at, _)| at),
            self.links.deadline().map(|(at, _)| at),
            self.crawl.deadline().map(|(at, _)| at),
            land.deadline(),
            self.census.deadline(),
            self.excluded.deadline(),
            self.contracts.deadline(),
            self.unwritten.deadline(),
            self.lessons.deadline(),
            self.cash.deadline(),
            self.outlooks.deadline(),
            self.slots.drains_at,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The swarm as this peer sees it.
    pub fn view(&self) -> &Arc<view::View> {
        &self.seen
    }

    /// The settled view that decides which part of the swarm goes on, if one is known.
    pub fn electors(&self) -> Option<&view::Electors> {
        self.view.electors()
    }

    /// How many peers keep each slot.
    pub fn replicas(&self) -> usize {
        self.config.claim.replicas
    }

    /// Its claims.
    pub fn claims(&self) -> &claim::State<K> {
        &self.crawl.rights_ref().claims
    }

    /// What hosts wait for that have a turn: leases and windows.
    pub fn missing(&self) -> impl Iterator<Item = crate::rights::Right> {
        self.crawl.rights_ref().missing()
    }

    /// Its copies of slots.
    pub fn copies(&self) -> &replica::State<K> {
        &self.copies
    }

    /// Links of others that were taken in since the start, those known before included.
    pub fn links_received(&self) -> u64 {
        self.links_received
    }

    /// Its links for others.
    pub fn links(&self) -> &links::State {
        &self.links
    }

    /// The crawls of the swarm.
    pub fn registry(&self) -> &crawls::State<K> {
        &self.census.registry
    }

    /// The exclusions of the swarm.
    pub fn exclusions(&self) -> &exclusion::sync::State<K> {
        &self.excluded.state
    }

    /// Its contracts, unless it makes none.
    pub fn contracts(&self) -> Option<&contract_net::State> {
        self.contracts.net.as_deref()
    }

    /// What must be left alone, as far as it binds this peer.
    pub fn bound(&self) -> &Arc<anthill_crawler::exclusion::Exclusions> {
        &self.excluded.bound
    }

    /// Takes what was learned of where the topic is before a restart: before anything happens.
    pub fn recall(&mut self, learned: Learned) {
        self.crawl.recall(learned);
    }

    /// Its crawl.
    pub fn crawl(&self) -> &Agent<impl crate::rights::Rights + use<K>> {
        &self.crawl
    }

    /// Whether nothing is to be fetched here before its time, and no link waits for whoever holds its slot. Not before it is known
    /// what waits in the slots that it holds.
    pub fn idle(&self) -> bool {
        let starting = self.claims().is_starting() || !self.slots.unserved.is_empty();
        self.crawl.idle() && self.links.behind() == 0 && !starting
    }

    /// Whether it serves a slot: admits, fetches, answers.
    pub fn serves(&self, slot: Slot) -> bool {
        crate::rights::Rights::holds(self.crawl.rights_ref(), slot)
    }

    /// The slots it serves.
    pub fn served(&self) -> impl Iterator<Item = Slot> {
        self.crawl.rights_ref().served()
    }

    /// What this peer is doing about a slot, for logs and failed simulations.
    pub fn describe(&self, slot: Slot) -> String {
        let land = self.crawl.rights_ref();
        format!(
            "{:?}; copy {:?}; {}",
            self.slots.get(slot),
            self.copies.manifest(slot),
            land.claims.describe(slot)
        )
    }

    /// Whether it takes part in the swarm: it neither left nor found a twin.
    pub fn takes_part(&self) -> bool {
        self.view.takes_part()
    }

    fn ticket(&mut self, owner: Owner) -> Ticket {
        self.tickets += 1;
        self.writes.insert(Ticket(self.tickets), owner);
        Ticket(self.tickets)
    }

    fn misbehaved(&mut self, peer: PeerKey, what: &dyn std::fmt::Debug) {
        self.outbox.push(Effect::Misbehaved(peer, format!("{what:?}")));
    }
}

/// A route to a peer that should hold a slot of which no claim is known: less than every claim.
fn unclaimed(peer: PeerKey) -> (PeerKey, Token) {
    (peer, Token { counter: 0, minter: peer })
}

/// Slots of which something is asked for, in order.
type SlotSet = BTreeSet<Slot>;

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
