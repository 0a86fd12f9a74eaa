//! Crawls.

use super::{golden, token};
use anthill_protocol::epidemic;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{Keys, testing::Keyring};
use anthill_protocol::registry::book::Told;
use anthill_protocol::registry::over::{Group, served};
use anthill_protocol::registry::{
    Agreed, Begun, Counts, CrawlKey, Ended, Item, Message, Quiet, Register, Scope, Spec, Why,
};
use anthill_protocol::signed::Signed;

fn begun() -> Begun {
    let spec = Spec {
        seeds: vec!["http://a.test/".into()],
        more_seeds: 0,
        scope: Scope::Prefix,
        max_depth: Some(3),
        max_pages: Some(70_000),
        max_sites: None,
        max_time_s: Some(60),
    };
    Begun { starter: Keyring::numbered(1).own(), nonce: 1 << 40, started_s: 1_700_000_000, spec }
}

fn crawl() -> Item {
    let keys = Keyring::numbered(1);
    let ended = Ended { at_s: 1_700_000_060, by: keys.own(), crawl: begun().key(), why: Why::Time };
    let begun = Signed::sign(begun(), &keys).expect("own");
    Item::Crawl(Box::new(Told { begun, ended: Some(Signed::sign(ended, &keys).expect("own")) }))
}

fn register() -> Item {
    let keys = Keyring::numbered(2);
    let counts = Counts { admitted: 300, fetched: 200, failed: 1, excluded: 2, waiting: 97 };
    let register = Register {
        crawl: CrawlKey([7; 16]),
        by: keys.own(),
        generation: 1 << 50,
        seq: 9,
        counts,
        quiet: Some(Quiet { epoch: 5, served: 6 }),
        agreed: Some(Agreed { digest: 8, away: 1 }),
    };
    Item::Register(Box::new(Signed::sign(register, &keys).expect("own")))
}

#[test]
fn a_crawl() {
    golden(
        &crawl(),
        "0100a5130ccf2e0e56a3e718670d1911de1ee418ece73f47f16e1364fecc08480946fd0000000000010000fc00f15365010e687474703a2f2f612e746573742f0002010301fc7011010000013cb4ae59bb05fd44ef05278ec929099a6fd60842e3dcc388116c8d91855bfaa8601ddc9c57015a72a1d924bc57efabaa34fa255d2974ada20b3a53bebe9a2babc001fc3cf15365a5130ccf2e0e56a3e718670d1911de1ee418ece73f47f16e1364fecc08480946379191a957b8769d1765d3a3af868e7102881ce34b0fb7565291e17310fb317a4781c534913b72d8b92ddebc38fc35ca95d2acf4818359a545a226a628276c2f7d5aa200f49d4c7a771c6b51658b85c757",
    );
}

#[test]
fn a_register() {
    golden(
        &register(),
        "010107070707070707070707070707070707ca8ff3d616381ef0170eb27f7841d0493332d11fae83e6710444e34d03746a24fd000000000000040009fb2c01c8010261010506010801c8fae3c5f9450472d15510f4eb2bd1d6dc369f9cc3e4cc71aaa65a7c980d92bb3f2890b20e027f7b253391ad43e7cc301174e4861716086a313182994bc38db6",
    );
}

#[test]
fn messages() {
    golden(&Message::Ask(vec![begun().key().tag()]), "010101fd0ef72a3532f20600");
    golden(&Message::Spread(epidemic::Message::Same { session: 1 << 40 }), "010002fd0000000000010000");
}

#[test]
fn names_and_digests() {
    let slot = Slot::new(16_383).expect("a slot");
    let quiet = Quiet { epoch: 5, served: 6 };
    let group = Group([(Keyring::numbered(1).own(), (7, quiet))].into());
    assert_eq!(
        (begun().key().to_string().as_str(), served(slot, token()), group.digest()),
        ("379191a957b8769d1765d3a3af868e71", 1_362_362_337_650_877_549, 1_335_529_163_776_080_333)
    );
}
