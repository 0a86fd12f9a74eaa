//! Hands for an agent in virtual time: a store, a web, and chance between them. One seed gives one run.

use crate::store::{Applied, Store};
use crate::web::{Dice, Web, link};
use anthill_agent::io::{
    CrawlSpec, Effect, End, Failure, FoundLink, Input, Made, PageFacts, Permit, PermitId, ResolveFailure,
    Task,
};
use anthill_agent::{Agent, Config};
use anthill_crawler::focus::predict::{self, Clues, Context};
use anthill_crawler::record::CrawlId;
use anthill_crawler::time::Instant;
use anthill_protocol::key::HostId;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// A request, as the web's log has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    pub run: u32,
    pub permit: PermitId,
    pub host: HostId,
    pub address: IpAddr,
    pub url: String,
    pub robots: bool,
    pub sent: Instant,
    /// When its answer ended, or the process died.
    pub ended: Instant,
    pub status: Option<u16>,
    pub retry_after: Option<u64>,
}

enum Event {
    Tell(Box<Input>),
    Read(Effect),
    /// The writer takes the next commit.
    Write,
    /// It says so.
    Written,
    Send(Permit),
}

pub struct Driver {
    pub agent: Agent,
    pub store: Store,
    pub web: Web,
    pub now: Instant,
    pub requests: Vec<Request>,
    /// What was in flight at crashes.
    pub lost: Vec<String>,
    pub inputs: u64,
    /// Most permits out at once.
    pub peak: usize,
    /// Everything that happened, as one line each.
    pub log: Vec<String>,
    config: Config,
    seed: u64,
    run: u32,
    dice: Dice,
    events: BTreeMap<(Instant, u64), Event>,
    count: u64,
    to_write: VecDeque<Effect>,
    written_at: Instant,
    applied: Applied,
    answered: u32,
    promoted: bool,
    pub local: bool,
    /// How relevant a page is, in thousandths, where crawls have a topic.
    pub relevance: Option<fn(&str) -> u16>,
    /// A resolver that does not know some names.
    pub no_such_name: Vec<String>,
}

/// Its host, as a word.
fn words_of_host(url: &str) -> Vec<u32> {
    vec![predict::word(url.split('/').nth(2).unwrap_or_default(), true)]
}

pub const START: Instant = Instant(1_700_000_000_000_000);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

impl Driver {
    pub fn new(config: Config, web: Web, seed: u64) -> Driver {
        let mut driver = Driver {
            agent: Agent::new(config.clone(), [seed as u8; 32]),
            store: Store::default(),
            web,
            now: START,
            requests: Vec::new(),
            lost: Vec::new(),
            inputs: 0,
            peak: 0,
            log: Vec::new(),
            config,
            seed,
            run: 0,
            dice: Dice(seed ^ 0xd1ce),
            events: BTreeMap::new(),
            count: 0,
            to_write: VecDeque::new(),
            written_at: START,
            applied: Applied::default(),
            answered: 0,
            promoted: false,
            local: true,
            relevance: None,
            no_such_name: Vec::new(),
        };
        driver.start(false);
        driver
    }

    fn start(&mut self, earlier: bool) {
        let start = Input::Start {
            hosts: self.store.stored_hosts(),
            earlier,
            crawls: self.store.crawls.values().cloned().collect(),
            entered: self.store.entered.iter().copied().collect(),
            next_due: self.store.next_due(),
        };
        self.tell(start);
    }

    pub fn crawl(&mut self, id: u64, seeds: &[String], spec: CrawlSpec) {
        let seeds = seeds.iter().map(|url| link(url)).collect();
        self.tell(Input::Crawl(CrawlId(id), CrawlSpec { seeds, ..spec }));
    }

    pub fn tell(&mut self, input: Input) {
        let mut outbox = Vec::new();
        self.inputs += 1;
        self.log.push(format!("{:?} {input:?}", self.now));
        self.agent.handle(self.now, input, &mut outbox);
        for effect in outbox {
            self.log.push(format!("{:?} {effect:?}", self.now));
            self.carry_out(effect);
        }
        self.peak = self.peak.max(self.agent.counts().in_flight);
    }

    fn after(&mut self, wait: Duration, event: Event) {
        self.at(self.now + wait, event);
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    fn some(&mut self, most_us: u64) -> Duration {
        Duration::from_micros(self.dice.below(most_us))
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::LoadHost(_) | Effect::LoadFront { .. } => {
                let wait = self.some(2_000);
                self.after(wait, Event::Read(effect));
            }
            Effect::Resolve { host, name } => {
                let wait = self.some(50_000);
                let result = match self.web.address(&name) {
                    _ if self.no_such_name.contains(&name) => Err(ResolveFailure::NoSuchName),
                    Some(address) => Ok((address, self.local)),
                    None => Err(ResolveFailure::NoSuchName),
                };
                let ttl = Duration::from_secs(300);
                self.after(wait, Event::Tell(Box::new(Input::Resolved { host, result, ttl })));
            }
            Effect::Fetch(permit) => {
                self.store.in_flight.insert((self.run, permit.id.0), permit.clone());
                let wait = if self.dice.chance(1) { ms(5_000) } else { self.some(30_000) };
                self.after(wait, Event::Send(permit));
            }
            Effect::Taken(_) => panic!("nobody offered anything"),
            Effect::Commit(_) | Effect::PromoteDue(..) => {
                self.to_write.push_back(effect);
                // The writer takes them in order.
                let slow = if self.seed.is_multiple_of(3) { 30_000 } else { 3_000 };
                self.written_at = self.written_at.max(self.now) + self.some(slow);
                self.at(self.written_at, Event::Write);
            }
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Tell(input) => self.tell(*input),
            Event::Read(effect) => {
                let wait = self.some(2_000);
                let answer = self.read(effect);
                self.after(wait, Event::Tell(Box::new(answer)));
            }
            Event::Write => self.write(),
            Event::Written => self.answer_writes(),
            Event::Send(permit) => self.send(permit),
        }
    }

    fn read(&self, effect: Effect) -> Input {
        match effect {
            Effect::LoadHost(host) => {
                Input::HostLoaded { host, record: self.store.hosts.get(&host).cloned() }
            }
            Effect::LoadFront { host, level, after, limit, robots } => {
                let (items, more) = self.store.front(host, level, after, limit);
                let robots = robots.then(|| self.store.robots_of(host));
                Input::FrontLoaded { host, level, items, more, robots }
            }
            other => unreachable!("not a read: {other:?}"),
        }
    }

    fn write(&mut self) {
        match self.to_write.pop_front() {
            Some(Effect::Commit(commit)) => {
                self.store.apply(self.run, *commit, &mut self.applied);
                self.answered += 1;
            }
            Some(Effect::PromoteDue(until, limit)) => {
                // Answered by itself.
                self.answer_writes();
                self.store.promote(until, limit, &mut self.applied);
                self.promoted = true;
                self.answer_writes();
                return;
            }
            _ => unreachable!("nothing to write"),
        }
        // One answer may stand for many.
        if self.dice.chance(60) || self.to_write.is_empty() {
            let wait = self.some(500);
            self.after(wait, Event::Written);
        }
    }

    fn answer_writes(&mut self) {
        let promoted = std::mem::take(&mut self.promoted);
        if self.answered == 0 && !promoted {
            return;
        }
        let applied = std::mem::take(&mut self.applied);
        let committed = Input::Committed {
            commits: std::mem::take(&mut self.answered),
            gained: applied.gains.into_values().collect(),
            admitted: applied.admitted.into_iter().map(|((crawl, slot), n)| (crawl, slot, n)).collect(),
            gone: Vec::new(),
            next_due: self.store.next_due(),
            promoted,
        };
        self.tell(committed);
    }

    fn send(&mut self, permit: Permit) {
        if self.now > permit.not_after {
            self.tell(Input::Ended { permit: permit.id, at: self.now, end: End::Expired, remote: None });
            let made = Made::Nothing("expired".into());
            let input = Input::Made {
                permit: permit.id,
                made,
                links: Vec::new(),
                targets: Vec::new(),
                previous: None,
            };
            self.after(ms(1), Event::Tell(Box::new(input)));
            return;
        }
        let answer = self.web.ask(&permit.url);
        let first_byte = self.now + ms(1) + self.some(80_000);
        let ended = first_byte + self.some(100_000);
        self.requests.push(Request {
            run: self.run,
            permit: permit.id,
            host: permit.host,
            address: permit.address,
            url: permit.url.clone(),
            robots: matches!(permit.task, Task::Robots { .. }),
            sent: self.now,
            ended,
            status: answer.status,
            retry_after: answer.retry_after,
        });
        if permit.report_first_byte {
            self.at(first_byte, Event::Tell(Box::new(Input::FirstByte(permit.id, first_byte))));
        }
        let end = match answer.status {
            Some(status) => {
                let retry_after = answer.retry_after.map(Duration::from_secs);
                End::Response { status, retry_after, bytes: 1_000 }
            }
            None => End::Failed(Failure::Connect),
        };
        let remote = Some(permit.address);
        self.at(ended, Event::Tell(Box::new(Input::Ended { permit: permit.id, at: ended, end, remote })));
        let mut links = answer.links;
        let made = match (answer.status, answer.body, answer.redirect) {
            (_, _, Some(to)) => {
                links = vec![to.clone()];
                Made::Redirect(Some(to))
            }
            (_, Some(body), _) => Made::Robots(body),
            (Some(200), ..) => {
                let mut digest = [1; 16];
                digest[..8].copy_from_slice(&(permit.url.len() as u64).to_be_bytes());
                let relevance = self.relevance.map(|of| of(&permit.url));
                Made::Page(Box::new(PageFacts { digest, relevance, ..PageFacts::default() }))
            }
            (Some(304), ..) => Made::NotModified,
            _ => Made::Nothing("nothing".into()),
        };
        let previous = match &permit.task {
            Task::Entry(item) => self.store.records.get(&item.id).cloned().map(Box::new),
            Task::Robots { .. } => None,
        };
        let relevance = if let Made::Page(facts) = &made { facts.relevance } else { None };
        let clues = |url: &str| {
            relevance.map(|relevance| {
                Box::new(Clues {
                    from: Context { relevance, ..Context::default() },
                    anchor: 500,
                    around: 500,
                    words: words_of_host(url),
                })
            })
        };
        let links: Vec<FoundLink> =
            links.iter().map(|url| FoundLink { clues: clues(url), ..link(url) }).collect();
        let mut targets: Vec<_> = links.iter().map(|link| link.id).collect();
        targets.sort_unstable();
        targets.dedup();
        if let Task::Entry(item) = &permit.task {
            targets.retain(|target| *target != item.id);
        }
        let made = Input::Made { permit: permit.id, made, links, targets, previous };
        let wait = self.some(40_000);
        self.at(ended + wait, Event::Tell(Box::new(made)));
    }

    /// Runs until nothing untried is left, at most until `limit`. Returns whether it came to that.
    pub fn run_until_idle(&mut self, limit: Duration) -> bool {
        self.run(limit, |driver| driver.agent.idle() && driver.events.is_empty())
    }

    pub fn run_for(&mut self, time: Duration) {
        self.run(time, |_| false);
    }

    pub fn run_inputs(&mut self, inputs: u64) {
        let until = self.inputs + inputs;
        self.run(Duration::from_secs(86_400), |driver| {
            driver.inputs >= until || (driver.agent.idle() && driver.events.is_empty())
        });
    }

    pub fn run(&mut self, limit: Duration, done: impl Fn(&Driver) -> bool) -> bool {
        let until = self.now + limit;
        let mut at_once = 0;
        loop {
            if done(self) {
                return true;
            }
            let event = self.events.first_key_value().map(|((at, _), _)| *at);
            let deadline = self.agent.deadline().map(|(at, _)| at);
            let Some(next) = [event, deadline].into_iter().flatten().min() else { return done(self) };
            if next > until {
                self.now = until;
                return done(self);
            }
            at_once = if next <= self.now { at_once + 1 } else { 0 };
            assert!(
                at_once < 100_000,
                "it goes round in circles at {:?}: {:?}",
                self.now,
                self.agent.deadline()
            );
            self.now = self.now.max(next);
            if event == Some(next) {
                if let Some((_, event)) = self.events.pop_first() {
                    self.happen(event);
                }
            } else {
                self.tell(Input::Tick);
            }
        }
    }

    /// The process dies, and another begins after a while.
    pub fn crash(&mut self, after: Duration) {
        for request in &mut self.requests {
            request.ended = request.ended.min(self.now);
        }
        let lost: Vec<_> = std::mem::take(&mut self.store.in_flight).into_values().collect();
        self.lost.extend(lost.into_iter().map(|permit| permit.url));
        self.events.clear();
        self.to_write.clear();
        self.applied = Applied::default();
        self.answered = 0;
        self.promoted = false;
        self.run += 1;
        self.now = self.now + after;
        self.written_at = self.now;
        self.agent = Agent::new(self.config.clone(), [self.seed as u8; 32]);
        self.start(true);
    }
}
