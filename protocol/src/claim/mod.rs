//! Who may fetch: claims, and how they change hands.
//!
//! Of each slot there is a line of claims. A claim names a holder, and the *set* of those that keep the slot and vote on it. At
//! no moment have two peers a usable permit by claims of one line, as long as no clock runs more than half a percent wrong and
//! writes that are reported as synced are there after a restart. Views may be as wrong as they like: they decide what is
//! asked for, never what is granted.
//!
//! | a peer is, of a slot | when | it |
//! |---|---|---|
//! | keeper | it was ever of the set | promises, acknowledges, refuses; never forgets its record |
//! | candidate | the holder is not live in its view | asks those with a say to promise its ballot |
//! | proposer | its claim is on its disk | asks for acknowledgements until majorities gave them |
//! | holder | majorities have its claim on disk | may give permits while acknowledgements of a majority are younger than a lease |
//! | drainer | the slot is to go to another of the set | gives no permits, then signs the slot away |
//! | giver | it signed a slot away | says so until the receiver proposes, or takes it back by a ballot |
//!
//! *Contracts* ([`Input::Lend`], [`Input::Stay`]; see [`crate::contract_net`]) stand beside what the view places, for as long as a process remembers
//! them: the holder gives the contractor a copy, takes it into the set in place of the last owner, and hands the slot over; the contractor keeps it.
//! They are wishes like those of the view: what is asked for, not what is granted.
//!
//! # Why it is safe
//!
//! *Order.* Each slot is a line of decisions by Paxos (Lamport, "The Part-Time Parliament", TOCS 1998) whose voters change as in
//! "Vertical Paxos and Primary-Backup Replication" (Lamport, Malkhi and Zhou, PODC 2009). A token is a ballot and a step within
//! it: a candidate takes the next multiple of [`STRIDE`] as counter, a holder or whom it gave the slot to adds one, and only
//! to a claim that is established. So there is at most one claim for each counter and minter, one sequence within each ballot, and a
//! candidate that has promises of majorities of the last claim's set, and of the set before where that still counts, has
//! seen every claim that was or can be established below its ballot.
//!
//! *Sets.* A claim with another set is established when majorities of both have it on disk. That the old one counts no more is
//! said by its holder only, when it has let go of the lease it had from the old set.
//!
//! *Time.* A member that acknowledges at its time t lets nobody but that holder go on, nor whom it gave the slot to, before
//! t + lease + 1.1 %; the holder counts from when it sent the question. The candidate's majority and the lease's majority share a
//! member. After a restart a member does not know when it last acknowledged and waits a whole lease. Clocks count suspends, so a
//! process that stood still finds its lease over by looking at the clock; nothing else is needed for gaps between ticks.
//!
//! *Handoff.* The holder gives no permits, waits until the last is used or over, has its word on disk, and then sends it.
//!
//! *Force* begins another line, with a [`Root`] of its own and a token far above. Between two lines safety needs views, and one thing
//! of them only: that no two peers take themselves for members of the primary component at one moment, unless they are
//! of one. Who holds has no lease while its view is not of the primary component: permits given before end within [`Config::lease`].
//! (Nor has it one while that is in doubt, so that a part that is cut off stops at once, and does not fetch what it can tell
//! nobody.) Who forces, or comes back after that time, has been of it for as long and 1.1 %. So when a component forces what another holds, the
//! old line's permits have ended before the new one begins, and none overlap. Who forces has also seen a majority of the set (or, for twice as long, the holder) down for
//! [`Config::t_force`]. Only where that is wrong within one component, or two components take themselves for primary,
//! do both lines fetch, until they meet.
//!
//! *Two lines that meet*, of a force that was not needed or of two swarms of one name: the one with the greater token counts, whichever
//! swarm it came from. Its holder's gossip is heard, its claim asked for and checked, and the other holder lets go at
//! once, though its last permits may still be used: both fetch for one announcement (one and a half [`Config::announce_every`]) at
//! most after they hear each other. While they meet both may mint, so which line stays is not known before. What the other line had
//! stays on disk, to be offered by replication.
//!
//! # What is not covered
//!
//! Two processes with one key and a copied disk are one voter that votes twice. A member that lies, one of a majority, can break a
//! slot's safety; proofs show a claim's last step only (see [`Mint`]). After a restart a holder does not remember that it had to
//! catch up. A hint is not proved: who gossips high counters makes others ask it, and those of no set wait for it.

mod ballot;
mod handoff;
mod hint;
mod io;
mod lead;
mod member;
mod message;
mod parting;
mod place;
mod policy;
mod proof;
mod record;
mod renew;
mod revoke;
mod standing;
mod state;
mod write;

pub use crate::replica::Position;
pub use io::{Config, Effect, Input, Reason, Ticket};
pub use message::{MAX_MESSAGE, Message, Part, Run};
pub use proof::{FORCE_JUMP, Fault, Give, Grant, How, Mint, Root, STRIDE};
pub use record::Record;
pub use state::State;

use crate::key::Slot;
use crate::peer::PeerKey;
use crate::placement::MAX_OWNERS;
use serde::{Deserialize, Serialize};

/// How many peers keep each slot unless a swarm's profile says otherwise.
pub const DEFAULT_REPLICAS: usize = 3;

/// A fencing token: of two claims of one slot the one with the greater token counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Token {
    /// One more than the highest that who minted it had seen.
    pub counter: u64,
    /// Who minted it: the peer that took the holding by it. Tells tokens with one counter apart.
    pub minter: PeerKey,
}

/// "This peer holds this slot, and these keep it": says who may fetch there, as long as its lease is alive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// What is held.
    pub slot: Slot,
    /// Of two claims the one with the greater counts.
    pub token: Token,
    /// Who may fetch.
    pub holder: PeerKey,
    /// Who keeps the slot and acknowledges the lease: the recorded set. In order of names, each once, the holder among
    /// them, at most [`MAX_OWNERS`].
    pub set: Vec<PeerKey>,
}

impl Claim {
    /// How many of the recorded set are a majority of it.
    pub fn majority(&self) -> usize {
        self.set.len() / 2 + 1
    }

    /// Whether `peer` is of the recorded set.
    pub fn keeps(&self, peer: &PeerKey) -> bool {
        self.set.binary_search(peer).is_ok()
    }

    /// Whether its parts are what they must be.
    pub fn is_well_formed(&self) -> bool {
        self.set.len() <= MAX_OWNERS && self.set.is_sorted_by(|a, b| a < b) && self.keeps(&self.holder)
    }
}
