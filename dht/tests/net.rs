//! Real networks on loopback: peers find each other, talk, and are lost.

use anthill_dht::{
    Config, Event, Handle, Identity, Incoming, Lane, Multiaddr, PeerId, Reach, SharedKey, Unsent, Verdict,
};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// For what should happen soon, on a loaded machine.
const SOON: Duration = Duration::from_secs(30);

struct Peer {
    handle: Handle,
    incoming: Incoming,
    address: Multiaddr,
    _folder: tempfile::TempDir,
}

impl Peer {
    fn me(&self) -> PeerId {
        self.handle.me()
    }

    /// Waits for something that happens.
    async fn until<T>(&mut self, mut wanted: impl FnMut(Event) -> Option<T>) -> T {
        let waiting = async {
            loop {
                let event = self.incoming.events.recv().await.expect("the network runs");
                if let Some(found) = wanted(event) {
                    return found;
                }
            }
        };
        timeout(SOON, waiting).await.expect("it happens soon")
    }

    async fn up(&mut self, other: PeerId) {
        self.until(|event| matches!(event, Event::Up(peer) if peer == other).then_some(())).await;
    }

    async fn message(&mut self) -> (PeerId, Lane, Vec<u8>) {
        timeout(SOON, self.next()).await.expect("it comes soon")
    }

    async fn next(&mut self) -> (PeerId, Lane, Vec<u8>) {
        let Incoming { messages, urgent, .. } = &mut self.incoming;
        tokio::select! { message = messages.recv() => message, message = urgent.recv() => message }
            .expect("the network runs")
    }

    /// Says something until it is heard: the first messages may be lost while a connection is made.
    async fn tells(&self, other: &mut Peer, lane: Lane, what: &[u8]) {
        let me = self.me();
        let heard = async {
            loop {
                let _ = self.handle.send(other.me(), lane, what.to_vec());
                let waiting = timeout(Duration::from_millis(500), other.next());
                if let Ok((from, by, bytes)) = waiting.await {
                    assert_eq!((from, by, bytes.as_slice()), (me, lane, what));
                    return;
                }
            }
        };
        timeout(SOON, heard).await.expect("it is heard soon");
    }
}

fn config(swarm: &str) -> Config {
    let mut config = Config::of(swarm).expect("a name");
    config.listen = vec!["/ip4/127.0.0.1/tcp/0".parse().expect("an address")];
    config.topics = vec!["news".into()];
    // Addresses are private: nobody confirms them.
    config.server = Some(true);
    config
}

fn identity(folder: &tempfile::TempDir) -> Identity {
    Identity::load_or_create(&folder.path().join("peer.key")).expect("a key")
}

async fn start(config: Config) -> Peer {
    start_as(tempfile::tempdir().expect("a folder"), config).await
}

async fn start_as(folder: tempfile::TempDir, config: Config) -> Peer {
    let (handle, incoming) = anthill_dht::start(&identity(&folder), config).expect("a network");
    let mut peer = Peer { handle, incoming, address: Multiaddr::empty(), _folder: folder };
    let listens = peer.until(|event| match event {
        Event::Address(address) => Some(address),
        _ => None,
    });
    peer.address = listens.await.with_p2p(peer.me()).expect("a whole address");
    peer
}

async fn joined(mut config: Config, others: &[&Peer]) -> Peer {
    config.bootstrap = others.iter().map(|other| other.address.clone()).collect();
    start(config).await
}

#[tokio::test]
async fn two_peers_meet_talk_on_both_lanes_and_know_when_one_goes() {
    for address in ["/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"] {
        let listening = || {
            let mut config = config("two");
            config.listen = vec![address.parse().expect("an address")];
            config
        };
        let mut one = start(listening()).await;
        let mut other = joined(listening(), &[&one]).await;
        one.up(other.me()).await;
        other.up(one.me()).await;
        for lane in Lane::ALL {
            one.tells(&mut other, lane, b"hello").await;
            other.tells(&mut one, lane, &vec![7; 1 << 20]).await;
        }
        let status = one.handle.status().await.expect("it runs");
        assert_eq!(status.peers, [(other.me(), false)]);
        assert!(status.tally.received_bytes >= 2 << 20 && status.tally.sent >= 2, "{status:?}");
        let gone = other.me();
        other.handle.stop().await;
        one.until(|event| matches!(event, Event::Down(peer) if peer == gone).then_some(())).await;
    }
}

#[tokio::test]
async fn who_was_not_there_at_first_is_found_though_others_are_connected() {
    // The simulator found it (`swarm`, seed 34008340, waiting for `cut off`): two that came while the others could not be reached
    // found each other, and looked for nobody else any more.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let folder = tempfile::tempdir().expect("a folder");
    let name = identity(&folder).peer_id();
    let listen: Multiaddr = format!("/ip4/127.0.0.1/tcp/{port}").parse().expect("an address");
    let mut early = config("late");
    early.bootstrap_again = Duration::from_secs(1);
    early.bootstrap = vec![listen.clone().with_p2p(name).expect("a whole address")];
    let mut one = start(early).await;
    let other = joined(config("late"), &[&one]).await;
    one.up(other.me()).await;
    let mut late = config("late");
    late.listen = vec![listen];
    let _late = start_as(folder, late).await;
    one.up(name).await;
}

#[tokio::test]
async fn what_is_too_large_is_not_sent_and_a_full_queue_drops() {
    let one = start(config("large")).await;
    let nobody = start(config("elsewhere")).await.me();
    assert_eq!(one.handle.send(nobody, Lane::Bulk, vec![0; 2 << 20]), Err(Unsent::TooLarge(2 << 20)));
    let mut full = false;
    for _ in 0..64 {
        full |= one.handle.send(nobody, Lane::Bulk, vec![0; 1 << 20]) == Err(Unsent::Full);
    }
    assert!(full, "there is an end to what waits");
}

#[tokio::test]
async fn who_is_of_another_swarm_is_nobody() {
    let mut one = start(config("ants")).await;
    let mut other = joined(config("bees"), &[&one]).await;
    let quiet = |event| match event {
        Event::Up(peer) => panic!("{peer} is up"),
        _ => None::<()>,
    };
    let both = async { tokio::join!(one.until(quiet), other.until(quiet)) };
    assert!(timeout(Duration::from_secs(3), both).await.is_err());
}

#[tokio::test]
async fn a_shared_key_keeps_strangers_out_and_quic_off() {
    let private = |key: u8| Config { shared_key: Some(SharedKey([key; 32])), ..config("private") };
    let mut one = start(private(1)).await;
    let mut friend = joined(private(1), &[&one]).await;
    one.up(friend.me()).await;
    friend.up(one.me()).await;
    assert!(one.handle.status().await.expect("it runs").private);
    let stranger = joined(private(2), &[&one]).await;
    let open = joined(config("private"), &[&one]).await;
    sleep(Duration::from_secs(3)).await;
    for other in [&stranger, &open] {
        assert!(other.handle.status().await.expect("it runs").peers.is_empty());
    }
    let mut quic = private(1);
    quic.listen = vec!["/ip4/127.0.0.1/udp/0/quic-v1".parse().expect("an address")];
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity::load_or_create(&folder.path().join("peer.key")).expect("a key");
    let error = anthill_dht::start(&identity, quic).err().expect("not private").to_string();
    assert!(error.contains("leave out /quic-v1"), "{error}");
}

#[tokio::test]
async fn gossip_reaches_all_once_it_is_judged_and_says_who_spoke() {
    let mut first = start(config("gossip")).await;
    let mut middle = joined(config("gossip"), &[&first]).await;
    let mut last = joined(config("gossip"), &[&middle]).await;
    first.up(middle.me()).await;
    last.up(middle.me()).await;
    // Meshes form within some heartbeats.
    sleep(Duration::from_secs(3)).await;
    let mut heard = BTreeSet::new();
    for (number, verdict) in [(1, Verdict::Good), (2, Verdict::Ignored), (3, Verdict::Good)] {
        first.handle.gossip(0, vec![number]).await;
        let said = middle.until(|event| match event {
            Event::Gossip { from, bytes, ticket, topic: 0 } => Some((from, bytes, ticket)),
            _ => None,
        });
        let (from, bytes, ticket) = said.await;
        assert_eq!((from, bytes), (first.me(), vec![number]));
        // The last one may know the first by now, and hear it itself: then it hears the second, too.
        middle.handle.judge(ticket, verdict).await;
    }
    while !heard.contains(&3) {
        let (from, bytes, ticket) = last
            .until(|event| match event {
                Event::Gossip { from, bytes, ticket, .. } => Some((from, bytes, ticket)),
                _ => None,
            })
            .await;
        assert_eq!(from, first.me());
        last.handle.judge(ticket, Verdict::Good).await;
        heard.insert(bytes[0]);
    }
    assert!(heard.contains(&1));
}

#[tokio::test]
async fn a_newcomer_that_knows_one_address_finds_another_after_that_one_is_dead() {
    let first = start(config("lookup")).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        let mut other = joined(config("lookup"), &[&first]).await;
        other.up(first.me()).await;
        others.push(other);
    }
    let mut fresh = joined(config("lookup"), &[&first]).await;
    fresh.up(first.me()).await;
    // Each knows the others once it has looked.
    for other in &others {
        let mut found = Vec::new();
        for _ in 0..20 {
            found = fresh.handle.resolve(other.me()).await;
            if !found.is_empty() {
                break;
            }
            sleep(Duration::from_millis(200)).await;
        }
        assert!(found.iter().any(|address| other.address.to_string().starts_with(&address.to_string())));
    }
    first.handle.stop().await;
    let mut late = others.pop().expect("three");
    let (wanted, known) = (others[0].me(), others[1].address.clone());
    let mut next = config("lookup");
    next.bootstrap = vec![known];
    let mut newest = start(next).await;
    newest.up(others[1].me()).await;
    assert!(!newest.handle.resolve(wanted).await.is_empty(), "another knows it, too");
    // And what is resolved can be talked to.
    newest.tells(&mut others[0], Lane::Control, b"found").await;
    newest.handle.resolve(late.me()).await;
    newest.tells(&mut late, Lane::Control, b"found").await;
}

#[tokio::test]
async fn one_that_does_not_listen_holds_up_nobody_else() {
    let mut one = start(config("slow")).await;
    let mut deaf = joined(config("slow"), &[&one]).await;
    let mut well = joined(config("slow"), &[&one]).await;
    deaf.up(one.me()).await;
    well.up(one.me()).await;
    one.tells(&mut well, Lane::Control, b"before").await;
    let mut refused = 0;
    for _ in 0..4_000 {
        let sent = one.handle.send(deaf.me(), Lane::Control, vec![1; 32 << 10]);
        refused += u32::from(sent == Err(Unsent::Full));
    }
    assert!(refused > 0, "128 MB for somebody who takes nothing do not wait here");
    one.tells(&mut well, Lane::Control, b"after").await;
    well.tells(&mut one, Lane::Control, b"answer").await;
    // It hears what was taken for it once it listens.
    assert_eq!(deaf.message().await.2.len(), 32 << 10);
}

#[tokio::test]
async fn what_is_urgent_comes_past_what_nobody_takes() {
    let one = start(config("urgent")).await;
    let mut busy = joined(config("urgent"), &[&one]).await;
    busy.up(one.me()).await;
    one.tells(&mut busy, Lane::Control, b"before").await;
    one.tells(&mut busy, Lane::Urgent, b"before").await;
    for _ in 0..4_000 {
        let _ = one.handle.send(busy.me(), Lane::Control, vec![1; 32 << 10]);
    }
    assert_eq!(one.handle.send(busy.me(), Lane::Urgent, b"now".to_vec()), Ok(()));
    let now = async {
        while let Some((_, lane, bytes)) = busy.incoming.urgent.recv().await {
            assert_eq!(lane, Lane::Urgent);
            if bytes == b"now" {
                return true;
            }
        }
        false
    };
    assert!(timeout(SOON, now).await.expect("it comes soon"));
}

#[tokio::test]
async fn who_cannot_be_reached_is_reached_through_a_relay() {
    let mut relay = start(config("relay")).await;
    let mut hidden = {
        let mut config = config("relay");
        config.listen = vec!["/ip4/127.0.0.1/tcp/0".parse().expect("an address")];
        config.server = Some(false);
        joined(config, &[&relay]).await
    };
    relay.up(hidden.me()).await;
    let through = hidden.until(|event| match event {
        Event::Address(address) if address.to_string().contains("p2p-circuit") => Some(address),
        _ => None,
    });
    let through = through.await;
    let status = hidden.handle.status().await.expect("it runs");
    assert_eq!((status.reach, status.relays), (Reach::Closed, vec![relay.me()]));
    let mut other = joined(config("relay"), &[&relay]).await;
    other.up(relay.me()).await;
    other.handle.know(hidden.me(), vec![through]).await;
    other.tells(&mut hidden, Lane::Control, b"knock").await;
}
