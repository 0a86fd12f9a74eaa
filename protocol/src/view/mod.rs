//! Who is in the swarm, as each peer sees it.
mod book;
mod compare;
mod detect;
mod io;
pub mod message;
mod own;
pub mod primary;
mod probe;
mod receive;
mod rumor;
mod state;
mod statement;
pub mod stored;
#[expect(clippy::module_inception, reason = "the view is what this protocol makes")]
mod view;

pub use io::{Change, Config, Description, Effect, Fault, Input, Reason, Ticket};
pub use message::Message;
pub use primary::Electors;
pub use state::{Start, State};
pub use statement::{Goodbye, Incarnation, Witnessed};
pub use stored::Stored;
pub use view::{Seen, Status, View};
