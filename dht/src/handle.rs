//! The handle by which others use the network, and what they hear from it.

use crate::lane::{Lane, Outbound, Unsent};
use crate::status::Status;
use libp2p::gossipsub::MessageId;
use libp2p::{Multiaddr, PeerId};
use std::collections::BTreeSet;
use tokio::sync::{mpsc, oneshot};

/// What happens on the network.
#[derive(Debug)]
pub enum Event {
    /// A peer of the swarm is connected.
    Up(PeerId),
    /// It is not any more.
    Down(PeerId),
    /// Said by one peer to all; to be judged with [`Handle::judge`] before others hear of it from here.
    Gossip {
        /// Who said it first, by its signature.
        from: PeerId,
        /// On which topic, by its place in [`Config::topics`](crate::Config::topics).
        topic: usize,
        /// What.
        bytes: Vec<u8>,
        /// To judge it.
        ticket: Ticket,
    },
    /// An address is listened at, or said to be reachable from outside.
    Address(Multiaddr),
}

/// A message of gossip that waits to be judged.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub(crate) id: MessageId,
    pub(crate) by: PeerId,
}

/// What is to be done with gossip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Passed on.
    Good,
    /// Not passed on.
    Ignored,
    /// Not passed on, and counted against who did so.
    Bad,
}

/// What the task is told.
pub(crate) enum Command {
    Gossip(usize, Vec<u8>),
    Judge(Ticket, Verdict),
    Know(PeerId, Vec<Multiaddr>),
    Forget(PeerId),
    Keep(BTreeSet<PeerId>),
    Block(PeerId, bool),
    Resolve(PeerId, oneshot::Sender<Vec<Multiaddr>>),
    Status(oneshot::Sender<Status>),
    Stop(oneshot::Sender<()>),
}

/// The way to the network; cheap to clone. When the last one is gone the network stops.
#[derive(Clone)]
pub struct Handle {
    pub(crate) me: PeerId,
    pub(crate) outbound: Outbound,
    pub(crate) commands: mpsc::Sender<Command>,
}

/// What comes from the network: messages by their lanes, and everything else.
pub struct Incoming {
    /// Who said what to this peer.
    pub messages: mpsc::Receiver<(PeerId, Lane, Vec<u8>)>,
    /// The same of [`Lane::Urgent`]: where those of other lanes wait to be taken, these need not.
    pub urgent: mpsc::Receiver<(PeerId, Lane, Vec<u8>)>,
    /// What else happened.
    pub events: mpsc::Receiver<Event>,
}

impl Handle {
    /// This peer's name.
    pub fn me(&self) -> PeerId {
        self.me
    }

    /// Sends a message when its turn comes; never waits. It may be lost on the way without a word.
    ///
    /// # Errors
    /// [`Unsent`], if it is dropped at once.
    pub fn send(&self, to: PeerId, lane: Lane, message: Vec<u8>) -> Result<(), Unsent> {
        self.outbound.send(to, lane, message)
    }

    /// Says something to all peers.
    pub async fn gossip(&self, topic: usize, bytes: Vec<u8>) {
        self.command(Command::Gossip(topic, bytes)).await;
    }

    /// Says whether gossip may be passed on.
    pub async fn judge(&self, ticket: Ticket, verdict: Verdict) {
        self.command(Command::Judge(ticket, verdict)).await;
    }

    /// Where a peer says that it is.
    pub async fn know(&self, peer: PeerId, addresses: Vec<Multiaddr>) {
        self.command(Command::Know(peer, addresses)).await;
    }

    /// A peer is dead or gone: lookups do not ask it any more, which would cost each ten seconds.
    pub async fn forget(&self, peer: PeerId) {
        self.command(Command::Forget(peer)).await;
    }

    /// To whom connections are wanted; they are made again when they break.
    pub async fn keep(&self, peers: BTreeSet<PeerId>) {
        self.command(Command::Keep(peers)).await;
    }

    /// Never to talk to a peer, or again.
    pub async fn block(&self, peer: PeerId, blocked: bool) {
        self.command(Command::Block(peer, blocked)).await;
    }

    /// The addresses of a peer, by asking those whose names are nearest to its: none if nobody knows.
    pub async fn resolve(&self, peer: PeerId) -> Vec<Multiaddr> {
        let (to, answer) = oneshot::channel();
        self.command(Command::Resolve(peer, to)).await;
        answer.await.unwrap_or_default()
    }

    /// How things stand; none if the network has stopped.
    pub async fn status(&self) -> Option<Status> {
        let (to, answer) = oneshot::channel();
        self.command(Command::Status(to)).await;
        answer.await.ok()
    }

    /// Closes all connections.
    pub async fn stop(&self) {
        let (to, done) = oneshot::channel();
        self.command(Command::Stop(to)).await;
        let _ = done.await;
    }

    async fn command(&self, command: Command) {
        // A network that has stopped needs no commands.
        let _ = self.commands.send(command).await;
    }
}
