//! Who may send to an address of the web, and when: sites on one address may be held by different peers, and the address has a delay
//! all the same.
//!
//! An address is a key of the key space; the *holder of the slot* that it lies in is its *steward*, and grants windows of time to the
//! peers that have something to fetch there. Windows of different peers do not overlap, and the address's delay lies between them.
//! Within its window a peer keeps the delay between its own sendings. ([`office`]: the steward, [`front`]: one address there;
//! [`wants`]: who asks.)
//!
//! *Why the holder and not the first owner by the view.* Views differ, at times for long; two peers that each believed to be
//! steward would grant the same time twice, and no rule about views alone makes that impossible. A claim of a slot is already exclusive
//! whatever the views are, because its lease is acknowledged by a majority of the recorded set. So no quorum of its own is needed: a window
//! ends before the steward's lease does, and the next holder's lease begins after. In a settled swarm the holder of a slot is its first
//! owner, so stewards are spread as slots are.
//!
//! *Why windows never overlap.* Clocks run at most half a percent wrong. (1) Who asked counts from when it asked: its window ends `waited +
//! length` later. The steward counts the same span, stretched by 1/64, from when the wish came, which is not earlier: so by its clock the
//! window has ended when it says so. A window begins when its grant comes. (2) One steward grants one window of an address at a time, and
//! the next to another peer after the longer of both delays, stretched. (3) Two stewards: the window, stretched, ends within the lease
//! of the first; the lease of the second begins later, and it grants nothing until the delay has passed since. (4) The same
//! steward after a restart does not know its windows: it waits until the longest has ended, if a record says that others may have any.
//! (5) A slot that is handed over is drained first.
//!
//! *What remains assumed*: clocks as above; claims keep their promise (a forced take-over keeps it as long as the old holder's lease
//! has run out, which `t_force` is much longer than; a peer that lost its disk holds a slot by a new token only); all peers take the same delay for an address (of two the longer lies between
//! windows); a process that starts sends nothing to an address for its delay, since its earlier self may have.
//!
//! *Turns.* Wishes stand in line and keep their place when they are said again. The next one gets a share of the longest window, in
//! proportion to what waits, between a least length and the whole. Who is alone gets all of it, and more before it ends. So with `n`
//! that want the address each has its turn within `n` windows and delays.
//!
//! | wish | until |
//! |---|---|
//! | asked | granted; said again every [`Config::refresh`], after a break, or to another steward |
//! | had | the middle of its window: asked again, while the rest of the window is used |
//! | given back ([`Input::Idle`]) | the steward is told, and goes on to the next |

mod address;
mod front;
mod io;
pub mod message;
mod office;
mod outgoing;
mod state;
mod wants;

pub use address::{AddressKey, Network, is_within};
pub use io::{Config, Effect, Fault, Input, Reason, Window};
pub use message::Message;
pub use state::State;
