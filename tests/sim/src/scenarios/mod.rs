//! The scenarios that the command knows.

pub mod claim;
pub mod gossip;
pub mod lease;
pub mod links;
pub mod replica;
pub mod steward;
pub mod swarm;
pub mod view;

use crate::run::{Options, Outcome, read, run};
use crate::scenario::Scenario;
use crate::shrink::{Shrunk, shrink};

/// A scenario of whatever nodes.
pub trait Runnable: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What it tries.
    fn about(&self) -> &'static str;
    /// Whether something in it is wrong on purpose, and must be found.
    fn is_planted(&self) -> bool;
    /// [`crate::run()`].
    fn run(&self, seed: u64, options: &Options) -> Outcome;
    /// [`crate::read`], all machines' lines.
    fn read(&self, seed: u64, options: &Options, most: usize) -> (Outcome, Vec<String>);
    /// [`crate::shrink()`].
    fn shrink(&self, seed: u64, options: &Options, tries: u32) -> Option<Shrunk>;
}

impl<S: Scenario> Runnable for S {
    fn name(&self) -> &'static str {
        Scenario::name(self)
    }

    fn about(&self) -> &'static str {
        Scenario::about(self)
    }

    fn is_planted(&self) -> bool {
        Scenario::is_planted(self)
    }

    fn run(&self, seed: u64, options: &Options) -> Outcome {
        run(self, seed, options)
    }

    fn read(&self, seed: u64, options: &Options, most: usize) -> (Outcome, Vec<String>) {
        read(self, seed, options, &[], most)
    }

    fn shrink(&self, seed: u64, options: &Options, tries: u32) -> Option<Shrunk> {
        shrink(self, seed, options, tries)
    }
}

/// All of them. Those with a planted bug show that it is found.
pub fn all() -> Vec<Box<dyn Runnable>> {
    let mut all: Vec<Box<dyn Runnable>> = vec![Box::new(gossip::Gossip)];
    all.extend(lease::Variant::ALL.map(|variant| Box::new(lease::Lease(variant)) as Box<dyn Runnable>));
    all.extend(view::Membership::all().into_iter().map(|one| Box::new(one) as Box<dyn Runnable>));
    all.extend(claim::Variant::ALL.map(|variant| Box::new(claim::Claims(variant)) as Box<dyn Runnable>));
    all.extend(replica::Variant::ALL.map(|variant| Box::new(replica::Replica(variant)) as Box<dyn Runnable>));
    all.extend(links::Variant::ALL.map(|variant| Box::new(links::Links(variant)) as Box<dyn Runnable>));
    all.extend(swarm::Story::ALL.map(|one| Box::new(one) as Box<dyn Runnable>));
    all.extend(swarm::Trace::ALL.map(|one| Box::new(one) as Box<dyn Runnable>));
    all.extend(swarm::Swarm::ALL.map(|one| Box::new(one) as Box<dyn Runnable>));
    all.extend(steward::Variant::ALL.map(|variant| Box::new(steward::Steward(variant)) as Box<dyn Runnable>));
    all
}
