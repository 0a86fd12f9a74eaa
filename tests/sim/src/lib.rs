//! A whole swarm in one thread from one seed.
//!
//! Protocols are state machines without hands. Here they run on simulated machines: with disks that keep no more than
//! they must after a crash, clocks that drift, and a network that delays, loses, repeats, reorders and cuts. Time is
//! virtual, and all that happens is drawn from one number, so a run that fails can be run again, made smaller, and kept.
//!
//! # How to write a scenario
//!
//! 1. A [`Node`] wraps the state machine. Its effects become calls of [`Ctx`]: [`Ctx::send`] (streams) or
//!    [`Ctx::datagram`] with the bytes of the real codec and the message's name for metrics; [`Ctx::persist`],
//!    [`Ctx::remove`], [`Ctx::write`] with a [`Ticket`] that [`Node::completed`] brings back; [`Ctx::log`] for whatever
//!    others could see (a lease taken, a request sent). [`Node::label`] names the state it is in.
//! 2. A [`Scenario`] says how many machines there are, what each is started with, for how long things go wrong, what may
//!    go wrong (a [`Palette`]: usually [`Palette::everything`] without what the protocol is not made for), and what must
//!    hold. A web or a user is a node as well, of a machine that is a fixture: nothing happens to those.
//! 3. A [`Check`] says what must hold after each step, from what the [`View`] shows: the events of the step, all nodes,
//!    disks and clocks, who hears whom. `after_step` should look at the actor and its events, not at everybody: it is called
//!    a hundred thousand times a second. `at_end` sees the world after the quiet phase, when everything must be right.
//! 4. The scenario goes into [`scenarios::all`]; then `anthill-sim --scenario NAME --minutes 10` runs seeds on all cores.
//! 5. A variant with a bug planted says so ([`Scenario::is_planted`]); `anthill-sim --planted` prints how soon each is found.
//!
//! Accidents strike at moments at which bugs hide: a machine stops right after it asked for a write, or right after it
//! sent something ([`Moment`]). A scenario can bring its own list of [`Accident`]s instead of drawn ones.
//!
//! [`market`] is no scenario: how even load becomes among thousands of peers, without faults (`anthill-sim --balance`).
//!
//! # When it fails
//!
//! The [`Violation`] shows the seed, the accidents, the last events of those involved, and the command that replays it.
//! [`shrink`] (`--shrink` on the command line) looks for a smaller run that fails by the same check; [`first_difference`] finds where two runs
//! of one seed part. A failing seed becomes a test with its name.
//!
//! # What is promised
//!
//! The same scenario, seed and options give the same event log, byte for byte ([`Outcome::digest`]): on every machine,
//! because nothing here uses floating point, the clock, a random map, or threads. A node is called by one event at a time;
//! [`Node::tick`] never before its deadline; writes complete in the order in which they were asked for; a stream's messages
//! come in order, and when some do not come, both ends are told before they hear of each other on a new one.

mod accident;
mod check;
mod clock;
mod dice;
mod disk;
mod event;
mod fault;
mod log;
pub mod market;
mod metrics;
mod net;
mod node;
mod plan;
mod run;
mod scenario;
pub mod scenarios;
mod shrink;
mod slot;
mod world;

pub use check::{Broken, Check, Machine, Phase, Status, View, Violation};
pub use clock::Clock;
pub use dice::{Dice, MILLION, micros};
pub use disk::{Batch, Disk, DiskFull, Ticket};
pub use fault::{Dose, FaultKind, Palette, UnknownFault, Weather};
pub use metrics::{Metrics, Traffic};
pub use node::{Ctx, Node, NodeId, Via};
pub use plan::{Accident, Aim, Moment, draw};
pub use run::{Difference, Options, Outcome, first_difference, read, run};
pub use scenario::{How, Scenario, Start};
pub use shrink::{Shrunk, shrink};

/// The true time at which every run begins: some day, so that no time of a run is near zero.
pub const EPOCH: anthill_protocol::time::Instant = anthill_protocol::time::Instant(1_700_000_000 * 1_000_000);
