//! Peers that lie, and strangers.

use super::net::Lie;
use super::swarm::{Swarm, assert_same, peer, query, request, search};
use crate::search::Config;
use crate::search::message::{Gives, Hits, Message, Passage, Reply};
use anthill_index::Statistics;
use anthill_protocol::plan::SlotSet;
use anthill_protocol::plan::message::Answer;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

fn reply(reply: Reply) -> Vec<Message> {
    vec![Message::Reply(Box::new(reply))]
}

/// The same reply with other hits.
fn with_hits(mut honest: Reply, change: fn(&mut Hits)) -> Vec<Message> {
    if let Gives::Hits(hits) = &mut honest.gives {
        change(hits);
    }
    reply(honest)
}

/// Lies that are seen through: another copy answers, and the answer is as if the liar hung.
const SEEN_THROUGH: [(&str, Lie); 10] = [
    ("for all slots", |mut honest| {
        honest.answer.slots = SlotSet::all();
        reply(honest)
    }),
    ("to another query", |mut honest| {
        honest.answer.query += 1;
        reply(honest)
    }),
    ("to another round", |mut honest| {
        honest.answer.phase ^= 1;
        reply(honest)
    }),
    ("of another kind", |honest| reply(Reply { gives: Gives::Passages(Vec::new()), ..honest })),
    ("nothing, for all that was asked", |honest| reply(Reply { gives: Gives::Nothing, ..honest })),
    ("scores that are no numbers", |honest| {
        with_hits(honest, |hits| hits.best.iter_mut().for_each(|found| found.score = f32::NAN))
    }),
    ("out of order", |honest| with_hits(honest, |hits| hits.best.reverse())),
    ("pages of other slots", |honest| {
        with_hits(honest, |hits| hits.best.iter_mut().for_each(|found| found.key[0] ^= 0x80))
    }),
    ("scripts instead of pages", |honest| {
        with_hits(honest, |hits| {
            hits.best.iter_mut().for_each(|found| found.url = "javascript:alert(1)".into())
        })
    }),
    ("more than was asked for", |honest| {
        with_hits(honest, |hits| {
            let last = hits.best.last().cloned();
            hits.best.extend(last.into_iter().cycle().take(9_000).zip(1u32..).map(|(mut found, n)| {
                found.score = 1.0 / n as f32;
                found
            }));
        })
    }),
];

#[tokio::test(start_paused = true)]
async fn lies_that_are_seen_through_change_nothing() {
    let swarm = Swarm::new(21, 200, 3, 2);
    let central = swarm.central(|_| true);
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    for (what, lie) in SEEN_THROUGH {
        swarm.net.change(|weather| weather.liars.extend([(peer(1), lie)]));
        // Whoever was found out before is tried again.
        tokio::time::sleep(Duration::from_secs(61)).await;
        let query = query(&mut rng, 4);
        let (right, _) = search(&central, &query).await;
        let (results, took) = search(&swarm.peers[0], &query).await;
        assert!(right.hits.len() > 5);
        assert_same(&results, &right, what);
        assert!(results.coverage.complete, "{what}: {:?}", results.coverage);
        assert!(took < Config::default().deadline, "{what}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn other_lies_are_bounded() {
    let swarm = Swarm::new(22, 200, 3, 2);
    let central = swarm.central(|_| true);
    let request = request("wall", 10, 0, &[]);
    let (right, _) = search(&central, &request).await;
    let absurd: Lie = |mut honest| {
        if let Gives::Statistics(statistics) = &mut honest.gives {
            let all = statistics.pages.keys().map(|term| (term.clone(), u64::MAX)).collect();
            *statistics = Statistics {
                documents: u64::MAX,
                tokens: [u64::MAX; 5],
                languages: [("en".to_owned(), u64::MAX), ("no such".to_owned(), 1)].into(),
                pages: all,
                urls: [("unasked".to_owned(), u64::MAX)].into(),
            };
        }
        reply(honest)
    };
    swarm.net.change(|weather| weather.liars.extend([(peer(1), absurd)]));
    let (results, _) = search(&swarm.peers[0], &request).await;
    assert_eq!((results.total, results.hits.len()), (right.total, right.hits.len()));
    assert!(results.hits.iter().all(|hit| hit.score.is_finite()));
    let markup: Lie = |mut honest| {
        if let Gives::Passages(passages) = &mut honest.gives {
            passages.iter_mut().for_each(|p| p.html = "<script>alert(1)</script>".into());
            passages.push(Passage { key: [0; 16], html: "unasked".into() });
        }
        reply(honest)
    };
    swarm.net.change(|weather| weather.liars.extend([(peer(1), markup)]));
    let (results, _) = search(&swarm.peers[2], &request).await;
    let mut without = 0;
    for (hit, right) in results.hits.iter().zip(&right.hits) {
        assert!(hit.snippet.is_empty() || hit.snippet == right.snippet);
        without += usize::from(hit.snippet.is_empty());
    }
    assert!(without > 0, "it had none to give");
}

#[tokio::test(start_paused = true)]
async fn strangers_are_not_heard() {
    let swarm = Swarm::new(23, 200, 3, 2);
    let central = swarm.central(|_| true);
    let request = request("wall", 10, 0, &[]);
    let (right, _) = search(&central, &request).await;
    let (home, stranger) = (&swarm.peers[0], peer(77));
    // While a query is under way, somebody who was not asked answers it, before those that were.
    let shouting = async {
        for _ in 0..20 {
            for (number, phase) in (0..9).flat_map(|number| (0..4).map(move |phase| (number, phase))) {
                let answer = Answer {
                    query: number,
                    phase,
                    same_view: true,
                    slots: SlotSet::all(),
                    declined: SlotSet::empty(),
                };
                for gives in [Gives::Statistics(Statistics::default()), Gives::Hits(Hits::default())] {
                    let reply = Message::Reply(Box::new(Reply { answer: answer.clone(), gives }));
                    home.on_message(stranger, &reply.encode()).unwrap();
                }
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let ((results, _), ()) = tokio::join!(search(home, &request), shouting);
    assert!(home.on_message(stranger, b"anything").is_err());
    assert_same(&results, &right, "as if there were none");
    assert_eq!(results.coverage.peers_asked, 3);
}
