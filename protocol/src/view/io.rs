//! What membership is told, what it asks for, and how often and how long.

use super::message::Message;
use super::statement::Incarnation;
use super::stored::{Key as StoredKey, Stored};
use crate::epidemic::Rate;
use crate::member::{Address, MemberError, MemberRecord};
use crate::peer::PeerKey;
use crate::placement::Key;
use crate::signed::Signed;
use std::time::Duration;

/// How often, how long and how much. The same at all peers, except in tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// [`Key::of_swarm`]: breaks the tie when the swarm falls into halves.
    pub swarm: Key,
    /// From one probe to the next. Each goes to another member, so a crash is first seen by somebody after a second on average,
    /// whatever the swarm's size.
    pub probe_every: Duration,
    /// How long a direct answer is waited for, before others are asked to try: three times a slow round trip.
    pub direct: Duration,
    /// How long any answer is waited for, from the beginning of a probe.
    pub patience: Duration,
    /// Members asked to try. With three, one in a thousand probes fails when a tenth of all ways is bad.
    pub relays: usize,
    /// *Suspect* to *down* by our own timer: from the first probe that failed, if none succeeded since.
    pub down_after: Duration,
    /// Members that make *down* of a suspicion at once.
    pub witnesses: usize,
    /// Fewer other members than this, and only our own timer counts: witnesses would be nearly everybody.
    pub least_for_witnesses: usize,
    /// How long a witness's word counts.
    pub witness_fresh: Duration,
    /// A peer that nobody answers waits so long, instead of [`Config::down_after`], until it holds the others for down, and not
    /// itself for cut off.
    pub alone_after: Duration,
    /// A call that comes so late makes a peer doubt its own probes: the loop hung, or has too much to do, not the others.
    pub lag: Duration,
    /// *Down* to *gone*: copies are placed anew.
    pub gone_after: Duration,
    /// How long it is remembered who is gone, so that old news does not bring it back: longer than anybody keeps it as *down*.
    pub buried: Duration,
    /// From one probe of a member that is down to the next, so that peers that hold each other for down meet again.
    pub revive_every: Duration,
    /// From one comparison of all members to the next: 20 bytes a second.
    pub compare_every: Duration,
    /// How long an answer within a comparison is waited for.
    pub compare_patience: Duration,
    /// From one round of gossip to the next, while there is news.
    pub gossip_every: Duration,
    /// Members told in a round.
    pub fanout: usize,
    /// How long all must have agreed on a view before it is the settled one.
    pub settle_after: Duration,
    /// The same where some are about to leave without whom the others are not primary before.
    pub settle_soon: Duration,
    /// Of two, the survivor is primary after so long.
    pub survivor_after: Duration,
    /// So long after a goodbye, and as long more as a round of probes, somebody who has not heard it may still count the leaver's last
    /// word: an answer may be on its way for `witness_fresh`, and `alone_after` passes until who hears nobody holds a member for down.
    pub word_lasts: Duration,
    /// At most one new record of ourselves in this time, whoever doubts us.
    pub refute_every: Duration,
    /// From a write that failed to the next try.
    pub rewrite_after: Duration,
    /// How long members' records are gathered before they are written.
    pub write_after: Duration,
    /// How long changes of the view are gathered before it is published.
    pub publish_after: Duration,
    /// The longest time that changes of others wait for that where this peer is late with what it does.
    pub calm: Duration,
    /// Statements that were not asked for, checked for one peer: a signature is some 50 µs. The burst is a swarm that starts at
    /// once.
    pub check_each: Rate,
    /// The same in sum: 1 % of a core in the long run.
    pub check_all: Rate,
    /// Others known. Further ones are not taken until some are gone; a view and its tokens take about 1 kB each.
    pub max_members: usize,
}

impl Config {
    /// The constants of a swarm.
    pub fn of(swarm: Key) -> Config {
        let (s, ms) = (Duration::from_secs, Duration::from_millis);
        Config {
            swarm,
            probe_every: s(1),
            direct: s(1),
            patience: s(2),
            relays: 3,
            down_after: s(3),
            witnesses: 3,
            least_for_witnesses: 5,
            witness_fresh: s(10),
            alone_after: s(20),
            lag: ms(400),
            gone_after: s(24 * 3_600),
            buried: s(3 * 24 * 3_600),
            revive_every: s(5),
            compare_every: s(30),
            compare_patience: s(5),
            gossip_every: ms(200),
            fanout: 3,
            settle_after: s(30),
            settle_soon: s(1),
            survivor_after: s(120),
            word_lasts: s(40),
            refute_every: s(1),
            rewrite_after: s(2),
            write_after: s(5),
            publish_after: ms(50),
            calm: s(2),
            check_each: Rate { burst: 2_000, per_s: 20 },
            check_all: Rate { burst: 10_000, per_s: 200 },
            max_members: 20_000,
        }
    }
}

/// What this peer says of itself: its next record is made of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Where it can be reached.
    pub addresses: Vec<Address>,
    /// Whether strangers can connect to it.
    pub dialable: bool,
    /// Its share of the work. A change within an hour of the last one waits.
    pub tokens: u16,
    /// Whether it is about to say goodbye, so that nothing is placed on it any more.
    pub leaving: bool,
}

/// Names a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// One change of what is on the disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Write this under [`Stored::key`], in place of what is there.
    Put(Box<Stored>),
    /// Take away what is there.
    Forget(StoredKey),
}

/// What this machine is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A deadline may have come.
    Tick,
    /// A peer says something; who it is is certain.
    Received(PeerKey, Message),
    /// A stream with a peer opened. A hint.
    PeerUp(PeerKey),
    /// The stream broke. A hint.
    PeerDown(PeerKey),
    /// Records found elsewhere, at most [`super::message::MAX_NEWS`] of them looked at: whoever serves us, or lies in the DHT.
    Found(Vec<Signed<MemberRecord>>),
    /// This peer is described otherwise from now on.
    Describe(Description),
    /// The operator says that the peers that are not down are the whole swarm: the settled view is theirs.
    Refound,
    /// Leave in order.
    Leave,
    /// A write is on the disk.
    Persisted(Ticket),
    /// A write failed, and changed nothing.
    NotPersisted(Ticket),
}

/// What it asks for.
#[derive(PartialEq, Eq, Debug)]
pub enum Effect {
    /// To one peer; may be lost.
    Send(PeerKey, Message),
    /// Write these down, all or none, and sync; answered by [`Input::Persisted`] or [`Input::NotPersisted`].
    Persist(Ticket, Vec<Change>),
    /// [`super::State::view`] gives another view.
    Changed,
    /// Another process speaks with this peer's key, or this data folder is an old copy: this process takes part no more. Start it
    /// with a key of its own.
    Twin(Incarnation),
    /// Goodbye was said; nothing more will come.
    Left,
    /// A description is not taken.
    Refused(MemberError),
    /// A peer did what no honest one does.
    Misbehaved(PeerKey, Fault),
}

/// What no honest peer does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum Fault {
    /// More in a message than it may have.
    #[error("a message out of bounds")]
    Bounds,
    /// A statement whose signature does not fit, or that says what no statement may.
    #[error("a statement that is not that of the peer it names")]
    Statement,
    /// Items that were not asked for, or a listing that does not go on.
    #[error("an answer to no question")]
    Answer,
}

/// Why the machine wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// A view waits to be published.
    Publish,
    /// Something is to be written.
    Write,
    /// A member is to be probed, or did not answer.
    Probe,
    /// A member's time as suspect, or down, is over.
    Verdict,
    /// A record is to be made.
    Record,
    /// There is news.
    Gossip,
    /// Members are to be compared, or an answer is missing.
    Compare,
    /// A view may have settled.
    Settle,
    /// Goodbye is to be said again.
    Farewell,
}
