//! What placement costs: owners of one slot and of all, and a view that changes.
#![allow(missing_docs, reason = "criterion's macros")]

use anthill_protocol::key::Slot;
use anthill_protocol::member::DEFAULT_TOKENS;
use anthill_protocol::peer::Keys;
use anthill_protocol::peer::testing::Keyring;
use anthill_protocol::placement::{Key, Member, Placement};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::net::IpAddr;

/// Every eighth can only be reached through others, and four share a public network.
fn members(peers: u64) -> Vec<Member> {
    let member = |n: u64| {
        let [.., b, c] = (n / 4).to_be_bytes();
        let ip = IpAddr::from([93, b, c, n as u8]);
        Member::new(Keyring::numbered(n).own(), DEFAULT_TOKENS, !n.is_multiple_of(8), [ip])
    };
    (0..peers).map(member).collect()
}

fn owners(c: &mut Criterion) {
    for peers in [20, 200, 1000] {
        let placement = Placement::of(members(peers));
        c.bench_function(&format!("owners of a slot, {peers} peers, r = 3"), |b| {
            let mut number = 0_u16;
            b.iter(|| {
                number = number.wrapping_add(4099);
                let slot = Slot::new(number >> 2);
                slot.map(|slot| placement.owners_of(Key::of_slot(black_box(slot)), 3))
            });
        });
    }
    let crowd = members(200)
        .into_iter()
        .map(|m| Member::new(m.peer(), m.tokens(), true, [[93, 184, 216, 34].into()]));
    let placement = Placement::of(crowd);
    c.bench_function("owners of all slots, 200 peers of one network, r = 3", |b| {
        b.iter(|| Slot::all().for_each(|slot| _ = black_box(placement.owners_of(Key::of_slot(slot), 3))));
    });
    let placement = Placement::of(members(200));
    c.bench_function("owners of all slots, 200 peers, r = 3", |b| {
        b.iter(|| Slot::all().for_each(|slot| _ = black_box(placement.owners_of(Key::of_slot(slot), 3))));
    });
    c.bench_function("owners of all slots, 200 peers, r = 3, found out before", |b| {
        b.iter(|| Slot::all().for_each(|slot| _ = black_box(placement.owners(slot, 3))));
    });
}

fn views(c: &mut Criterion) {
    let members = members(1000);
    c.bench_function("placement of 1000 peers", |b| b.iter(|| Placement::of(members.iter().cloned())));
    let before = Placement::of(members[1..].iter().cloned());
    c.bench_function("one joins 999 peers", |b| b.iter(|| before.updated(members.iter().cloned())));
}

criterion_group!(benches, owners, views);
criterion_main!(benches);
