//! The receiver: takes links for slots that it holds, and says when they are written and when durable.

use super::io::{Config, Effect, Fault};
use super::link::Link;
use super::message::{Answer, Answered, Batch, MAX_ANSWERS, Message, Part, Refusal};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::BTreeMap;

/// The receiving side. Of each sender and slot it knows one part, the last; nothing of it is on disk: a receiver that starts again is
/// sent again what it had not said `Durable` to.
#[derive(Debug)]
pub(super) struct Inbox {
    config: Config,
    held: BTreeMap<Slot, Held>,
    parts: BTreeMap<(Slot, PeerKey), Arrived>,
    /// Writes under way. A ticket that is not here any more was for a part that nobody waits for.
    tickets: BTreeMap<u64, Writing>,
    next_ticket: u64,
    loads: BTreeMap<PeerKey, Load>,
    all: Load,
    answers: BTreeMap<PeerKey, (u64, Vec<Answered>)>,
    answer_at: Option<Instant>,
}

#[derive(Debug)]
struct Held {
    token: Token,
    /// Changes up to here are on a majority.
    durable: u64,
}

/// A part that came, without its links.
#[derive(Debug)]
struct Arrived {
    session: u64,
    id: u64,
    first: u64,
    upto: u64,
    /// The change that holds it; none while it is being written.
    seq: Option<u64>,
    ticket: u64,
}

/// Links handed over to be written.
#[derive(Debug)]
struct Writing {
    slot: Slot,
    from: PeerKey,
    bytes: u64,
}

/// What waits.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    bytes: u64,
    parts: usize,
}

impl Inbox {
    pub(super) fn new(config: Config) -> Inbox {
        Inbox {
            config,
            held: BTreeMap::new(),
            parts: BTreeMap::new(),
            tickets: BTreeMap::new(),
            next_ticket: 0,
            loads: BTreeMap::new(),
            all: Load::default(),
            answers: BTreeMap::new(),
            answer_at: None,
        }
    }

    pub(super) fn answer_at(&self) -> Option<Instant> {
        self.answer_at
    }

    pub(super) fn spooled(&self) -> u64 {
        self.all.bytes
    }

    /// A slot is held, from now on by this token. Under another one changes are counted anew: what waits is sent again.
    pub(super) fn held(&mut self, now: Instant, slot: Slot, token: Token) {
        if self.held.get(&slot).is_some_and(|held| held.token == token) {
            return;
        }
        self.held.insert(slot, Held { token, durable: 0 });
        self.drop_parts(now, slot, &Answer::Busy { retry_ms: 0 });
    }

    pub(super) fn lost(&mut self, now: Instant, slot: Slot, route: Option<(PeerKey, Token)>) {
        if self.held.remove(&slot).is_some() {
            self.drop_parts(now, slot, &elsewhere(route));
        }
    }

    fn drop_parts(&mut self, now: Instant, slot: Slot, answer: &Answer) {
        let senders: Vec<PeerKey> = self.of_slot(slot).map(|(from, _)| from).collect();
        for from in senders {
            if let Some(part) = self.take(slot, from) {
                self.answer(now, from, part.session, part.id, slot, answer.clone());
            }
        }
    }

    /// Links come. `route` says who holds a slot, as far as is known here.
    pub(super) fn batch(
        &mut self,
        now: Instant,
        from: PeerKey,
        batch: Batch,
        route: impl Fn(Slot) -> Option<(PeerKey, Token)>,
        out: &mut Vec<Effect>,
    ) {
        let Batch { session, id, parts } = batch;
        for part in parts {
            let slot = part.slot;
            if let Some(answer) = self.part(from, session, id, part, route(slot), out) {
                self.answer(now, from, session, id, slot, answer);
            }
        }
    }

    fn part(
        &mut self,
        from: PeerKey,
        session: u64,
        id: u64,
        part: Part,
        route: Option<(PeerKey, Token)>,
        out: &mut Vec<Effect>,
    ) -> Option<Answer> {
        let Part { slot, counter, first, upto, links } = part;
        let Some(held) = self.held.get(&slot) else { return Some(elsewhere(route)) };
        if held.token.counter < counter {
            return Some(elsewhere(route.filter(|(_, token)| *token > held.token)));
        }
        if let Some(known) = self.parts.get_mut(&(slot, from))
            && (known.session, known.first, known.upto) == (session, first, upto)
        {
            known.id = id;
            return known.seq.map(|_| Answer::Received);
        }
        self.take(slot, from);
        let bytes = links.iter().map(|link| link.cost() as u64).sum();
        if !self.has_room(&from, bytes) {
            let retry_ms = u32::try_from(self.config.busy_retry.as_millis()).unwrap_or(u32::MAX);
            return Some(Answer::Busy { retry_ms });
        }
        let ticket = self.write(from, slot, bytes, links, out);
        let arrived = Arrived { session, id, first, upto, seq: None, ticket };
        self.parts.insert((slot, from), arrived);
        let load = self.loads.entry(from).or_default();
        load.parts += 1;
        self.all.parts += 1;
        None
    }

    fn write(
        &mut self,
        from: PeerKey,
        slot: Slot,
        bytes: u64,
        links: Vec<Link>,
        out: &mut Vec<Effect>,
    ) -> u64 {
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        self.tickets.insert(ticket, Writing { slot, from, bytes });
        self.loads.entry(from).or_default().bytes += bytes;
        self.all.bytes += bytes;
        out.push(Effect::Admit { ticket, from, slot, links });
        ticket
    }

    /// Whether a part may come. Where nothing waits any part may, or a large one would come again for ever.
    fn has_room(&self, from: &PeerKey, bytes: u64) -> bool {
        let fits = |load: Load, most: u64, parts: usize| {
            (load.bytes == 0 || load.bytes + bytes <= most) && load.parts < parts
        };
        let (config, own) = (&self.config, self.loads.get(from).copied().unwrap_or_default());
        fits(own, config.spool_each, config.waiting_each)
            && fits(self.all, config.spool_all, config.waiting_all)
    }

    /// Links were written, as the change `seq` of their slot; or, without it, were not.
    pub(super) fn written(
        &mut self,
        now: Instant,
        ticket: u64,
        seq: Option<u64>,
        rejected: u32,
        out: &mut Vec<Effect>,
    ) {
        let Some(Writing { slot, from, bytes }) = self.tickets.remove(&ticket) else { return };
        self.all.bytes -= bytes;
        self.unload(from, |load| load.bytes -= bytes);
        if rejected > 0 {
            out.push(Effect::Misbehaved(from, Fault::Foreign(rejected)));
        }
        let Some(part) = self.parts.get_mut(&(slot, from)).filter(|part| part.ticket == ticket) else {
            return;
        };
        let (session, id) = (part.session, part.id);
        part.seq = seq;
        let answer = match seq {
            None => Answer::Refused(Refusal::Full),
            Some(seq) if self.held.get(&slot).is_some_and(|held| seq <= held.durable) => Answer::Durable,
            Some(_) => Answer::Received,
        };
        if answer != Answer::Received {
            self.take(slot, from);
        }
        self.answer(now, from, session, id, slot, answer);
    }

    /// Changes of a slot up to `seq` are on a majority.
    pub(super) fn durable(&mut self, now: Instant, slot: Slot, token: Token, seq: u64) {
        let Some(held) = self.held.get_mut(&slot).filter(|held| held.token == token) else { return };
        held.durable = held.durable.max(seq);
        let upto = held.durable;
        let is_durable = |part: &Arrived| part.seq.is_some_and(|seq| seq <= upto);
        let done: Vec<PeerKey> =
            self.of_slot(slot).filter(|(_, part)| is_durable(part)).map(|(from, _)| from).collect();
        for from in done {
            if let Some(part) = self.take(slot, from) {
                self.answer(now, from, part.session, part.id, slot, Answer::Durable);
            }
        }
    }

    /// Answers that were to go on a stream that broke: the sender has forgotten what it asked there.
    pub(super) fn peer_down(&mut self, peer: &PeerKey) {
        self.answers.remove(peer);
    }

    /// Sends the answers whose time has come.
    pub(super) fn tick(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.answer_at.is_some_and(|at| at <= now) {
            self.answer_at = None;
            for (peer, (session, answers)) in std::mem::take(&mut self.answers) {
                let mut answers = answers.into_iter().peekable();
                while answers.peek().is_some() {
                    let answers = answers.by_ref().take(MAX_ANSWERS).collect();
                    out.push(Effect::Send(peer, Message::Answers { session, answers }));
                }
            }
        }
    }

    fn answer(&mut self, now: Instant, to: PeerKey, session: u64, id: u64, slot: Slot, answer: Answer) {
        let waiting = self.answers.entry(to).or_default();
        if waiting.0 != session {
            // The process that asked before is no more.
            *waiting = (session, Vec::new());
        }
        waiting.1.push(Answered { id, slot, answer });
        self.answer_at.get_or_insert(now + self.config.answer_delay);
    }

    /// Parts of a slot, by sender.
    fn of_slot(&self, slot: Slot) -> impl Iterator<Item = (PeerKey, &Arrived)> {
        let ends = (slot, PeerKey([0; 32]))..=(slot, PeerKey([0xff; 32]));
        self.parts.range(ends).map(|((_, from), part)| (*from, part))
    }

    fn take(&mut self, slot: Slot, from: PeerKey) -> Option<Arrived> {
        let part = self.parts.remove(&(slot, from))?;
        self.all.parts -= 1;
        self.unload(from, |load| load.parts -= 1);
        Some(part)
    }

    fn unload(&mut self, from: PeerKey, unload: impl FnOnce(&mut Load)) {
        if let Some(load) = self.loads.get_mut(&from) {
            unload(load);
            if (load.bytes, load.parts) == (0, 0) {
                self.loads.remove(&from);
            }
        }
    }
}

fn elsewhere(route: Option<(PeerKey, Token)>) -> Answer {
    match route {
        Some((holder, token)) => Answer::Moved { holder, token },
        None => Answer::NotMine,
    }
}
