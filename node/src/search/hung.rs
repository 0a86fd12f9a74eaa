//! Who did not answer lately: they are not asked at first, so that one that hangs costs one query its time and not every one.
//! They are probed beside queries, with a question for no slots, and are asked again once they answer that as fast as others.

use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan::message::MAX_EXCLUDED;
use anthill_protocol::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// After so long one is asked again, whatever was heard: probes may have been lost.
const FORGET: Duration = Duration::from_secs(60);
/// A peer is not probed more often.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// The peers that hang, as far as is known: at most [`MAX_EXCLUDED`], as many as a question can name. Of more, those found out
/// later are asked again and again; a swarm in which so many hang is slow anyway.
#[derive(Debug, Default)]
pub(super) struct Hung(BTreeMap<PeerKey, Since>);

#[derive(Debug)]
struct Since {
    since: Instant,
    /// Number of the last probe, and when it was sent.
    probe: Option<(u64, Instant)>,
}

impl Hung {
    /// Those to be left out now.
    pub(super) fn peers(&mut self, now: Instant) -> BTreeSet<PeerKey> {
        self.0.retain(|_, hung| now.since(hung.since) < FORGET);
        self.0.keys().copied().collect()
    }

    /// These did not answer.
    pub(super) fn learn<'a>(&mut self, peers: impl IntoIterator<Item = &'a PeerKey>, now: Instant) {
        for peer in peers {
            if self.0.len() < MAX_EXCLUDED {
                self.0.entry(*peer).or_insert(Since { since: now, probe: None });
            }
        }
    }

    /// Whom to probe now, with this number.
    pub(super) fn probe(&mut self, number: u64, now: Instant) -> Vec<PeerKey> {
        let mut due = Vec::new();
        for (peer, hung) in &mut self.0 {
            if hung.probe.is_none_or(|(_, sent)| now.since(sent) >= PROBE_EVERY) {
                hung.probe = Some((number, now));
                due.push(*peer);
            }
        }
        due
    }

    /// A reply came. If it is to a probe and came within `patience`, its peer is there again.
    pub(super) fn on_reply(&mut self, peer: &PeerKey, number: u64, now: Instant, patience: Duration) {
        let probe = self.0.get(peer).and_then(|hung| hung.probe);
        if probe.is_some_and(|(probe, sent)| probe == number && now.since(sent) <= patience) {
            self.0.remove(peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn who_hangs_is_left_out_until_a_probe_is_answered_in_time() {
        let (one, other) = (PeerKey([1; 32]), PeerKey([2; 32]));
        let start = Instant::from_unix_s(100);
        let mut hung = Hung::default();
        hung.learn([&one, &other], start);
        assert_eq!(hung.probe(7, start), [one, other]);
        assert!(hung.probe(8, start + 500 * MS).is_empty(), "not so soon");
        hung.on_reply(&one, 8, start + 10 * MS, 100 * MS);
        hung.on_reply(&one, 7, start + 200 * MS, 100 * MS);
        assert_eq!(hung.peers(start + 200 * MS).len(), 2, "another's number, and too late");
        hung.on_reply(&other, 7, start + 50 * MS, 100 * MS);
        assert_eq!(hung.peers(start + 300 * MS), [one].into());
        assert_eq!(hung.probe(9, start + PROBE_EVERY), [one]);
        hung.learn([&one], start + 50 * 1_000 * MS);
        assert!(hung.peers(start + FORGET).is_empty(), "it is tried again after a while");
    }

    #[test]
    fn there_are_never_more_than_a_question_can_name() {
        let mut hung = Hung::default();
        let peers: Vec<PeerKey> = (0..400u16)
            .map(|n| {
                let mut key = [0; 32];
                key[..2].copy_from_slice(&n.to_be_bytes());
                PeerKey(key)
            })
            .collect();
        hung.learn(&peers, Instant::ZERO);
        assert_eq!(hung.peers(Instant::ZERO).len(), MAX_EXCLUDED);
    }
}
