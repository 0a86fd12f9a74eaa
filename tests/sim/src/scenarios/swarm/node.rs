//! One machine: a peer, and how it is started and called; what its hands do is in [`hands`].

mod hands;
mod hostile;

use super::store::{self, Queues, Written};
use super::web::{self, Web};
use super::{Flaw, Happened, Hostile};
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::node::{Ctx, Node, NodeId};
use anthill_agent::focus;
use anthill_agent::io::{self as crawl, Permit, PermitId};
use anthill_agent::peer::io::{Applied, Input};
use anthill_agent::peer::{self, Message, Peer, Start};
use anthill_crawler::focus::bayes::Model;
use anthill_crawler::focus::reader::About;
use anthill_crawler::frontier;
use anthill_crawler::record::Scope;
use anthill_protocol::contract_net::Water;
use anthill_protocol::key::{Slot, UrlId};
use anthill_protocol::member::{Address, Transport};
use anthill_protocol::peer::testing::Keyring;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::placement::Key;
use anthill_protocol::time::Instant;
use anthill_protocol::wire::decode;
use anthill_protocol::{claim, contract_net, exclusion, frequency, links, registry, replica, steward, view};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

const KEY: &[u8] = b"key";
/// From one try to find others to the next.
const LOOKING: Duration = Duration::from_secs(5);
/// See `bootstrap_again` of the network's settings.
const FIRST_AGAIN: Duration = Duration::from_secs(30);
/// For what was said last to be sent.
const FLUSH: Duration = Duration::from_secs(1);
/// From when the founder begins its crawl to when it says its exclusion: some pages are fetched by then, seldom all.
const EXCLUDES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(12));
/// From one time that a peer finds out how able it is to the next.
const ASSESS_EVERY: Duration = Duration::from_secs(4);
/// From one flood to the next.
const FLOOD_EVERY: Duration = Duration::from_millis(100);
/// With what a process is started.
pub struct Boot {
    /// The machine.
    pub id: NodeId,
    /// Machines that there have been.
    pub others: u32,
    /// It founds the swarm.
    pub founds: bool,
    /// The web that is crawled.
    pub web: Web,
    /// How long after its first start the founder begins the crawl.
    pub begins: Duration,
    /// How long it tries to leave in order, before it says goodbye as it is.
    pub leaves_within: Duration,
    /// Pages that the crawl wants, at most.
    pub max_pages: Option<u64>,
    /// What it does to the others.
    pub hostile: Option<Hostile>,
    /// What its hands do wrong.
    pub flaw: Option<Flaw>,
}

/// What a write is of.
enum Writing {
    Records(peer::io::Ticket),
    Copy(replica::Ticket, Slot, Applied),
    Commit(Written),
    Promoted(Written),
    /// A permit is on disk: the request may be made.
    Permit(Permit),
    Nothing,
}

/// Something that the hands do later.
enum Later {
    Tell(Box<Input>),
    Send(Permit),
    Answer(PermitId, String),
    End,
    Hurry,
    Exclude,
    /// It calls and bids, whatever it has.
    Flood,
    /// It finds out how able it is, and tells a part of what it counted.
    Assess,
}

/// One process.
pub struct Machine {
    peer: Peer<Keyring>,
    number: u64,
    me: NodeId,
    others: u32,
    dice: Dice,
    open: BTreeMap<PeerKey, NodeId>,
    queues: Queues,
    writes: BTreeMap<Ticket, Writing>,
    synced: BTreeMap<Slot, u64>,
    /// What was read while writes were under way, by the last of these: it is told when they are done.
    reads: BTreeMap<Ticket, Vec<(replica::ReadId, replica::Answer)>>,
    later: BTreeMap<(Instant, u64), Later>,
    permits: BTreeMap<PermitId, Permit>,
    count: u64,
    look_at: Instant,
    /// How many machines were tried in turn.
    tried: usize,
    begun: bool,
    key_written: bool,
    /// There was an earlier process.
    earlier: bool,
    /// It was told to leave, and founded a swarm that nobody has joined: with it there would be none.
    leaves_later: bool,
    leaves_within: Duration,
    /// It has said goodbye.
    left: bool,
    /// And that has been sent.
    ended: bool,
    stopped: bool,
    web: Web,
    /// Links that it has offered, where that is remembered.
    offered: BTreeSet<UrlId>,
    slots: Vec<Slot>,
    max_pages: Option<u64>,
    hostile: Option<Hostile>,
    flaw: Option<Flaw>,
    /// The founder was asked for its crawl.
    asked: bool,
    /// When it is to be asked.
    begins_at: Instant,
    /// As last seen: members away when the crawl was over, if it was.
    over: Option<u32>,
}

fn address(of: NodeId) -> Address {
    let [_, a, b, c] = of.0.to_be_bytes();
    Address::Direct { ip: IpAddr::V4(Ipv4Addr::new(10, a, b, c)), port: 4_000, transport: Transport::Tcp }
}

fn description(of: NodeId) -> view::Description {
    view::Description { addresses: vec![address(of)], dialable: true, tokens: 64, leaving: false }
}

/// Requests in a thousand seconds of a machine, where they are unequal: the first is slow, of the others every third.
fn speed(of: NodeId) -> NonZeroU32 {
    let speed = if of.0.is_multiple_of(3) { 700 } else { 5_000 };
    NonZeroU32::new(speed).expect("more than nothing")
}

/// Contracts of peers that have seconds to do, where a node's have minutes.
fn contracts() -> contract_net::Config {
    contract_net::Config {
        water: Water { gap_permille: 50, ..Water::of(Duration::from_secs(6)) },
        interval: Duration::from_secs(1),
        back_off: Duration::from_secs(8),
        patience: Duration::from_millis(500),
        reserved: Duration::from_secs(1),
        arrival: Duration::from_secs(10),
        limit: Duration::from_secs(30),
        stall: Duration::from_secs(20),
        overdue: Duration::from_secs(20),
        rest: Duration::from_secs(3),
        no_return: Duration::from_secs(15),
        inform_every: Duration::from_secs(2),
        idle: Duration::from_secs(2),
        able: contract_net::able::Terms { interval: Duration::from_secs(3), most: 4, ..Default::default() },
        ..contract_net::Config::default()
    }
}

fn config(web: &Web, of: NodeId) -> peer::Config {
    let frontier = frontier::Config {
        max_speed: web.unequal.then(|| speed(of)),
        host_delay: web.host_delay,
        ip_delay: web.ip_delay,
        max_in_flight: web.in_flight,
        ..frontier::Config::default()
    };
    let about = || About::Examples(Arc::new(Model::unknowing()));
    let focus = web.topical.then(|| focus::Settings { about: about(), levels: 4, rules: true });
    peer::Config {
        crawl: anthill_agent::Config { frontier, revisit: None, focus, ..anthill_agent::Config::default() },
        view: view::Config::of(Key::of_swarm("simulated")),
        claim: claim::Config { slots: web.slots(), replicas: web.replicas, ..claim::Config::default() },
        replica: replica::Config {
            replicas: web.replicas,
            compare_every: Duration::from_secs(60),
            keep: Duration::from_secs(30),
            confirm_every: Duration::from_secs(5),
            ..replica::Config::default()
        },
        links: links::Config::default(),
        steward: steward::Config::default(),
        registry: registry::Config::default(),
        contracts: match web.unequal || web.topical {
            true => Some(contracts()),
            false => web.contracts.then(contract_net::Config::default),
        },
        exclusion: exclusion::sync::Config {
            gossip_delay: Duration::from_millis(200),
            ..exclusion::sync::Config::default()
        },
        // The founder speaks for all.
        rules: exclusion::Rules {
            moderators: [Keyring::numbered(0).own()].into(),
            ..exclusion::Rules::default()
        },
        canon: anthill_crawler::canon::Rules::default(),
    }
}

impl Machine {
    /// The peer.
    pub fn peer(&self) -> &Peer<Keyring> {
        &self.peer
    }

    /// Whether it found that another speaks with its key, and stopped.
    pub fn has_stopped(&self) -> bool {
        self.stopped
    }

    /// Its name.
    pub fn key(&self) -> PeerKey {
        Keyring::numbered(self.number).own()
    }

    fn at(&mut self, at: Instant, what: Later) {
        self.count += 1;
        self.later.insert((at, self.count), what);
    }

    /// The crawl of the run, if this peer knows it.
    pub fn crawl_key(&self) -> Option<registry::CrawlKey> {
        self.peer.registry().book().crawls().next().map(|(key, _)| *key)
    }

    fn look_whether_over(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let over = self.crawl_key().and_then(|key| self.peer.registry().over(&key)).map(|over| over.away);
        if over.is_some() && over != self.over {
            ctx.log(Happened::Over(over.unwrap_or(0)));
        }
        self.over = over;
    }

    fn tell(&mut self, ctx: &mut Ctx<'_, Happened>, input: Input) {
        let looks = matches!(input, Input::Tick | Input::Received(_, Message::Registry(_)));
        self.tell_only(ctx, input);
        if looks {
            self.look_whether_over(ctx);
        }
    }

    fn tell_only(&mut self, ctx: &mut Ctx<'_, Happened>, input: Input) {
        let mut out = Vec::new();
        self.peer.handle(ctx.now(), input, &mut out);
        for effect in out {
            self.perform(ctx, effect);
        }
    }

    fn soon(&mut self, ctx: &Ctx<'_, Happened>, most: Duration, input: Input) {
        let at = ctx.now() + self.dice.span(Duration::ZERO, most);
        self.at(at, Later::Tell(Box::new(input)));
    }

    fn send(&mut self, ctx: &mut Ctx<'_, Happened>, peer: PeerKey, message: &Message) {
        let known = || match self.peer.view().member(&peer)?.record.addresses.first()? {
            Address::Direct { ip: IpAddr::V4(v4), .. } => {
                let [_, a, b, c] = v4.octets();
                Some(NodeId(u32::from_be_bytes([0, a, b, c])))
            }
            _ => None,
        };
        let Some(to) = self.open.get(&peer).copied().or_else(known).filter(|to| *to != self.me) else {
            return;
        };
        ctx.send(to, message.kind(), [self.key().0.as_slice(), &message.encode()].concat());
    }

    /// Machines are tried at which somebody may be: of those to begin with some that are not connected, in turn; and by who is left
    /// alone all that it has met too, as the network's book of addresses would.
    fn look(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let view = self.peer.view();
        let knows = view.members().count() > 1;
        let is_alone = knows && view.members().filter(|(peer, _)| view.is_live(peer)).count() == 1;
        self.look_at = ctx.now() + if knows && !is_alone { FIRST_AGAIN } else { LOOKING };
        let first = (0..self.others).map(NodeId);
        let connected: BTreeSet<NodeId> = self.open.values().copied().collect();
        let some = self.others.min(3) as usize;
        let to: Vec<NodeId> = if knows {
            let in_turn: BTreeSet<NodeId> = match is_alone {
                true => connected.into_iter().chain(first).collect(),
                false => first.filter(|to| !connected.contains(to)).collect(),
            };
            let from = self.tried;
            self.tried += some;
            in_turn.iter().cycle().skip(from % in_turn.len().max(1)).take(some).copied().collect()
        } else {
            let any = |_| NodeId(u32::try_from(self.dice.below(u64::from(self.others))).unwrap_or(0));
            (0..some).map(any).collect()
        };
        for to in to.into_iter().filter(|to| *to != self.me) {
            ctx.send(to, "hello", self.key().0.to_vec());
        }
    }

    fn begin(&mut self, ctx: &mut Ctx<'_, Happened>) {
        self.begun = true;
        if self.hostile == Some(Hostile::Flooder) {
            self.at(ctx.now() + FLOOD_EVERY, Later::Flood);
        }
        if self.web.topical {
            self.at(ctx.now(), Later::Assess);
        }
        let start = crawl::Input::Start {
            hosts: Vec::new(),
            earlier: self.earlier,
            crawls: store::crawls(ctx.disk()),
            entered: Vec::new(),
            next_due: None,
        };
        self.tell(ctx, Input::Crawl(start));
    }

    /// The founder begins a crawl, once.
    fn ask(&mut self, ctx: &mut Ctx<'_, Happened>) {
        if self.me != NodeId(0)
            || self.asked
            || ctx.now() < self.begins_at
            || self.peer.registry().book().crawls().next().is_some()
        {
            return;
        }
        self.asked = true;
        let spec = crawl::CrawlSpec {
            seeds: vec![web::seed()],
            scope: Scope::Any,
            max_pages: self.max_pages,
            ..crawl::CrawlSpec::default()
        };
        self.tell(ctx, Input::Begin(1, spec));
    }

    /// How able it is does not follow from what it fetched: what is tried is what peers make of it.
    fn assess(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let ability = u16::try_from(self.dice.below(1_001)).unwrap_or(0);
        self.tell(ctx, Input::Ability(ability));
        let part = u8::try_from(self.dice.below(frequency::PARTS.into())).unwrap_or(0);
        self.tell(
            ctx,
            Input::Counted(frequency::Message { pages: 9, part, counts: vec![1; frequency::PART] }),
        );
        self.at(ctx.now() + ASSESS_EVERY, Later::Assess);
    }

    fn exclude(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let draft = exclusion::Draft {
            pattern: format!("host:{}", self.web.excluded()),
            scope: exclusion::Scope::Crawl,
            reason: "its owner asked for it".into(),
            expires_s: None,
        };
        self.tell(ctx, Input::Exclude(1, draft));
    }
}

impl Node for Machine {
    type Boot = Boot;
    type Event = Happened;

    fn boot(boot: Boot, disk: &Disk, now: Instant, seed: u64) -> Machine {
        let kept = disk.get(KEY).and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
        let number = kept.unwrap_or(u64::from(boot.id.0));
        let slots = boot.web.slots();
        let claims = disk.range(b"m").filter_map(|(key, bytes)| {
            let slot = Slot::new(u16::from_be_bytes(key[1..].try_into().ok()?))?;
            Some((slot, decode::<claim::Record>(bytes).ok()?))
        });
        let start = Start {
            description: description(boot.id),
            founder: boot.founds,
            view: disk.range(b"v").filter_map(|(_, bytes)| decode(bytes).ok()).collect(),
            claims: claims.collect(),
            copies: store::records(disk),
            links: store::logs(disk, &slots),
            shared: disk.get(b"w").is_some_and(|bytes| bytes == [1]),
            crawls: disk.range(b"R").filter_map(|(_, bytes)| decode(bytes).ok()).collect(),
            exclusions: disk.range(b"E").filter_map(|(_, bytes)| decode(bytes).ok()).collect(),
        };
        let bytes = blake3::hash(&seed.to_le_bytes());
        let keys = Keyring::numbered(number);
        let peer = Peer::new(config(&boot.web, boot.id), keys, *bytes.as_bytes(), now, start)
            .expect("a right description");
        Machine {
            peer,
            number,
            me: boot.id,
            others: boot.others,
            dice: Dice::new(seed, "swarm"),
            open: BTreeMap::new(),
            queues: Queues::default(),
            writes: BTreeMap::new(),
            synced: slots.iter().map(|slot| (*slot, store::head(disk, *slot))).collect(),
            reads: BTreeMap::new(),
            later: BTreeMap::new(),
            permits: BTreeMap::new(),
            count: 0,
            look_at: now,
            tried: 0,
            begun: false,
            key_written: kept.is_some(),
            earlier: kept.is_some(),
            leaves_later: false,
            leaves_within: boot.leaves_within,
            left: false,
            ended: false,
            stopped: false,
            web: boot.web,
            offered: BTreeSet::new(),
            slots,
            max_pages: boot.max_pages,
            hostile: boot.hostile,
            flaw: boot.flaw,
            asked: false,
            begins_at: now + boot.begins,
            over: None,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if self.stopped {
            return None;
        }
        if !self.begun {
            return Some(Instant::ZERO);
        }
        let later = self.later.keys().next().map(|(at, _)| *at);
        [self.peer.deadline(), later, Some(self.look_at)].into_iter().flatten().min()
    }

    fn label(&self) -> &'static str {
        let serves = self.slots.iter().filter(|slot| self.peer.serves(**slot)).count();
        let holds = self.slots.iter().filter(|slot| self.peer.claims().holds(**slot)).count();
        let claims = self.peer.claims();
        let negotiates = self.peer.contracts().and_then(|net| net.stage());
        match () {
            () if self.stopped || self.left => "stopped",
            () if negotiates.is_some() => negotiates.map_or("", contract_net::Stage::word),
            () if !self.peer.view().settled() => "settling",
            () if self.slots.iter().any(|slot| claims.is_moving(*slot)) => "moving",
            () if serves < holds => "catching up",
            () if holds == 0 => "idle",
            () if !self.peer.view().primary() => "cut off",
            () if self.permits.is_empty() => "holding",
            () => "fetching",
        }
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Happened>) {
        if self.stopped {
            return;
        }
        if !self.begun {
            self.begin(ctx);
        }
        self.ask(ctx);
        if self.leaves_later {
            self.leave(ctx);
        }
        if self.look_at <= ctx.now() {
            self.look(ctx);
        }
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= ctx.now()) {
            match entry.remove() {
                Later::Tell(input) => self.tell(ctx, *input),
                Later::Send(permit) => self.fetch(ctx, permit),
                Later::Answer(id, url) => self.answer(ctx, id, &url),
                Later::End => self.ended = true,
                Later::Hurry => self.tell(ctx, Input::Hurry),
                Later::Exclude => self.exclude(ctx),
                Later::Flood => self.flood(ctx),
                Later::Assess => self.assess(ctx),
            }
        }
        self.tell(ctx, Input::Tick);
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Happened>, from: NodeId, bytes: &[u8]) {
        let Some((key, bytes)) = bytes.split_first_chunk::<32>() else { return };
        let peer = PeerKey(*key);
        if self.stopped || self.left || peer == self.key() {
            return;
        }
        if self.open.insert(peer, from) != Some(from) {
            self.tell(ctx, Input::PeerUp(peer));
        }
        if bytes.is_empty() {
            return;
        }
        match Message::decode(bytes) {
            Ok(message) => self.tell(ctx, Input::Received(peer, message)),
            Err(error) => panic!("a message that is not understood: {error}"),
        }
    }

    fn completed(&mut self, ctx: &mut Ctx<'_, Happened>, ticket: Ticket, result: Result<(), DiskFull>) {
        for (id, answer) in self.reads.remove(&ticket).into_iter().flatten() {
            self.has_read(ctx, id, answer);
        }
        let Some(write) = self.writes.remove(&ticket).filter(|_| !self.stopped) else { return };
        let done = result.is_ok();
        match write {
            Writing::Records(ticket) => {
                self.key_written |= done;
                self.tell(ctx, if done { Input::Persisted(ticket) } else { Input::NotPersisted(ticket) });
            }
            Writing::Copy(ticket, slot, applied) => {
                if done {
                    let synced = self.synced.entry(slot).or_default();
                    *synced = if applied.head == 0 { 0 } else { (*synced).max(applied.head) };
                    self.tell(ctx, Input::Applied(ticket, applied));
                } else {
                    self.tell(ctx, Input::NotApplied(ticket));
                }
            }
            Writing::Commit(written) if done => self.written(ctx, written, false),
            Writing::Promoted(written) if done => self.written(ctx, written, true),
            Writing::Permit(permit) => {
                let slow = self.web.has_trouble && self.dice.chance(crate::dice::MILLION / 50);
                let most = Duration::from_millis(if slow { 4_000 } else { 30 });
                let at = ctx.now() + self.dice.span(Duration::ZERO, most);
                self.at(at, Later::Send(permit));
            }
            Writing::Commit(_) | Writing::Promoted(_) | Writing::Nothing => {}
        }
    }

    fn broken(&mut self, ctx: &mut Ctx<'_, Happened>, with: NodeId) {
        let broken: Vec<PeerKey> = self.open.iter().filter(|(_, at)| **at == with).map(|(p, _)| *p).collect();
        for peer in broken {
            self.open.remove(&peer);
            self.tell(ctx, Input::PeerDown(peer));
        }
    }

    fn leave(&mut self, ctx: &mut Ctx<'_, Happened>) {
        self.leaves_later = self.me == NodeId(0) && self.peer.view().members().count() == 1;
        if !self.leaves_later {
            self.tell(ctx, Input::Leave);
            self.at(ctx.now() + self.leaves_within, Later::Hurry);
        }
    }

    fn left(&self) -> bool {
        self.stopped || self.ended
    }
}
