//! The crawls of a swarm: which there are, how far they are, and whether one is over.
//!
//! A crawl is named by the hash of what its starter said and signed ([`record`]), so a name belongs to one word for good. Links and
//! queues carry the first 64 bits of it ([`CrawlKey::tag`]): it is the same at all peers, so nothing has to be translated when a
//! slot is copied, and costs 8 bytes instead of 16. Among 4,096 crawls two have one tag by chance once in 2^41; whoever wants one that is
//! taken has to try 2^64 times. Of two with one tag the one with the lesser key counts, at all peers.
//!
//! | what is said | by | of two |
//! |---|---|---|
//! | a crawl began | its starter | the same |
//! | it ended: asked for | its starter | the earlier, then the lesser; ended is more than running |
//! | it ended: its pages or its time are used up, if it has such a limit | anybody | as above |
//! | a [`Register`]: what a peer did for it, since it has its disk | that peer | the later (`seq`, which begins above all that an earlier process said), of each peer and disk |
//!
//! All of it is a state-based CRDT (Shapiro et al. 2011; [`book`]) and reaches all by [`crate::epidemic`]. Sums over registers count each page
//! of a peer once, however often a register comes; what a peer did that died, or lost its disk, stays counted.
//!
//! *Whether a crawl is over* ([`over`]). A peer is quiet about a crawl when nothing untried of it is in the slots that it serves,
//! no request and no write of it is under way, and every link of it that it found is durable with its holder. Its register says so, with
//! an epoch that is another one after anything happened to the crawl there, and with a sum over the slots that it serves and the tokens by
//! which it does. When all live members' registers are quiet, a peer that finds (the composition does, see `agent::peer`)
//!
//! 1. that the sums add up to that of all slots by the tokens that it knows: each is served once, and nobody served it since by a claim
//!    that this peer knows of, and
//! 2. that what it wrote to slots while it held them has been merged with a later holder's copy,
//!
//! says the digest of all these epochs and sums ([`Agreed`]). A crawl is over when the registers with one digest are just those that give it.
//!
//! *Why that is so.* Let each peer p of such a group have said first at aₚ that it is quiet in its epoch, and at cₚ the digest. It was in
//! the same epoch at cₚ, so it was quiet all the time from aₚ to cₚ and served the same slots. It knew all registers of the group when it
//! said the digest, so cₚ is after every a. So there is a moment, between the last a and the first c, at which all were quiet
//! together (the two rounds of Mattern 1987, *Algorithms for distributed termination detection*, §4, with epochs in place of counters of
//! messages: what is on its way is in its sender's log, so a sender of something is not quiet). At that moment every slot was served by one of
//! them, nothing untried was in any, no request, write or link of the crawl was under way; so nothing of it could begin again, but by who
//! was not of the group.
//!
//! *What is not covered.* Members that were away: their number is said along ([`Over::away`]); where it is zero, all members were
//! of the group. A member that has been away until it was forgotten, and comes back with links in its log; its slots' new holders spoke for them.
//! Links that died with the only disk that had them. Peers that lie: their signatures show who. What is put off
//! because it failed keeps no crawl from being over, as at a peer that is alone.
//!
//! *A limit of pages* is shared out: each live peer to which something waits may fetch what it has fetched and its share of what is
//! left, by the sums that it knows ([`share`]). When all know the same sums, the shares add up to what is left; so more than the limit is fetched by at most
//! what the swarm fetches in the time that registers take to arrive. In a partition each part goes by its own sums: at most
//! the limit for each part.

pub mod book;
mod io;
pub mod message;
pub mod over;
pub mod record;
mod state;

pub use book::{Book, Item, Limits, Name, Totals, VerifiedItem};
pub use io::{Config, Effect, Fault, Input, Reason, Refused, Report, Ticket};
pub use message::Message;
pub use over::{Over, hungry, share};
pub use record::{Agreed, Begun, Counts, CrawlKey, Ended, Quiet, Register, Scope, Spec, Why};
pub use state::State;
