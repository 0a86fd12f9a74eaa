//! What a search over all peers promises, with peers in one process and a network under tokio's own time.

mod cost;
mod hostile;
mod net;
mod swarm;

use super::*;
use crate::api::types::SearchResults;
use anthill_index::{Query, SearchOptions};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;
use std::time::Duration;
use swarm::{Swarm, assert_same, peer, query, request, search};

/// Well below the patience with one peer.
const SOON: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn any_share_of_slots_gives_the_answer_of_one_index() {
    let mut hits = 0;
    for (seed, peers, copies) in [(1, 1, 1), (2, 2, 2), (3, 3, 2), (4, 5, 3)] {
        let swarm = Swarm::new(seed, 300, peers, copies);
        let central = swarm.central(|_| true);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for n in 0..16 {
            let query = query(&mut rng, n);
            let (right, _) = search(&central, &query).await;
            let (results, took) = search(&swarm.peers[n % peers], &query).await;
            assert_same(&results, &right, &format!("seed {seed}, {query:?}"));
            let coverage = results.coverage;
            assert!(coverage.complete && coverage.slots_missing == 0, "{coverage:?}");
            assert_eq!((coverage.peers_asked, coverage.peers_answered), (peers as u64, peers as u64));
            assert!(took < SOON, "{took:?}");
            hits += results.hits.len();
        }
    }
    assert!(hits > 200, "queries that match little prove little: {hits}");
}

#[tokio::test(start_paused = true)]
async fn one_peer_by_rounds_says_what_its_index_says() {
    let swarm = Swarm::new(7, 300, 1, 1);
    assert!(swarm.peers[0].is_alone());
    let searcher = swarm.peers[0].shard.searcher();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut grouped, mut marked) = (0, 0);
    for n in 0..24 {
        let request = query(&mut rng, n);
        let options = SearchOptions { languages: request.languages.clone(), ..SearchOptions::default() };
        let query = Query::parse(&request.query);
        let right = searcher.search(&query, request.n, request.offset, &options).unwrap();
        let (results, _) = search(&swarm.peers[0], &request).await;
        assert_eq!(results.total, right.total, "{request:?}");
        assert_eq!(results.hits.len(), right.hits.len(), "{request:?}");
        for (hit, right) in results.hits.iter().zip(&right.hits) {
            assert_eq!((&hit.url, &hit.title, &hit.lang), (&right.url, &right.title, &right.lang));
            assert_eq!(hit.score, f64::from(right.score), "{request:?}");
            assert!(hit.also.iter().eq(right.also.iter().map(|also| &also.url)), "{request:?}");
            grouped += hit.also.len();
        }
        marked += results.hits.iter().filter(|hit| hit.snippet.contains("<b>")).count();
    }
    assert!(marked > 100, "{marked}");
    assert!(grouped > 50, "duplicates that are not there prove nothing: {grouped}");
}

#[tokio::test(start_paused = true)]
async fn who_hangs_is_replaced_and_costs_one_query_alone() {
    let swarm = Swarm::new(11, 300, 4, 2);
    let central = swarm.central(|_| true);
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    swarm.net.change(|weather| weather.hung.extend([peer(2)]));
    let deadline = Config::default().deadline;
    for n in 0..8 {
        let query = query(&mut rng, n);
        let (right, _) = search(&central, &query).await;
        let (results, took) = search(&swarm.peers[0], &query).await;
        assert_same(&results, &right, &format!("{query:?}"));
        assert!(results.coverage.complete, "{:?}", results.coverage);
        assert!(took < if n == 0 { deadline } else { SOON }, "query {n}: {took:?}");
        assert_eq!(results.coverage.peers_asked, if n == 0 { 4 } else { 3 });
    }
    // It is there again: a probe tells, and it answers for its share.
    swarm.net.change(|weather| weather.hung.clear());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let query = query(&mut rng, 0);
    search(&swarm.peers[0], &query).await;
    tokio::time::sleep(SOON).await;
    let (results, took) = search(&swarm.peers[0], &query).await;
    assert!(results.coverage.peers_answered == 4 && took < SOON, "{:?} {took:?}", results.coverage);
}

#[tokio::test(start_paused = true)]
async fn without_another_copy_the_answer_says_what_is_missing() {
    let swarm = Swarm::new(12, 300, 4, 1);
    let lost = swarm.share(2);
    let rest = swarm.central(|slot| !lost.contains(slot));
    let documents = swarm.table.documents(&lost);
    assert!(documents > 20);
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    swarm.net.change(|weather| weather.hung.extend([peer(2)]));
    for n in 0..6 {
        let query = query(&mut rng, n);
        let (right, _) = search(&rest, &query).await;
        let (results, took) = search(&swarm.peers[0], &query).await;
        assert_same(&results, &right, &format!("{query:?}"));
        let coverage = results.coverage;
        assert!(!coverage.complete);
        assert_eq!((coverage.slots_missing, coverage.documents_missing), (lost.len() as u64, documents));
        assert_eq!(coverage.peers_answered, 3);
        assert!(took < if n == 0 { Config::default().deadline } else { SOON }, "query {n}: {took:?}");
    }
    swarm.net.change(|weather| {
        weather.hung.clear();
        weather.gone.insert(peer(3));
    });
    let (results, took) = search(&swarm.peers[1], &query(&mut rng, 0)).await;
    assert_eq!(results.coverage.slots_missing, swarm.share(3).len() as u64);
    assert!(took < SOON, "who cannot be reached is not waited for: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn whatever_is_lost_doubled_or_late_an_answer_that_says_it_is_complete_is() {
    let swarm = Swarm::new(13, 200, 4, 3);
    let central = swarm.central(|_| true);
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut complete = 0;
    for n in 0..60 {
        swarm.net.change(|weather| {
            weather.lost = [0.0, 0.02, 0.1][n % 3];
            weather.twice = 0.2;
            weather.slow = Duration::from_millis([10, 120, 300][n / 3 % 3]);
        });
        let query = query(&mut rng, n);
        let (right, _) = search(&central, &query).await;
        let (results, took) = search(&swarm.peers[n % 4], &query).await;
        assert!(took <= Config::default().deadline + Duration::from_millis(2), "{took:?}");
        let coverage = results.coverage;
        if coverage.complete {
            complete += 1;
            let mut results = results;
            // Passages that did not come in time are empty.
            for (hit, right) in results.hits.iter_mut().zip(&right.hits) {
                if hit.snippet.is_empty() {
                    hit.snippet.clone_from(&right.snippet);
                }
            }
            assert_same(&results, &right, &format!("{n}: {query:?}"));
        } else {
            assert!(coverage.slots_missing > 0 && results.total <= right.total, "{coverage:?}");
        }
        tokio::time::sleep(Duration::from_secs(if n % 4 == 0 { 61 } else { 1 })).await;
    }
    assert!(complete >= 20, "{complete}");
}

#[tokio::test(start_paused = true)]
async fn the_best_so_far_are_told_as_they_come() {
    let swarm = Swarm::new(14, 200, 3, 2);
    swarm.net.change(|weather| weather.slow = Duration::from_millis(60));
    let (first, mut so_far) = tokio::sync::mpsc::channel::<SearchResults>(16);
    let asked = Asked { request: request("wall", 10, 0, &[]), hides: None, first: Some(first) };
    let results = swarm.peers[0].search(asked).await.unwrap();
    let mut told = Vec::new();
    while let Ok(some) = so_far.try_recv() {
        told.push(some);
    }
    assert_eq!(told.len(), 3, "one for each peer that answered");
    assert!(
        told.iter().all(|some| !some.coverage.complete && some.hits.iter().all(|h| h.snippet.is_empty()))
    );
    assert!(told.windows(2).all(|two| two[0].total <= two[1].total));
    let urls = |results: &SearchResults| results.hits.iter().map(|h| h.url.clone()).collect::<Vec<_>>();
    assert_eq!(urls(&told[2]), urls(&results));
    assert!(results.coverage.complete && results.hits.iter().all(|hit| !hit.snippet.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn what_is_hidden_makes_room_for_others() {
    let swarm = Swarm::new(15, 200, 3, 2);
    let central = swarm.central(|_| true);
    let text = "wall walling";
    let all = central.shard.searcher().search(&Query::parse(text), 40, 0, &SearchOptions::default()).unwrap();
    let hidden: Vec<String> = all.hits.iter().step_by(2).take(15).map(|hit| hit.url.clone()).collect();
    let hides: Hides = Arc::new(move |url| hidden.iter().any(|other| other == url));
    let shown = |peer: &Arc<Coordinator<_>>, offset: usize| {
        let asked =
            Asked { request: request(text, 10, offset, &[]), hides: Some(Arc::clone(&hides)), first: None };
        let peer = Arc::clone(peer);
        async move { peer.search(asked).await.unwrap() }
    };
    for offset in [0, 10] {
        let results = shown(&swarm.peers[1], offset).await;
        assert_same(&results, &shown(&central, offset).await, "one that has all");
        assert_eq!((results.hits.len(), results.hits[0].rank), (10, offset as u64 + 1));
        assert!(results.hits.iter().all(|hit| !hides(&hit.url)) && results.total < all.total);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_of_anybody_for_nothing_and_too_many_queries_are_refused() {
    let swarm = Swarm::new(16, 60, 3, 2);
    let (results, _) = search(&swarm.peers[0], &request("-only", 10, 0, &[])).await;
    assert!(results.hits.is_empty() && results.coverage.complete && !results.notes.is_empty());
    assert_eq!(swarm.net.sent(&peer(1)), 0);
    swarm.net.change(|weather| weather.hung.extend([peer(1), peer(2)]));
    let one = || {
        let peer = Arc::clone(&swarm.peers[0]);
        let asked = Asked { request: request("wall", 10, 0, &[]), hides: None, first: None };
        tokio::spawn(async move { peer.search(asked).await.is_ok() })
    };
    let all: Vec<_> = (0..MAX_QUERIES + 5).map(|_| one()).collect();
    let mut answered = 0;
    for query in all {
        answered += usize::from(query.await.unwrap());
    }
    assert_eq!(answered, MAX_QUERIES);
    let (results, _) = search(&swarm.peers[0], &request("wall", 10, 0, &[])).await;
    assert_eq!(results.coverage.peers_answered, 1, "room again");
}
