//! What a peer is told, and what it asks for.
//!
//! Hands promise, besides what they promise to the crawl ([`crate::io`]): a [`Effect::Persist`] and an [`Effect::Apply`] are atomic,
//! synced, in the order of the outbox, and answered once; [`Input::Numbered`] and [`Input::Logged`] are told before the
//! [`crate::io::Input::Committed`] of the commits they are about; a commit with offers writes them to the link log in the same
//! atomic write; what an [`Input::Read`] shows is synced before it is told, also where a value is newer than the change it was read for:
//! a page that another peer has, and this one has lost, would be counted by nobody, and its links sent by nobody.

use super::message::Message;
use crate::io as crawl;
use anthill_crawler::record::CrawlId;
use anthill_protocol::epidemic::ItemKey;
use anthill_protocol::key::Slot;
use anthill_protocol::links::{Cursor, Link};
use anthill_protocol::member::{Address, MemberRecord};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::replica::{self, Answer, Item, Read, ReadId};
use anthill_protocol::signed::Signed;
use anthill_protocol::{claim, contract_net, exclusion, frequency, registry, view};
use std::collections::BTreeSet;

/// What came of items of others that were merged into a slot, or of its deletion.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// The slot's last change.
    pub head: u64,
    /// What queues gained.
    pub gained: Vec<crawl::Gain>,
    /// What of that was never tried.
    pub untried: Vec<crawl::Untried>,
    /// Items that tell of an attempt that was not known here.
    pub tried: u64,
}

/// Names a write of records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// One record to be written in place of what is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Of membership.
    View(view::Change),
    /// Of a slot's claim.
    Claim(Slot, Box<claim::Record>),
    /// Whether other peers may have windows from here.
    Shared(bool),
    /// Of crawls; none where the item under this key goes.
    Crawl(ItemKey, Option<Box<registry::Item>>),
    /// Of exclusions; none where the item under this key goes.
    Exclusion(ItemKey, Option<Box<exclusion::Item>>),
}

/// What it is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// A deadline may have come.
    Tick,
    /// A peer says something; who it is is certain.
    Received(PeerKey, Message),
    /// A stream with a peer opened.
    PeerUp(PeerKey),
    /// It broke.
    PeerDown(PeerKey),
    /// Records of members found elsewhere.
    Found(Vec<Signed<MemberRecord>>),
    /// This peer is to be found elsewhere from now on: where, and whether strangers can connect to it.
    Described(Vec<Address>, bool),
    /// The operator says that the peers that are not down are the whole swarm.
    Refound,
    /// Leave in order.
    Leave,
    /// After [`Input::Leave`]: say goodbye now. What is not handed over the others take as from one that died.
    Hurry,
    /// Answer to [`Effect::Persist`].
    Persisted(Ticket),
    /// Answer to [`Effect::Persist`]: it failed and changed nothing.
    NotPersisted(Ticket),
    /// Answer to [`Effect::Apply`] and [`Effect::Delete`].
    Applied(replica::Ticket, Applied),
    /// Answer to the same: it failed and changed nothing.
    NotApplied(replica::Ticket),
    /// Answer to [`Effect::Read`].
    Read(ReadId, Answer),
    /// Whether there is no room for what others send.
    Full(bool),
    /// Commits wrote these changes: by slot the number of the last.
    Numbered(Vec<(Slot, u64)>),
    /// All changes up to these numbers are synced.
    Synced(Vec<(Slot, u64)>),
    /// Commits logged links: by slot the number of the last entry, and their bytes.
    Logged(Vec<(Slot, u64, u64)>),
    /// Answer to [`Effect::ReadLog`].
    LogRead {
        /// As asked.
        slot: Slot,
        /// As asked.
        after: u64,
        /// Entries and their numbers.
        links: Vec<(u64, Link)>,
        /// The last that was looked at.
        upto: u64,
    },
    /// Answer to [`Effect::LoadSlot`]: the hosts with queues, and what in these was never tried.
    SlotLoaded(Slot, Vec<crawl::StoredHost>, Vec<crawl::Untried>),
    /// Somebody begins a crawl of the whole swarm. Answered by [`Effect::Begun`] with this number.
    Begin(u64, crawl::CrawlSpec),
    /// Its starter ends it.
    End(CrawlId),
    /// The operator says that part of the web must be left alone. Answered by [`Effect::Excluded`] with this number.
    Exclude(u64, exclusion::Draft),
    /// The operator takes such a word back.
    Include(exclusion::RuleKey),
    /// The operator follows these issuers, and no others from now on.
    Follow(BTreeSet<PeerKey>),
    /// Words of others about exclusions that came another way than from peers, as on a published list. Those that are not what
    /// their issuers signed are left out.
    Words(Vec<Signed<exclusion::Exclusion>>),
    /// A part of what was counted of words on this peer's pages, for another to hear.
    Counted(frequency::Message),
    /// How able this peer is, in thousandths, where crawls have a topic.
    Ability(u16),
    /// Something for the crawl.
    Crawl(crawl::Input),
}

/// What it asks for.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// To one peer, on its stream; opens one if there is none. May be lost.
    Send(PeerKey, Message),
    /// To all peers, by gossip; may be lost.
    Broadcast(Message),
    /// Write these, all or none, and sync.
    Persist(Ticket, Vec<Change>),
    /// Write these, without a sync.
    PersistCursors(Vec<(Slot, Cursor)>),
    /// Merge items into a slot, with the record of the copy.
    Apply {
        /// For the answer.
        ticket: replica::Ticket,
        /// The slot.
        slot: Slot,
        /// What is merged.
        items: Vec<Item>,
        /// In place of what is there.
        record: replica::Record,
        /// Whether it may not wait to share its sync.
        urgent: bool,
    },
    /// Delete all of a slot.
    Delete {
        /// For the answer.
        ticket: replica::Ticket,
        /// The slot.
        slot: Slot,
    },
    /// Read from the store.
    Read(ReadId, Read),
    /// Read entries of the link log.
    ReadLog {
        /// The slot.
        slot: Slot,
        /// Numbers are greater.
        after: u64,
        /// About so many bytes, one at least.
        limit_bytes: u64,
    },
    /// Entries of the link log up to here may be deleted.
    TrimLog(Slot, u64),
    /// These links are durable: to be entered in the filter of links sent lately.
    LinksSent(Slot, Vec<u64>),
    /// Links of this slot may have been lost: the filter is to forget it.
    LinksReplay(Slot),
    /// Too many links wait to be sent, or not any more.
    Slow(bool),
    /// Read the hosts of a slot that have queues.
    LoadSlot(Slot),
    /// A slot is not this peer's to serve any more: its queues may go; what others keep of it stays. No answer.
    CloseSlot(Slot),
    /// Something the crawl asks for; never [`crawl::Effect::Taken`].
    Crawl(crawl::Effect),
    /// A crawl was begun, and is on disk; or why not.
    Begun(u64, Result<CrawlId, registry::Refused>),
    /// An exclusion was said, under this name; or why not. It is written down with the next write of records.
    Excluded(u64, Result<exclusion::RuleKey, exclusion::sync::Refused>),
    /// Something happened in a negotiation: for the log.
    Negotiated(contract_net::CallId, contract_net::story::Event),
    /// A slot was taken over by force.
    Forced(Slot),
    /// A member's disk is full: the slot has a copy less.
    MemberFull(Slot, PeerKey),
    /// Another process speaks with this peer's key: this one takes part no more.
    Twin,
    /// What another counted of words on its pages.
    Counted(PeerKey, frequency::Message),
    /// Goodbye was said: nothing more will come.
    Left,
    /// A peer did what no honest one does, and what.
    Misbehaved(PeerKey, String),
}
