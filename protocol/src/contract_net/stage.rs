//! How far negotiations are, in the words of the table at this module's door: for tables of what happened to whom when.

use super::state::State;

/// Where a peer stands in its negotiations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// It has called, and counts bids.
    Calling,
    /// It has bid, and what it bid for is reserved.
    Bidding,
    /// It has awarded something that was not agreed to yet.
    Awarded,
    /// It has agreed, and not all has come.
    Taking,
    /// What was agreed on is on its way.
    Giving,
    /// It has what came by a contract.
    Working,
    /// What it gave is elsewhere.
    Given,
}

impl Stage {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Calling => "calling",
            Stage::Bidding => "bidding",
            Stage::Awarded => "awarded",
            Stage::Taking => "taking",
            Stage::Giving => "giving",
            Stage::Working => "working",
            Stage::Given => "given",
        }
    }
}

impl State {
    /// Of all negotiations the stage of that which is least far: it passes soonest.
    pub fn stage(&self) -> Option<Stage> {
        self.manager.stages().into_iter().chain(self.contractor.stages()).min()
    }
}
