use super::assert_golden;
use anthill_protocol::member::{Address, MemberRecord, Transport};
use anthill_protocol::peer::testing::Keyring;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::signed::Signed;
use anthill_protocol::time::Instant;
use anthill_protocol::view::message::{BUCKETS, Claim, Entry, News, Stand, Word};
use anthill_protocol::view::{Electors, Goodbye, Incarnation, LastStand, Message, Stored, Witnessed};
use anthill_protocol::wire::encode;

fn incarnation(sequence: u64) -> Incarnation {
    Incarnation { generation: 1 << 40, sequence }
}

fn record() -> Signed<MemberRecord> {
    let keys = Keyring::numbered(1);
    let ip = "192.0.2.7".parse().expect("an address");
    let address = Address::Direct { ip, port: 4_000, transport: Transport::Quic };
    let addresses = vec![address, Address::Relayed { by: PeerKey([3; 32]) }];
    let first = MemberRecord::first(keys.own(), addresses, true, 64, Instant(1 << 50));
    Signed::sign(MemberRecord { generation: 1 << 40, sequence: 300, ..first }, &keys).expect("its own")
}

fn goodbye() -> Signed<Goodbye> {
    let keys = Keyring::numbered(2);
    let attempts = std::array::from_fn(|place| [1 << 50, 9].get(place).copied().unwrap_or(0));
    let stand = LastStand { number: 7, digest: 8, attempts };
    Signed::sign(Goodbye { peer: keys.own(), incarnation: incarnation(4), stand }, &keys).expect("its own")
}

fn news() -> News {
    let keys = Keyring::numbered(1);
    let subject = Keyring::numbered(2).own();
    let word = Witnessed { witness: keys.own(), subject, incarnation: incarnation(3) };
    let witnesses = vec![Signed::sign(word, &keys).expect("its own")];
    News { records: vec![record()], witnesses, goodbyes: vec![goodbye()] }
}

#[test]
fn messages_keep_their_bytes() {
    let (a, b) = (PeerKey([1; 32]), PeerKey([2; 32]));
    let word = Word {
        incarnation: incarnation(300),
        stand: Stand { number: 7, digest: 8, attempt: 1 << 50, others: vec![1 << 51] },
    };
    let entry = |peer, claim| Entry { peer, incarnation: incarnation(1), digest: 9, claim };
    let (nonce, session) = (1 << 33, 1 << 60);
    let entries = vec![entry(a, Claim::Live), entry(b, Claim::Down), entry(PeerKey([3; 32]), Claim::Left)];
    for (name, message, golden) in [
        (
            "ping",
            Message::Ping { nonce, word: word.clone(), news: News::default() },
            "0400fd0000000002000000fd0000000000010000fb2c010708fd000000000000040001fd0000000000000800000000",
        ),
        (
            "ack",
            Message::Ack { nonce, word, news: news() },
            "0401fd0000000002000000fd0000000000010000fb2c010708fd000000000000040001fd000000000000080001a5130ccf2e0e56a3e718670d1911de1ee418ece73f47f16e1364fecc08480946fd0000000000010000fb2c01020000c0000207fba00f010103030303030303030303030303030303030303030303030303030303030303030140fd000000000000040000282f624b74f59ebd807eb7e391ce639610d6daba90ad38495aa20d7a8ddb146bc9ae82fa245eb9cade062a58f3caed429256db7802b071aec558d357080ecee801a5130ccf2e0e56a3e718670d1911de1ee418ece73f47f16e1364fecc08480946ca8ff3d616381ef0170eb27f7841d0493332d11fae83e6710444e34d03746a24fd00000000000100000378ec411e9a1789bed3f8cd20dbd58cab23517422194e5a3f47d32b00dc21e1945e30ff5fc0d83a1ba9e3601f71e0dc203ece30702d84133c181edaa7091e2efb01ca8ff3d616381ef0170eb27f7841d0493332d11fae83e6710444e34d03746a24fd0000000000010000040708fd000000000000040009000000000000000000000000000000000000000000000000000000000000ad56c4b36a8f57148ecca2481b243f872c94d3f4ef1ffccf2bbf027e9bdbdaf6f0045ec1507575119f5a0e3507fc90fded59ac78ec8b5e04f631cec0f50b2c50",
        ),
        (
            "ping-for",
            Message::PingFor { nonce, target: a },
            "0402fd00000000020000000101010101010101010101010101010101010101010101010101010101010101",
        ),
        (
            "reached",
            Message::Reached { nonce, target: a },
            "0403fd00000000020000000101010101010101010101010101010101010101010101010101010101010101",
        ),
        ("news", Message::News(News::default()), "0404000000"),
        (
            "compare",
            Message::Compare { session, buckets: vec![5; BUCKETS], after: Some(a) },
            "0405fd00000000000000104005050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505010101010101010101010101010101010101010101010101010101010101010101",
        ),
        (
            "listing",
            Message::Listing { session, entries, done: true },
            "0406fd0000000000000010030101010101010101010101010101010101010101010101010101010101010101fd00000000000100000109000202020202020202020202020202020202020202020202020202020202020202fd00000000000100000109010303030303030303030303030303030303030303030303030303030303030303fd000000000001000001090201",
        ),
        (
            "want",
            Message::Want { session, peers: vec![a, b] },
            "0407fd00000000000000100201010101010101010101010101010101010101010101010101010101010101010202020202020202020202020202020202020202020202020202020202020202",
        ),
        ("items", Message::Items { session, news: News::default() }, "0408fd0000000000000010000000"),
        ("want-electors", Message::WantElectors, "0409"),
        (
            "electors",
            Message::Electors { number: 3, members: vec![a, b] },
            "040a030201010101010101010101010101010101010101010101010101010101010101010202020202020202020202020202020202020202020202020202020202020202",
        ),
        (
            "attempt",
            Message::Attempt { members: vec![a, b] },
            "040b0201010101010101010101010101010101010101010101010101010101010101010202020202020202020202020202020202020202020202020202020202020202",
        ),
    ] {
        assert_golden(name, &message.encode(), golden);
    }
}

#[test]
fn records_on_the_disk_keep_their_bytes() {
    let electors = |n: u8| Electors { number: n.into(), members: vec![PeerKey([n; 32])] };
    let tomb = Stored::Tomb {
        peer: Keyring::numbered(2).own(),
        incarnation: incarnation(4),
        goodbye: Some(goodbye()),
        until: Instant(1 << 51),
    };
    for (name, stored, golden) in [
        (
            "own",
            Stored::Own { record: record().body().clone(), reserved: 1_000 },
            "0300a5130ccf2e0e56a3e718670d1911de1ee418ece73f47f16e1364fecc08480946fd0000000000010000fb2c01020000c0000207fba00f010103030303030303030303030303030303030303030303030303030303030303030140fd000000000000040000fbe803",
        ),
        (
            "electors",
            Stored::Electors { last: Some(electors(1)), attempts: vec![electors(2)] },
            "030101010101010101010101010101010101010101010101010101010101010101010101010102010202020202020202020202020202020202020202020202020202020202020202",
        ),
        (
            "member",
            Stored::Member(record()),
            "0302a5130ccf2e0e56a3e718670d1911de1ee418ece73f47f16e1364fecc08480946fd0000000000010000fb2c01020000c0000207fba00f010103030303030303030303030303030303030303030303030303030303030303030140fd000000000000040000282f624b74f59ebd807eb7e391ce639610d6daba90ad38495aa20d7a8ddb146bc9ae82fa245eb9cade062a58f3caed429256db7802b071aec558d357080ecee8",
        ),
        (
            "tomb",
            tomb,
            "0303ca8ff3d616381ef0170eb27f7841d0493332d11fae83e6710444e34d03746a24fd00000000000100000401ca8ff3d616381ef0170eb27f7841d0493332d11fae83e6710444e34d03746a24fd0000000000010000040708fd000000000000040009000000000000000000000000000000000000000000000000000000000000ad56c4b36a8f57148ecca2481b243f872c94d3f4ef1ffccf2bbf027e9bdbdaf6f0045ec1507575119f5a0e3507fc90fded59ac78ec8b5e04f631cec0f50b2c50fd0000000000000800",
        ),
    ] {
        assert_golden(name, &encode(&stored), golden);
    }
}
