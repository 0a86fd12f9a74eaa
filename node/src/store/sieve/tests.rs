//! Nothing that was admitted is forgotten, whatever becomes of runs, and nothing else is known.

use super::*;
use crate::store::family::Memory;
use anthill_protocol::key::SiteId;

/// Ids in memory before they become a run, in these tests.
const LIMIT: usize = 1_000;

fn id(n: u32) -> UrlId {
    UrlId::of(SiteId::of(&format!("{}.test", n % 5)), &n.to_string())
}

fn open(dir: &std::path::Path) -> Store {
    Store::open(dir, Memory::default()).unwrap()
}

/// Admits what is new of these, in one batch, as the writer does.
fn offer(sieve: &mut Sieve, store: &Store, offered: std::ops::Range<u32>) -> usize {
    let mut ids: Vec<u128> = offered.map(|n| number(&id(n))).collect();
    ids.sort_unstable();
    let mut known = sieve.known(store, &ids).unwrap().into_iter();
    ids.retain(|_| known.next() == Some(false));
    let mut batch = WriteBatch::default();
    sieve.admit(store, &ids, &mut batch);
    store.commit(batch).unwrap();
    sieve.admitted(store, &ids);
    ids.len()
}

fn knows(sieve: &Sieve, store: &Store, n: u32) -> bool {
    sieve.known(store, &[number(&id(n))]).unwrap()[0]
}

#[test]
fn each_id_is_new_once_while_runs_are_made_and_merged_and_after_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let (mut next, mut most) = (0, 0);
    for round in 0..8 {
        // Dropped without a word, at different points of merges.
        let store = open(dir.path());
        let mut sieve = Sieve::with_limit(&store, LIMIT).unwrap();
        for step in 0..20 + round {
            let overlap = next.min(700);
            let new = offer(&mut sieve, &store, next - overlap..next + 300);
            assert_eq!(new, 300, "round {round}, step {step}");
            next += 300;
            most = most.max(sieve.runs.len());
        }
        assert!((0..next).step_by(7).all(|n| knows(&sieve, &store, n)));
        assert!((0..next).step_by(997).all(|n| store.seen(&id(n)).unwrap()));
        assert!((next..next + 3_000).all(|n| !knows(&sieve, &store, n)));
        assert!(!store.seen(&id(next)).unwrap());
    }
    // Three of each size, and those that came while the greatest were merged, and were merged anew after each restart.
    assert!(most <= 16, "{most} runs of {next} ids");
}

#[test]
fn merged_runs_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut sieve = Sieve::with_limit(&store, LIMIT).unwrap();
    for n in 0..60 {
        offer(&mut sieve, &store, n * 200..n * 200 + 200);
    }
    for n in 12_000.. {
        if sieve.merge.is_none() {
            break;
        }
        offer(&mut sieve, &store, n..n + 1);
    }
    assert!(sieve.runs.iter().any(|run| run.listed.ids >= 4 * LIMIT as u64), "none was merged");
    let listed: Vec<_> = sieve.runs.iter().map(|run| run.listed).collect();
    assert_eq!(runs(&store).unwrap().listed, listed);
    assert!(unlisted(&store, &listed).unwrap().is_empty());
    let ids: u64 = listed.iter().map(|run| run.ids).sum();
    assert!(ids + sieve.young.len() as u64 >= 12_000);
}

#[test]
fn a_merge_that_was_broken_off_is_cleared_away() {
    let dir = tempfile::tempdir().unwrap();
    {
        let store = open(dir.path());
        let mut sieve = Sieve::with_limit(&store, LIMIT).unwrap();
        for n in 0..4 {
            let ids: Vec<u128> = (n * 5_000..n * 5_000 + 5_000).map(|n| number(&id(n))).collect();
            let mut batch = WriteBatch::default();
            sieve.admit(&store, &ids, &mut batch);
            store.commit(batch).unwrap();
            sieve.next_batch += 1;
            sieve.young.extend(ids);
            sieve.settle(&store).unwrap();
        }
        // A step only: what it wrote counts for nothing.
        sieve.merge(3_000, &store).unwrap();
        assert!(sieve.merge.is_some());
        assert_eq!(unlisted(&store, &runs(&store).unwrap().listed).unwrap(), [4]);
    }
    let store = open(dir.path());
    let mut sieve = Sieve::with_limit(&store, LIMIT).unwrap();
    assert_eq!((sieve.runs.len(), sieve.next_run), (4, 5));
    for n in 0..5 {
        offer(&mut sieve, &store, 20_000 + n..20_001 + n);
    }
    assert!(unlisted(&store, &runs(&store).unwrap().listed).unwrap().iter().all(|&number| number > 4));
    assert!((0..20_005).step_by(11).all(|n| knows(&sieve, &store, n)));
}

#[test]
fn a_run_without_its_filter_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut sieve = Sieve::with_limit(&store, LIMIT).unwrap();
    offer(&mut sieve, &store, 0..1_500);
    let mut batch = WriteBatch::default();
    run::forget(&store, 0, &mut batch);
    store.commit(batch).unwrap();
    assert!(Sieve::open(&store).is_err());
}
