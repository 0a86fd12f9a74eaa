//! What hashing cannot balance, peers negotiate two by two: the contract net, without its facilitator.
//!
//! After Smith, "The Contract Net Protocol" (IEEE Transactions on Computers, 1980), in the words of FIPA's interaction protocol SC00029H, and Du, Xu and Wang,
//! "Cooperation and competition among multi-agent crawlers": calls, bids, contracts, distribution, termination. Nothing here is needed for safety: who
//! holds a slot is decided by claims ([`crate::claim`]), which are asked to move it, and move it or do not.
//!
//! | who | does | until |
//! |---|---|---|
//! | manager | has more to do than the high water, and calls | all have answered, or the patience is over |
//! | | awards each bidder what it would be done with sooner | they agree, or their time is over |
//! | | gives the lots to the contractor ([`Effect::Give`]) | all have gone, or the arrival is late: the rest stays |
//! | | waits | `Done`, `Failure`, the time limit |
//! | contractor | bids, and reserves that | it is accepted or rejected, or the reservation lapses |
//! | | keeps what comes, although it is placed elsewhere ([`Effect::Keep`]) | nothing waits there any more, the time limit, or it gives up |
//! | | returns it: an ordinary change of claims ([`Effect::Return`]) | |
//!
//! A contract is remembered by those two, in memory. If the manager is gone, the contractor goes on until the time limit. If the contractor is gone, the slot's
//! set takes over as ever. If it lives and does nothing, or does not give back what is over, the manager takes it back ([`Effect::Revoke`]).
//! Each message may be lost, come twice or late: what a call or a contract of that name is not in, it does not change.
//!
//! Where crawls have a topic ability is the paper's own ([`able`]), and load does not matter.
//!
//! *Departures.* What moves is a slot with all its sites, not a site or a host: claims, copies and logs are by slot, of which there
//! are 16,384. The paper's manager gives everything to one bidder, that of the lowest ability; here each bidder is given what makes it and the caller
//! be done at one time, so that a hot spot is spread over many in few rounds. The paper asks those whose ability is lowest of all, by its
//! facilitator's table; here those that asked for work are asked, who keeps copies, and random others.

pub mod able;
mod contractor;
mod io;
pub mod load;
mod manager;
pub mod message;
mod stage;
mod standing;
mod state;
pub mod story;
mod strayed;

pub use able::Able;
pub use io::{Config, Effect, Input, Reason, Report};
pub use load::{Held, Load, Lot, Water};
pub use message::{CallId, Message, Why};
pub use stage::Stage;
pub use standing::Standing;
pub use state::State;
pub use strayed::Astray;
