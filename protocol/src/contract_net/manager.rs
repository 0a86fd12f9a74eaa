//! The side of who has too much: calls, counts bids, awards, and sees contracts through.

use super::able::Able;
use super::io::{Effect, Reason};
use super::load::{Bidder, Held, Load, Lot, pages_of, select_shed, share};
use super::message::{CallId, MAX_LOTS, Message, Why, millis};
use super::state::Common;
use super::story::Event;
use super::strayed::Strayed;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use deal::{Deal, Stage, Work};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

mod able;
mod deal;
mod work;

pub(super) use work::{SOONER, soonest};

/// Peers that asked for something lately.
const MOST_SOLICITING: usize = 64;

/// So many times the high water is far too much.
const FAR: u32 = 8;

/// What came in answer to a call.
#[derive(Debug)]
enum Bids {
    /// To one that was made because much waits here.
    Load(BTreeMap<PeerKey, Bidder>),
    /// To one that was made because this peer is able: of each, how able it is, and the pages that it takes at most.
    Able(BTreeMap<PeerKey, (Able, u64)>),
}

impl Bids {
    fn len(&self) -> usize {
        match self {
            Bids::Load(bids) => bids.len(),
            Bids::Able(bids) => bids.len(),
        }
    }
}

/// A call whose bids are waited for.
#[derive(Debug)]
struct Calling {
    id: CallId,
    until: Instant,
    lots: Vec<Held>,
    asked: BTreeSet<PeerKey>,
    bids: Bids,
    refused: BTreeSet<PeerKey>,
}

/// All calls and contracts of this peer's.
#[derive(Debug)]
pub(super) struct Manager {
    next_id: u64,
    calling: Option<Calling>,
    deals: BTreeMap<(CallId, PeerKey), Deal>,
    /// When to call again at the earliest, and how long after that if it is in vain.
    next_at: Instant,
    pause: Duration,
    candidates: usize,
    /// What nobody wanted when it was offered: other lots come first. None was left to come when the present call began.
    unwanted: BTreeSet<Slot>,
    all_offered: bool,
    /// Who asked for something, and when.
    soliciting: BTreeMap<PeerKey, Instant>,
    strayed: Strayed,
    done: u64,
    failed: u64,
}

impl Manager {
    pub fn new(first: u64, now: Instant) -> Manager {
        Manager {
            next_id: first,
            calling: None,
            deals: BTreeMap::new(),
            next_at: now,
            pause: Duration::ZERO,
            candidates: 0,
            unwanted: BTreeSet::new(),
            all_offered: false,
            soliciting: BTreeMap::new(),
            strayed: Strayed::default(),
            done: 0,
            failed: 0,
        }
    }

    pub fn open(&self) -> usize {
        self.deals.len()
    }

    pub fn ended(&self) -> (u64, u64) {
        (self.done, self.failed)
    }

    pub fn slots(&self) -> usize {
        self.deals.values().map(|deal| deal.lots.values().filter(|(_, gone)| *gone).count()).sum()
    }

    /// How far its calls and contracts are.
    pub fn stages(&self) -> BTreeSet<super::Stage> {
        let deals = self.deals.values().map(|deal| match deal.stage {
            Stage::Awarded => super::Stage::Awarded,
            Stage::Moving => super::Stage::Giving,
            Stage::Running => super::Stage::Given,
        });
        self.calling.iter().map(|_| super::Stage::Calling).chain(deals).collect()
    }

    /// Whether this peer is giving something away, or would like to.
    pub fn is_giving(&self) -> bool {
        self.calling.is_some() || self.deals.values().any(|deal| deal.stage != Stage::Running)
    }

    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        let bids = self.calling.as_ref().map(|calling| (calling.until, Reason::Bids));
        let deals = self.deals.values().map(|deal| (deal.until, Reason::Contracts));
        bids.into_iter().chain(deals).min()
    }

    /// What is left to do here when what was awarded has gone.
    fn load(&self, common: &Common, promised: u64) -> Load {
        let pending = self.deals.values().map(Deal::pending).sum();
        common.report.load.with(promised).without(pending)
    }

    /// Somebody has little to do.
    pub fn solicited(&mut self, from: PeerKey, load: Load, common: &Common) {
        if self.soliciting.len() < MOST_SOLICITING || self.soliciting.contains_key(&from) {
            self.soliciting.insert(from, common.now);
        }
        // Who was in vain looking for somebody need not wait any longer.
        let here = common.report.load.ability();
        if common.report.able.is_none() && common.config.water.is_worth(here, load.ability()) {
            self.next_at = self.next_at.min(common.now + common.config.interval);
        }
    }

    /// Looks whether there is too much to do, and calls if so.
    pub fn look(&mut self, common: &mut Common, promised: u64) {
        let config = &common.config;
        self.soliciting.retain(|_, at| common.now < *at + config.interval * 2);
        let busy = self.calling.is_some() || self.deals.len() >= config.given;
        if busy || common.now < self.next_at || !common.is_settled() || common.leaving {
            return;
        }
        let moving = self.deals.values().flat_map(|deal| deal.lots.keys().copied());
        let resting = common.report.lots.iter().map(|held| held.lot.slot).filter(|slot| common.rests(*slot));
        let previous: BTreeSet<Slot> = moving.chain(resting).collect();
        if let Some(able) = common.report.able {
            return self.look_able(able, &previous, common);
        }
        let load = self.load(common, promised);
        let lots: Vec<Lot> = common.report.lots.iter().map(|held| held.lot).collect();
        let all: BTreeSet<Slot> = previous.union(&self.unwanted).copied().collect();
        let mut shed = select_shed(load, &lots, &all, &config.water, MAX_LOTS);
        self.all_offered = shed.is_empty();
        if self.all_offered {
            self.unwanted.clear();
            shed = select_shed(load, &lots, &previous, &config.water, MAX_LOTS);
        }
        if shed.is_empty() {
            (self.pause, self.candidates) = (Duration::ZERO, 0);
            return;
        }
        self.call(load, shed, common);
    }

    /// Calls for proposals.
    fn call(&mut self, load: Load, shed: Vec<Lot>, common: &mut Common) {
        let chosen: BTreeSet<Slot> = shed.iter().map(|lot| lot.slot).collect();
        let mut lots: Vec<Held> =
            common.report.lots.iter().filter(|held| chosen.contains(&held.lot.slot)).cloned().collect();
        lots.iter_mut().for_each(|held| held.not_to = common.came_from(held.lot.slot));
        let times = load.ability().as_millis() / common.config.water.high.as_millis().max(1);
        let asked = self.candidates(usize::try_from(times).unwrap_or(usize::MAX), &lots, common);
        if asked.is_empty() {
            return;
        }
        let message = |id, patience_ms| Message::Call { id, load, patience_ms, lots: shed.clone() };
        self.ask(asked, lots, (Bids::Load(BTreeMap::new()), load, None), message, common);
        self.next_at = common.now + common.config.interval;
    }

    /// Asks those for bids, and tells of it.
    fn ask(
        &mut self,
        asked: BTreeSet<PeerKey>,
        lots: Vec<Held>,
        (bids, load, able): (Bids, Load, Option<Able>),
        message: impl Fn(CallId, u32) -> Message,
        common: &mut Common,
    ) {
        self.next_id += 1;
        let id = CallId(self.next_id);
        let patience = common.config.patience;
        for peer in &asked {
            common.out.push(Effect::Send(*peer, message(id, millis(patience))));
        }
        let (own, told) = (common.own, asked.iter().copied().collect());
        for by in asked.iter().filter(|peer| self.soliciting.contains_key(peer)) {
            common.tell(own, id, Event::Solicited { by: *by });
        }
        let pages = lots.iter().map(|held| u64::from(held.lot.pages)).sum();
        common.tell(own, id, Event::Called { by: own, load, able, lots: lots.len(), pages, asked: told });
        // Half as long again, as the call has to get there and the bids back.
        let until = common.now + patience + patience / 2;
        self.calling = Some(Calling { id, until, lots, asked, bids, refused: BTreeSet::new() });
    }

    /// Who is asked: those that asked, then who keeps copies of most of what is offered, then anybody. Two random choices are nearly as good
    /// as all (Mitzenmacher), where the paper has a facilitator pick the least able of all. Who has so many times the high water asks as many
    /// (`needed`) at once, as so many are needed to get below it; the paper's `m` is the least.
    fn candidates(&mut self, needed: usize, lots: &[Held], common: &mut Common) -> BTreeSet<PeerKey> {
        let config = &common.config;
        let most = self.candidates.max(needed).max(config.candidates).min(config.most_candidates);
        self.candidates = most;
        let on_trial = self.on_trial(common);
        let fit = |common: &Common, peer: &PeerKey| {
            common.stays(peer) && common.standing.trusts(peer, common.now) && !on_trial.contains(peer)
        };
        let busy: BTreeSet<PeerKey> = self
            .deals
            .iter()
            .filter(|(_, deal)| deal.stage != Stage::Running)
            .map(|((_, peer), _)| *peer)
            .collect();
        let mut asked: BTreeSet<PeerKey> = BTreeSet::new();
        for peer in self.soliciting.keys() {
            if asked.len() < most && fit(common, peer) && !busy.contains(peer) {
                asked.insert(*peer);
            }
        }
        let mut pages_of: BTreeMap<PeerKey, u64> = BTreeMap::new();
        for held in lots {
            for peer in &held.keepers {
                *pages_of.entry(*peer).or_default() += u64::from(held.lot.pages);
            }
        }
        let mut keepers: Vec<(u64, PeerKey)> =
            pages_of.into_iter().map(|(peer, pages)| (pages, peer)).collect();
        keepers.sort_unstable_by(|a, b| b.cmp(a));
        for (_, peer) in keepers {
            if asked.len() < most.div_ceil(2) && fit(common, &peer) && !busy.contains(&peer) {
                asked.insert(peer);
            }
        }
        let mut others = common.others();
        others.retain(|peer| fit(common, peer) && !asked.contains(peer) && !busy.contains(peer));
        while asked.len() < most && !others.is_empty() {
            let at = common.below(others.len());
            asked.insert(others.swap_remove(at));
        }
        asked
    }

    /// The call that a bid is for; one that comes too late is rejected.
    fn called(&mut self, from: PeerKey, id: CallId, common: &mut Common) -> Option<&mut Calling> {
        let calling = self.calling.as_mut().filter(|calling| calling.id == id);
        // It may also have come twice.
        if calling.is_none() && !self.deals.contains_key(&(id, from)) {
            common.out.push(Effect::Send(from, Message::Reject { id }));
        }
        calling
    }

    pub fn proposed(&mut self, from: PeerKey, id: CallId, load: Load, room: u64, common: &mut Common) {
        let Some(calling) = self.called(from, id, common) else { return };
        let Bids::Load(bids) = &mut calling.bids else { return };
        if calling.asked.contains(&from) && !bids.contains_key(&from) {
            bids.insert(from, Bidder { peer: from, load, room });
            let standing = Some(common.standing.of(&from, common.now));
            common.tell(common.own, id, Event::Bid { by: from, load, able: None, standing });
        }
    }

    pub fn refused(&mut self, from: PeerKey, id: CallId, why: Why, common: &mut Common) {
        let Some(calling) = self.calling.as_mut().filter(|calling| calling.id == id) else { return };
        if calling.asked.contains(&from) && calling.refused.insert(from) {
            common.tell(common.own, id, Event::Refused { by: from, why });
        }
    }

    /// What is due.
    pub fn tick(&mut self, common: &mut Common, promised: u64) {
        let all = |calling: &Calling| calling.bids.len() + calling.refused.len() >= calling.asked.len();
        if let Some(calling) = self.calling.take_if(|calling| calling.until <= common.now || all(calling)) {
            self.award(calling, common, promised);
        }
        let due: Vec<(CallId, PeerKey)> =
            self.deals.iter().filter(|(_, deal)| deal.until <= common.now).map(|(name, _)| *name).collect();
        for name in due {
            self.late(name, common);
        }
    }

    /// Looks whether contractors do anything, and what is astray.
    pub fn look_after(&mut self, common: &mut Common) {
        self.look_at_work(common);
        let contracted = self.deals.values().flat_map(|deal| deal.lots.keys().copied()).collect();
        self.strayed.look(&contracted, common);
    }

    /// All bids are in that count: the lowest ability wins, and the others get what would still be done sooner with them.
    fn award(&mut self, calling: Calling, common: &mut Common, promised: u64) {
        let Calling { id, lots, asked, bids, .. } = calling;
        let everybody_bid = bids.len() == asked.len();
        let bids = match bids {
            Bids::Load(bids) => bids,
            Bids::Able(bids) => return self.award_able(id, lots, bids, common),
        };
        let here: BTreeSet<Slot> = common.report.lots.iter().map(|held| held.lot.slot).collect();
        let lots: Vec<Held> = lots.into_iter().filter(|held| here.contains(&held.lot.slot)).collect();
        let mut bidders: Vec<Bidder> =
            bids.into_values().filter(|bidder| common.stays(&bidder.peer)).collect();
        bidders.sort_by_key(|bidder| common.standing.weigh(&bidder.peer, bidder.load.ability(), common.now));
        for bidder in &mut bidders {
            bidder.load.speed = common.standing.believed(&bidder.peer, bidder.load.speed, common.now);
        }
        let shares = share(self.load(common, promised), &lots, &bidders, &common.config.water);
        let (own, room) = (common.own, common.config.given.saturating_sub(self.deals.len()));
        let mut won = BTreeSet::new();
        self.unwanted.extend(lots.iter().map(|held| held.lot.slot));
        for (to, lots) in shares.into_iter().take(room) {
            won.insert(to);
            lots.iter().for_each(|lot| _ = self.unwanted.remove(&lot.slot));
            let load =
                bidders.iter().find(|bidder| bidder.peer == to).map_or(Load::default(), |one| one.load);
            let done_in = load.with(pages_of(&lots)).ability();
            self.grant(id, (to, lots), Some(done_in), common);
        }
        for bidder in bidders.iter().filter(|bidder| !won.contains(&bidder.peer)) {
            common.out.push(Effect::Send(bidder.peer, Message::Reject { id }));
            common.tell(own, id, Event::Passed { by: bidder.peer });
        }
        if won.is_empty() {
            common.tell(own, id, Event::InVain);
            common.stories.end(own, id);
            // Something else may be wanted: it is offered before those that were asked in vain wait for longer.
            if self.all_offered {
                self.pause = (self.pause * 2).clamp(common.config.interval, common.config.back_off);
                self.next_at = common.now + self.pause;
                self.candidates *= 2;
            }
        } else {
            self.pause = Duration::ZERO;
            self.candidates = if everybody_bid { self.candidates * 2 } else { 0 };
            // Who has far too much does not wait as long as somebody takes it.
            if self.load(common, promised).ability() >= common.config.water.high * FAR {
                self.next_at = common.now;
                self.look(common, promised);
            }
        }
    }

    /// A bidder is given these, if it still wants them.
    fn grant(
        &mut self,
        id: CallId,
        (to, lots): (PeerKey, Vec<Lot>),
        done_in: Option<Duration>,
        common: &mut Common,
    ) {
        let pages = pages_of(&lots);
        common.tell(common.own, id, Event::Won { by: to, lots: lots.len(), pages });
        let about: BTreeMap<Slot, (u32, bool)> =
            lots.iter().map(|lot| (lot.slot, (lot.pages, false))).collect();
        let given = common.report.lots.iter().filter(|held| about.contains_key(&held.lot.slot));
        let delay = given.map(|held| held.delay).max().unwrap_or_default();
        let until = common.now + common.config.reserved;
        let limit_ms = millis(common.config.limit);
        common.out.push(Effect::Send(to, Message::Accept { id, lots, limit_ms }));
        let deal = Deal {
            stage: Stage::Awarded,
            able: done_in.is_none(),
            until,
            lots: about,
            pages,
            waiting: pages,
            tried: BTreeMap::new(),
            moved_on: common.now,
            work: Work::Awaited,
            done_in: done_in.unwrap_or(Duration::MAX),
            delay,
        };
        self.deals.insert((id, to), deal);
    }

    /// The contract holds: its lots go.
    pub fn agreed(&mut self, from: PeerKey, id: CallId, common: &mut Common) {
        let Some(deal) = self.deals.get_mut(&(id, from)) else {
            // What it agreed to is over here, or was never offered by this process.
            common.out.push(Effect::Send(from, Message::Failure { id, why: Why::Late }));
            return;
        };
        if deal.stage != Stage::Awarded {
            return;
        }
        deal.stage = Stage::Moving;
        deal.until = common.now + common.config.arrival;
        common.out.extend(deal.lots.keys().map(|slot| Effect::Give(*slot, from)));
        common.tell(common.own, id, Event::Agreed { with: from });
    }

    /// A slot is not held here any more.
    pub fn lost(&mut self, slot: Slot, to: Option<PeerKey>, common: &mut Common) {
        let of =
            |(_, deal): &(&(CallId, PeerKey), &mut Deal)| deal.lots.get(&slot).is_some_and(|(_, gone)| !gone);
        let Some((&(id, peer), deal)) = self.deals.iter_mut().find(of) else { return };
        if to != Some(peer) {
            deal.lots.remove(&slot);
            common.out.push(Effect::Withdraw(slot));
        } else {
            if let Some((pages, gone)) = deal.lots.get_mut(&slot) {
                *gone = true;
                common.report.load = common.report.load.without(u64::from(*pages));
            }
            self.strayed.lend(slot);
            common.tell(common.own, id, Event::Moved { slot, to: peer });
        }
        if deal.lots.is_empty() {
            // That is not the contractor's fault, who need not wait for what will not come.
            self.cancel((id, peer), Why::Others, common);
        } else if deal.stage == Stage::Moving && deal.lots.values().all(|(_, gone)| *gone) {
            deal.run(common);
        }
    }

    /// What had gone is held here again: its contractor did not take it, or has let go of it.
    pub fn gained(&mut self, slot: Slot, common: &mut Common) {
        self.strayed.came(slot);
        let of =
            |(_, deal): &(&(CallId, PeerKey), &mut Deal)| deal.lots.get(&slot).is_some_and(|(_, gone)| *gone);
        let Some((&name, deal)) = self.deals.iter_mut().find(of) else { return };
        deal.lots.remove(&slot);
        if deal.lots.is_empty() {
            let why = if deal.stage == Stage::Moving { Why::Nothing } else { Why::Time };
            self.cancel(name, why, common);
        } else if deal.stage == Stage::Moving && deal.lots.values().all(|(_, gone)| *gone) {
            deal.run(common);
        }
    }

    pub fn informed(&mut self, from: PeerKey, id: CallId, came: u16, waiting: u64, common: &mut Common) {
        let Some(deal) = self.deals.get_mut(&(id, from)) else { return };
        deal.waiting = waiting;
        common.tell(common.own, id, Event::Informed { by: from, came, waiting });
    }

    pub fn done(&mut self, from: PeerKey, id: CallId, common: &mut Common) {
        let Some(mut deal) = self.deals.remove(&(id, from)) else { return };
        self.expect(&mut deal, from, false, common);
        self.done += 1;
        common.standing.kept(from, common.now);
        common.tell(common.own, id, Event::Done { by: from });
        self.close(id, common);
    }

    /// The contractor ends it.
    pub fn failed(&mut self, from: PeerKey, id: CallId, why: Why, common: &mut Common) {
        if self.deals.contains_key(&(id, from)) {
            self.end((id, from), why, common);
        }
    }

    /// Whether a contract goes on: as long as its pages would not be fetched sooner here.
    pub fn renew(&mut self, from: PeerKey, id: CallId, load: Load, promised: u64, common: &mut Common) {
        let here = self.load(common, promised).ability();
        let Some(deal) = self.deals.get_mut(&(id, from)) else {
            common.out.push(Effect::Send(from, Message::Failure { id, why: Why::Late }));
            return;
        };
        let better_here = !deal.able && common.config.water.is_worth(load.ability(), here);
        if better_here || deal.is_hardly_begun() {
            return self.late((id, from), common);
        }
        deal.pages = deal.waiting;
        deal.run(common);
        let limit_ms = millis(common.config.limit);
        common.out.push(Effect::Send(from, Message::Renewed { id, limit_ms }));
        common.tell(common.own, id, Event::Renewed { with: from });
    }

    /// The time of a stage is over.
    fn late(&mut self, name: (CallId, PeerKey), common: &mut Common) {
        let Some(deal) = self.deals.get_mut(&name) else { return };
        let any_gone = deal.lots.values().any(|(_, gone)| *gone);
        if deal.stage == Stage::Moving && any_gone {
            // What did not come stays; the rest goes on.
            deal.withdraw(&mut common.out);
            return deal.run(common);
        }
        // Sets that do not change, or requests that do not end, are no fault of the contractor's.
        let has_copies = deal.lots.keys().any(|slot| common.report.ready.contains(slot));
        let why = match deal.stage {
            Stage::Awarded => Why::Late,
            Stage::Moving if has_copies => Why::Others,
            Stage::Moving => Why::Nothing,
            Stage::Running => Why::Time,
        };
        self.cancel(name, why, common);
    }

    /// Ends a contract that was not done, and says so to its contractor.
    fn cancel(&mut self, name: (CallId, PeerKey), why: Why, common: &mut Common) {
        common.out.push(Effect::Send(name.1, Message::Failure { id: name.0, why }));
        self.end(name, why, common);
    }

    /// A contract ends that was not done.
    fn end(&mut self, name: (CallId, PeerKey), why: Why, common: &mut Common) {
        let Some(mut deal) = self.deals.remove(&name) else { return };
        let (id, peer) = name;
        self.expect(&mut deal, peer, why == Why::Nothing, common);
        let broken = match why {
            Why::Nothing | Why::Away => true,
            Why::Time => deal.is_hardly_begun(),
            Why::Late | Why::Busy | Why::Full | Why::Others | Why::Released => false,
        };
        if broken {
            // Of many contracts that end at once because nothing was done for any, one was broken.
            if common.standing.trusts(&peer, common.now) {
                common.standing.broke(peer, common.now);
            }
            self.strayed.warn(peer, common.now);
        } else if why == Why::Late {
            common.standing.tarried(peer, common.now);
        }
        self.failed += 1;
        common.tell(common.own, id, Event::Failed { with: peer, why });
        self.close(id, common);
    }

    /// A contract is over: what has not gone stays, what has comes back, soon if nothing is under way there.
    fn expect(&mut self, deal: &mut Deal, from: PeerKey, did_nothing: bool, common: &mut Common) {
        deal.withdraw(&mut common.out);
        let wait = if did_nothing { common.config.overdue / SOONER } else { common.config.overdue };
        let by = common.now + wait;
        deal.lots.keys().for_each(|slot| self.strayed.expect(*slot, from, by));
    }

    /// A story ends with its last contract.
    fn close(&mut self, id: CallId, common: &mut Common) {
        if !self.deals.keys().any(|(other, _)| *other == id) {
            common.stories.end(common.own, id);
        }
    }

    /// Contractors that are gone.
    pub fn see(&mut self, common: &mut Common) {
        let gone: Vec<(CallId, PeerKey)> =
            self.deals.keys().filter(|(_, peer)| !common.stays(peer)).copied().collect();
        for name in gone {
            self.end(name, Why::Away, common);
        }
    }
}
