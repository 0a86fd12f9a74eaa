//! What a machine's hands do: disk, streams, and requests to the simulated web.

use super::super::store::{self, Written};
use super::super::{Flaw, Happened};
use super::{EXCLUDES, FLUSH, KEY, Later, Machine, Writing};
use crate::disk::Batch;
use crate::node::Ctx;
use anthill_agent::io::{self as crawl, End, Made, PageFacts, Permit, PermitId, Task};
use anthill_agent::peer::Message;
use anthill_agent::peer::io::{Applied, Change, Effect, Input};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::replica;
use anthill_protocol::view;
use anthill_protocol::wire::encode;
use std::time::Duration;

impl Machine {
    pub(super) fn perform(&mut self, ctx: &mut Ctx<'_, Happened>, effect: Effect) {
        let ms = Duration::from_millis;
        match effect {
            Effect::Send(to, message) => {
                let said = self.twisted(&message).unwrap_or(message);
                self.send(ctx, to, &said);
            }
            Effect::Broadcast(Message::Exclusion(_)) if self.flaw == Some(Flaw::TellsNobody) => {}
            Effect::Broadcast(message) => {
                let peers: Vec<PeerKey> = self.peer.view().members().map(|(peer, _)| *peer).collect();
                peers.into_iter().for_each(|peer| self.send(ctx, peer, &message));
            }
            Effect::Persist(ticket, changes) => {
                let mut batch: Vec<_> = changes.into_iter().map(record).collect();
                if !self.key_written {
                    batch.push((KEY.to_vec(), Some(self.number.to_le_bytes().to_vec())));
                }
                let written = ctx.write(batch, true);
                self.writes.insert(written, Writing::Records(ticket));
            }
            Effect::PersistCursors(cursors) => {
                self.write(ctx, store::cursors(cursors), false, Writing::Nothing)
            }
            Effect::Apply { ticket, slot, items, record, .. } => {
                let (batch, applied) = self.queues.merge(ctx.disk(), slot, items, record);
                self.write(ctx, batch, true, Writing::Copy(ticket, slot, applied));
            }
            Effect::Delete { ticket, slot } => {
                let batch = store::delete(ctx.disk(), slot);
                self.synced.insert(slot, 0);
                self.write(ctx, batch, true, Writing::Copy(ticket, slot, Applied::default()));
            }
            Effect::Read(id, what) => {
                let synced = self.synced.get(&what.slot()).copied().unwrap_or(0);
                let answer = store::read(ctx.disk(), what, synced);
                match self.writes.last_key_value() {
                    Some((&last, _)) => self.reads.entry(last).or_default().push((id, answer)),
                    None => self.has_read(ctx, id, answer),
                }
            }
            Effect::ReadLog { slot, after, limit_bytes } => {
                let (links, upto) = store::read_log(ctx.disk(), slot, after, limit_bytes);
                self.soon(ctx, ms(4), Input::LogRead { slot, after, links, upto });
            }
            Effect::TrimLog(slot, upto) => {
                let batch = store::trim(ctx.disk(), slot, upto);
                self.write(ctx, batch, false, Writing::Nothing);
            }
            Effect::LoadSlot(slot) => {
                ctx.log(Happened::Opened(slot));
                let (hosts, mut untried) = self.queues.open(ctx.disk(), slot);
                if self.flaw == Some(Flaw::ForgetsWhatWaits) {
                    untried.clear();
                }
                self.soon(ctx, ms(1), Input::SlotLoaded(slot, hosts, untried));
            }
            Effect::Crawl(effect) => self.crawl(ctx, effect),
            Effect::Begun(_, answer) => match answer {
                Ok(_) if self.web.has_trouble => {
                    let at = ctx.now() + self.dice.span(EXCLUDES.0, EXCLUDES.1);
                    self.at(at, Later::Exclude);
                }
                Ok(_) => {}
                Err(_) => self.asked = false,
            },
            Effect::Excluded(_, answer) => {
                assert!(answer.is_ok(), "refused: {answer:?}");
                ctx.log(Happened::Excluded);
            }
            Effect::Forced(slot) => ctx.log(Happened::Forced(slot)),
            Effect::Twin => {
                self.stopped = true;
                ctx.log(Happened::Twin);
            }
            Effect::Left => {
                self.left = true;
                self.at(ctx.now() + FLUSH, Later::End);
            }
            Effect::Negotiated(id, event) => ctx.log(Happened::Negotiated(id, event)),
            Effect::Misbehaved(peer, what) => ctx.log(Happened::Accuses(peer, what)),
            Effect::LinksSent(..)
            | Effect::LinksReplay(_)
            | Effect::Slow(_)
            | Effect::CloseSlot(_)
            | Effect::Counted(..)
            | Effect::MemberFull(..) => {}
        }
    }

    pub(super) fn has_read(&mut self, ctx: &Ctx<'_, Happened>, id: replica::ReadId, answer: replica::Answer) {
        self.soon(ctx, Duration::from_millis(4), Input::Read(id, answer));
    }

    pub(super) fn write(&mut self, ctx: &mut Ctx<'_, Happened>, batch: Batch, sync: bool, what: Writing) {
        let ticket = ctx.write(batch, sync);
        self.writes.insert(ticket, what);
    }

    pub(super) fn crawl(&mut self, ctx: &mut Ctx<'_, Happened>, effect: crawl::Effect) {
        let ms = Duration::from_millis;
        match effect {
            crawl::Effect::Resolve { host, name } => {
                let result = match self.web.address(&name) {
                    Some(ip) => Ok((ip, true)),
                    None => Err(crawl::ResolveFailure::NoSuchName),
                };
                let input = crawl::Input::Resolved { host, result, ttl: Duration::from_secs(300) };
                self.soon(ctx, ms(50), Input::Crawl(input));
            }
            crawl::Effect::LoadHost(host) => {
                let record = store::host_record(ctx.disk(), &host);
                let input = crawl::Input::HostLoaded { host, record };
                self.at(ctx.now(), Later::Tell(Box::new(Input::Crawl(input))));
            }
            crawl::Effect::LoadFront { host, level, after, limit, robots } => {
                let (items, more) = self.queues.front(host, level, after, limit);
                let robots = robots.then(|| store::robots(ctx.disk(), &host));
                let input = crawl::Input::FrontLoaded { host, level, items, more, robots };
                self.at(ctx.now(), Later::Tell(Box::new(Input::Crawl(input))));
            }
            crawl::Effect::Fetch(permit) if self.shirks(permit.host.slot()) => {}
            crawl::Effect::Fetch(permit) => {
                let batch = vec![(store::permit_key(permit.id.0), Some(permit.host.bytes().to_vec()))];
                self.write(ctx, batch, false, Writing::Permit(permit));
            }
            crawl::Effect::Commit(commit) => {
                let written = self.queues.commit(ctx.disk(), *commit);
                let batch = written.batch.clone();
                self.write(ctx, batch, true, Writing::Commit(written));
            }
            crawl::Effect::PromoteDue(now, limit) => {
                let written = self.queues.promote(ctx.disk(), now, limit);
                let batch = written.batch.clone();
                self.write(ctx, batch, true, Writing::Promoted(written));
            }
            crawl::Effect::Taken(_) => unreachable!("the peer keeps it"),
        }
    }

    /// The moment of sending.
    pub(super) fn fetch(&mut self, ctx: &mut Ctx<'_, Happened>, permit: Permit) {
        if ctx.now() >= permit.not_after {
            let (id, at) = (permit.id, ctx.now());
            let ended = crawl::Input::Ended { permit: id, at, end: End::Expired, remote: None };
            self.tell(ctx, Input::Crawl(ended));
            self.made(ctx, id, Made::Nothing(String::new()), Vec::new());
            return;
        }
        let page = matches!(permit.task, Task::Entry(_));
        ctx.log(Happened::Sent { host: permit.host, address: permit.address, url: permit.url.clone(), page });
        let at = ctx.now() + self.dice.span(Duration::from_millis(5), self.web.answer);
        let (id, url) = (permit.id, permit.url.clone());
        self.permits.insert(id, permit);
        self.at(at, Later::Answer(id, url));
    }

    pub(super) fn answer(&mut self, ctx: &mut Ctx<'_, Happened>, id: PermitId, url: &str) {
        let now = ctx.now();
        let links = self.web.links(url);
        if let Some(permit) = self.permits.remove(&id) {
            ctx.log(Happened::Ended(permit.host));
            if permit.report_first_byte {
                self.tell(ctx, Input::Crawl(crawl::Input::FirstByte(id, now)));
            }
        }
        let robots = self.web.robots(url);
        let status = if links.is_some() || robots.is_some() { 200 } else { 404 };
        let end = End::Response { status, retry_after: None, bytes: 100 };
        self.tell(ctx, Input::Crawl(crawl::Input::Ended { permit: id, at: now, end, remote: None }));
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::hash(url.as_bytes()).as_bytes()[..16]);
        let made = match (&links, robots) {
            (Some(_), _) => {
                let relevance = self.web.relevance(url);
                Made::Page(Box::new(PageFacts { digest, relevance, ..PageFacts::default() }))
            }
            (None, Some(rules)) => Made::Robots(rules),
            (None, None) => Made::Nothing("404".into()),
        };
        let mut links = links.unwrap_or_default();
        if self.web.offers_once {
            links.retain(|link| self.offered.insert(link.id));
        }
        self.made(ctx, id, made, links);
    }

    pub(super) fn made(
        &mut self,
        ctx: &mut Ctx<'_, Happened>,
        permit: PermitId,
        made: Made,
        links: Vec<crawl::FoundLink>,
    ) {
        let targets = links.iter().map(|link| link.id).collect();
        let input = crawl::Input::Made { permit, made, links, targets, previous: None };
        self.soon(ctx, Duration::from_millis(20), Input::Crawl(input));
    }

    pub(super) fn written(&mut self, ctx: &mut Ctx<'_, Happened>, written: Written, promoted: bool) {
        let Written { numbered, logged, gained, mut admitted, gone, .. } = written;
        if self.flaw == Some(Flaw::CountsNothing) {
            admitted.clear();
        }
        for (slot, seq) in &numbered {
            let synced = self.synced.entry(*slot).or_default();
            *synced = (*synced).max(*seq);
        }
        self.tell(ctx, Input::Numbered(numbered.clone()));
        if !logged.is_empty() {
            self.tell(ctx, Input::Logged(logged));
        }
        let next_due = self.queues.next_due();
        let commits = u32::from(!promoted);
        let committed = crawl::Input::Committed { commits, gained, admitted, gone, next_due, promoted };
        self.tell(ctx, Input::Crawl(committed));
        self.tell(ctx, Input::Synced(numbered));
    }
}

fn record(change: Change) -> (Vec<u8>, Option<Vec<u8>>) {
    match change {
        Change::View(view::Change::Put(stored)) => {
            ([b"v", stored.key().bytes().as_slice()].concat(), Some(encode(&*stored)))
        }
        Change::View(view::Change::Forget(key)) => ([b"v", key.bytes().as_slice()].concat(), None),
        Change::Claim(slot, record) => {
            ([b"m".as_slice(), &slot.number().to_be_bytes()].concat(), Some(encode(&*record)))
        }
        Change::Shared(shared) => (b"w".to_vec(), Some(vec![u8::from(shared)])),
        Change::Crawl(key, item) => ([b"R", key.0.as_slice()].concat(), item.map(|item| encode(&*item))),
        Change::Exclusion(key, item) => ([b"E", key.0.as_slice()].concat(), item.map(|item| encode(&*item))),
    }
}
