//! Claims.

use super::{assert_lines, slot, token};
use anthill_protocol::claim::{
    Claim, FORCE_JUMP, Give, Grant, How, Message, Mint, Part, Position, Record, Root, Run, Token,
};
use anthill_protocol::peer::{Keys, PeerKey, testing::Keyring};
use anthill_protocol::signed::{Signable, Signed};
use anthill_protocol::wire::encode;

fn a() -> Keyring {
    Keyring::numbered(1)
}

fn b() -> Keyring {
    Keyring::numbered(2)
}

fn signed<T: Signable>(body: T, keys: &Keyring) -> Signed<T> {
    Signed::sign(body, keys).expect("its own")
}

fn own(counter: u64) -> Token {
    Token { counter, minter: b().own() }
}

fn give() -> Signed<Give> {
    let by = a().own();
    signed(Give { by, slot: slot(300), token: Token { counter: 64, minter: by }, to: b().own() }, &a())
}

fn grant() -> Signed<Grant> {
    signed(Grant { by: a().own(), slot: slot(300), ballot: own(128), seen: Some(token()) }, &a())
}

fn mint(counter: u64, base: Option<Vec<PeerKey>>, how: How) -> Signed<Mint> {
    let mut set = vec![a().own(), b().own()];
    set.sort_unstable();
    let claim = Claim { slot: slot(300), token: own(counter), holder: b().own(), set };
    signed(Mint { claim, base, root: Root([7; 16]), how }, &b())
}

fn messages() -> Vec<(&'static str, Message)> {
    let (slot, round, counter) = (slot(300), 1 << 40, 70_000);
    let position = Some(Position { token: own(64), seq: 9, log: 5 });
    let part = |part| Message::Parts(vec![part]);
    vec![
        ("prepare", part(Part::Prepare { slot, ballot: own(128), known: Some(token()) })),
        (
            "promise",
            part(Part::Promise {
                grant: grant(),
                mint: Some(mint(1, None, How::Founded)),
                established: true,
                position,
            }),
        ),
        (
            "propose",
            part(Part::Propose { mint: mint(65, Some(vec![b().own()]), How::Changed(own(64))), round }),
        ),
        ("accepted", part(Part::Accepted { slot, counter, round })),
        (
            "refuse",
            part(Part::Refuse {
                slot,
                asked: own(128),
                highest: Some(token()),
                wait_ms: 300,
                mint: Some(mint(FORCE_JUMP, None, How::Forced)),
            }),
        ),
        ("settled", part(Part::Settled { slot, counter })),
        ("handoff", part(Part::Handoff { give: give(), mint: mint(128, None, How::Granted(vec![grant()])) })),
        ("ask", part(Part::Ask(slot))),
        ("moved", part(Part::Moved(mint(65, None, How::Handed(Box::new(give())))))),
        ("revoke", part(Part::Revoke { slot, token: token() })),
        ("renew", Message::Renew { round, runs: vec![Run { first: slot, more: 300, counter }] }),
        ("renewed", Message::Renewed { round, refused: vec![slot] }),
        ("hints", Message::Hints(vec![Run { first: slot, more: 0, counter }])),
    ]
}

#[test]
fn messages_and_records_are_what_they_were() {
    let mut all: Vec<_> = messages().iter().map(|(name, message)| (*name, message.encode())).collect();
    let record = Record {
        promised: Some(own(192)),
        mint: Some(mint(65, None, How::Handed(Box::new(give())))),
        established: true,
        given: Some(Box::new(give())),
    };
    all.push(("record", encode(&record)));
    all.push(("record-of-nothing", encode(&Record::default())));
    assert_lines(&all, include_str!("claim.hex"));
    for (_, message) in messages() {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn roots_are_what_they_were() {
    let root = Root::of(&token(), 1 << 40);
    assert_eq!(super::hex(&root.0), "9e97e89564e321ddfbcfb999904f3e9a");
}
