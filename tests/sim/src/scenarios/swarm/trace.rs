//! A crawl that four peers share, in which nothing goes wrong: what the protocols do for a page, when instructions are counted.

use super::node::{Boot, Machine};
use super::{Happened, Swarm, web};
use crate::EPOCH;
use crate::check::{Broken, Check, View};
use crate::dice::Dice;
use crate::fault::Palette;
use crate::plan::Accident;
use crate::scenario::{Scenario, Start};
use anthill_protocol::time::Instant;
use std::time::Duration;

/// When the crawl begins: membership has settled by then, and all is held by who should hold it.
const BEGINS: Duration = Duration::from_secs(90);
/// How long it is watched: the crawl is over long before.
const LASTS: Duration = Duration::from_secs(120);

/// The trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trace {
    /// With a crawl.
    Crawl,
    /// Without one, as long: what the difference is of.
    Idle,
}

impl Trace {
    /// Both.
    pub const ALL: [Trace; 2] = [Trace::Crawl, Trace::Idle];
}

impl Scenario for Trace {
    type Node = Machine;

    fn name(&self) -> &'static str {
        match self {
            Trace::Crawl => "trace",
            Trace::Idle => "trace-idle",
        }
    }

    fn about(&self) -> &'static str {
        match self {
            Trace::Crawl => "four peers crawl 5,000 pages, without delays and copies, and nothing goes wrong",
            Trace::Idle => "the same peers for as long, without a crawl",
        }
    }

    fn machines(&self, _: &mut Dice) -> u32 {
        4
    }

    fn phases(&self) -> (Duration, Duration) {
        (BEGINS, LASTS)
    }

    fn boot(&self, start: &Start) -> Boot {
        let begins = match self {
            Trace::Crawl => BEGINS,
            Trace::Idle => BEGINS + LASTS * 2,
        };
        Boot { web: web::LARGE, begins, ..Swarm::Calm.boot(start) }
    }

    fn checks(&self) -> Vec<Box<dyn Check<Machine>>> {
        vec![Box::new(Pages { of: *self, fetched: 0, last: EPOCH, over: None })]
    }

    fn palette(&self) -> Palette {
        Palette::calm()
    }

    fn plan(&self, _: u64, _: u32, _: Duration) -> Vec<Accident> {
        Vec::new()
    }
}

/// Counts them, and how long the crawl took.
struct Pages {
    of: Trace,
    fetched: u64,
    last: Instant,
    over: Option<Instant>,
}

impl Check<Machine> for Pages {
    fn name(&self) -> &'static str {
        "pages"
    }

    fn after_step(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        for event in view.events {
            match event {
                Happened::Sent { page: true, .. } => (self.fetched, self.last) = (self.fetched + 1, view.now),
                Happened::Over(_) => _ = self.over.get_or_insert(view.now),
                _ => {}
            }
        }
        Ok(())
    }

    fn at_end(&mut self, view: &View<'_, Machine>) -> Result<(), Broken> {
        let (expected, over) = match self.of {
            Trace::Crawl => (web::LARGE.all().count() as u64, true),
            Trace::Idle => (0, false),
        };
        if (self.fetched, self.over.is_some()) == (expected, over) {
            return Ok(());
        }
        let what = format!("{} pages were fetched of {expected}, over: {:?}", self.fetched, self.over);
        Err(Broken::new(what, view.running().map(|(id, _)| id)))
    }

    fn measures(&self) -> Vec<(&'static str, u64)> {
        let ms = |at: Instant| u64::try_from(at.since(EPOCH + BEGINS).as_millis()).unwrap_or(u64::MAX);
        vec![("pages", self.fetched), ("took_ms", ms(self.last)), ("over_after_ms", self.over.map_or(0, ms))]
    }
}
