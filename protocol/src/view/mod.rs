//! Who is in the swarm, as each peer sees it: SWIM (Das, Gupta and Motivala 2002: *Scalable Weakly-consistent Infection-style Process
//! Group Membership Protocol*) with signed statements.
//!
//! | status | when | what follows |
//! |---|---|---|
//! | *alive* | it answers, or a record of it came and nothing is known against it | it may hold slots |
//! | *suspect* | our own probe failed, direct and through others | it is given nothing new |
//! | *down* | no probe of ours succeeded for [`Config::down_after`], or three others signed that theirs failed | holding moves |
//! | *gone* | *down* for a day, or a signed goodbye; in no view, but remembered | copies are placed anew |
//!
//! *Down* becomes *alive* only by an answer to ourselves, direct or through another.
//!
//! An incarnation is a signed record of the subject: (generation, sequence). So nobody but the subject can say that it is alive, and
//! a word against one incarnation is void once the subject has made the next.
//!
//! **What is safe.** A view is a belief; who may fetch is decided by claims, whatever views say. Of the view itself these hold:
//! a third party alone makes nobody *down* (`detect`); in one process records of a peer only become newer, and who is
//! gone comes back only by a later record, or, if it was gone by time alone, by its own; two processes with one key do not both go
//! on once one has heard of the other; two peers that see none of the same members are not both primary, but in a swarm of two
//! ([`primary`]).
//!
//! **What liars can do.** Three members that sign false words make a fourth *down* until it answers, which it is asked at
//! once. One can say it reached somebody who is dead, and delay others that asked it; can make
//! another say a new record each second; and can name a later settled view than there is, which keeps peers from being primary
//! (and so from taking over by force) while they see it. None can revive a dead peer, or speak for another.
//!
//! **Why not the crate `foca`**, which was planned. It was read and weighed: its incarnations are numbers that whoever sends an
//! update may make up, so a liar keeps a dead peer alive; its *down* is final for an identity, so that a peer wrongly held for down has
//! to take another (here: another generation, which says that it lost its disk); it cannot be told to probe a member now, which is
//! what makes three witnesses quick; it has no local health. What would have been left of it, turn order, indirect probes and
//! counted gossip, is `probe` and `rumor` here, 350 lines.
//!
//! - `state`: input to effects; `own`: our record, its sequences, twins; `probe`, `detect`: who is there; `rumor`: what is told on;
//!   `book`, `receive`: what is believed; `compare`: anti-entropy; `settle`, [`primary`]: what is agreed on; `farewell`: the end; `write`, [`stored`]: the disk.

mod book;
mod compare;
mod detect;
mod farewell;
mod io;
pub mod message;
mod own;
pub mod primary;
mod probe;
mod receive;
mod rumor;
mod settle;
mod state;
mod statement;
pub mod stored;
#[expect(clippy::module_inception, reason = "the view is what this protocol makes")]
mod view;
mod write;

pub use io::{Change, Config, Description, Effect, Fault, Input, Reason, Ticket};
pub use message::Message;
pub use primary::Electors;
pub use state::{Start, State};
pub use statement::{Goodbye, Incarnation, LastStand, Witnessed};
pub use stored::Stored;
pub use view::{Seen, Status, View};
