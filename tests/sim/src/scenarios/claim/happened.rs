//! What others could see of a peer: permits, requests, answers.

use super::node::Peer;
use crate::node::Ctx;
use anthill_protocol::claim::{Message, Part, Root, Run, Token};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::time::Instant;
use std::fmt;

/// The right to fetch once.
#[derive(Clone, Copy, Debug)]
pub struct Permit {
    /// Where.
    pub slot: Slot,
    /// By which claim.
    pub token: Token,
    /// Of which line.
    pub root: Root,
    /// Not to be used from here on, by the own clock.
    pub not_after: Instant,
    pub(super) use_at: Instant,
}

/// What others could see.
#[derive(Clone, Debug)]
pub enum Happened {
    /// A permit was given.
    Permitted(Permit),
    /// It was used: the site sees a request.
    Fetched(Permit),
    /// A member promised or acknowledged.
    Answered {
        /// Who.
        who: PeerKey,
        /// Of what.
        slot: Slot,
        /// What it answers nothing below.
        token: Token,
    },
    /// For whoever reads the log.
    Noted(String),
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Happened::Permitted(p) => {
                write!(f, "permit {} by {} until {:?}", p.slot.number(), short(p.token), p.not_after)
            }
            Happened::Fetched(p) => write!(f, "fetches {} by {}", p.slot.number(), short(p.token)),
            Happened::Answered { slot, token, .. } => {
                write!(f, "answers {} {}", slot.number(), short(*token))
            }
            Happened::Noted(what) => f.write_str(what),
        }
    }
}

pub(super) fn short(token: Token) -> String {
    format!("{}:{:.4}", token.counter, token.minter.to_string())
}

impl Peer {
    /// Logs what a message promises.
    pub(super) fn tell(&self, ctx: &mut Ctx<'_, Happened>, message: &Message) {
        let Message::Parts(parts) = message else { return };
        for part in parts {
            let (slot, token) = match part {
                Part::Promise { grant, .. } => (grant.body().slot, grant.body().ballot),
                Part::Accepted { slot, counter, .. } => {
                    let token = self.claims.claim(*slot).map(|(mint, _)| mint.claim.token);
                    let Some(token) = token.filter(|token| token.counter == *counter) else { continue };
                    (*slot, token)
                }
                _ => continue,
            };
            ctx.log(Happened::Answered { who: self.me, slot, token });
        }
    }

    /// Logs what the answer to a renewal acknowledges.
    pub(super) fn tell_renewed(
        &self,
        ctx: &mut Ctx<'_, Happened>,
        holder: PeerKey,
        runs: &[Run],
        refused: &[Slot],
    ) {
        let slots = runs.iter().flat_map(|run| run.slots().map(|slot| (slot, run.counter)));
        for (slot, counter) in slots.filter(|(slot, _)| refused.binary_search(slot).is_err()) {
            let token = Token { counter, minter: holder };
            ctx.log(Happened::Answered { who: self.me, slot, token });
        }
    }
}
