//! The topic of a swarm's crawls: at which level a URL is queued, and what pages that were fetched teach.

use anthill_crawler::focus::bayes::Model;
use anthill_crawler::focus::predict::{CERTAIN, Clues, Predictor};
use anthill_crawler::focus::reader::{Reader, UNKNOWN};
use anthill_crawler::record::{LEVELS, QueueItem};
use anthill_protocol::key::HostId;
use std::sync::Arc;

/// Levels by how near a page is likely to be to the topic, at most: one more than papers tried (P3). The last of all is for what filters call
/// doubtful.
pub const MAX_TOPIC_LEVELS: u8 = LEVELS as u8 - 2;
/// Of a thousand permits for the best, so many more go to what waits: no level starves. A guess.
pub const SHARE_OF_OTHERS: u32 = 20;
/// Level of what filters call doubtful, where there is a topic.
pub const LEVEL_LAST: u8 = LEVELS as u8 - 1;

/// What crawls with a topic are held to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the topic is.
    pub model: Arc<Model>,
    /// Levels, 1 to [`MAX_TOPIC_LEVELS`].
    pub levels: u8,
}

/// What a peer has learned of where its topic is.
pub struct Focus {
    levels: u8,
    reader: Reader,
    predictor: Predictor,
}

impl Focus {
    /// Nothing is learned yet.
    pub fn new(settings: &Settings) -> Focus {
        Focus {
            levels: settings.levels.clamp(1, MAX_TOPIC_LEVELS),
            reader: Reader::new(settings.model.as_ref().clone()),
            predictor: Predictor::default(),
        }
    }

    /// What a link of another peer's page says of its target; of a page of which nothing is told, as much as is said of one of which nothing is known.
    pub fn clues(&mut self, from: Option<u16>, anchor: &str, url: &str) -> Clues {
        self.reader.clues(from.unwrap_or(UNKNOWN).min(CERTAIN), anchor, url)
    }

    /// The level of a page that is on topic with this probability: each holds an equal part of what is less likely.
    fn level_of(&self, p: f32) -> u8 {
        let worse = ((1.0 - p.clamp(0.0, 1.0)) * f32::from(self.levels)) as u8;
        worse.min(self.levels - 1)
    }

    /// How likely a page of that host is to be on topic, in thousandths.
    pub fn expect(&self, host: &HostId, clues: &Clues) -> u16 {
        (self.predictor.predict(host, clues).clamp(0.0, 1.0) * f32::from(CERTAIN)).round() as u16
    }

    /// The level of a URL with these clues, by what is known now.
    pub fn level(&self, host: &HostId, clues: &Clues) -> u8 {
        self.level_of(self.predictor.predict(host, clues))
    }

    /// The same of an entry that waits, if it is one that has its level from here.
    pub fn level_now(&self, item: &QueueItem) -> Option<u8> {
        let clues = item.entry.clues.as_deref().filter(|_| item.key.level < self.levels)?;
        Some(self.level(&item.key.host, clues))
    }

    /// A page was fetched, and was that relevant, in thousandths.
    pub fn learn(&mut self, host: &HostId, clues: Option<&Clues>, relevance: u16) {
        self.predictor.learn(host, clues, f32::from(relevance.min(CERTAIN)) / f32::from(CERTAIN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::SiteId;

    fn host(name: &str) -> HostId {
        HostId::of(SiteId::of(name), name)
    }

    fn clues(from: u16) -> Clues {
        Clues { from, anchor: 500, words: Vec::new() }
    }

    fn focus(levels: u8) -> Focus {
        Focus::new(&Settings { model: Arc::new(Model::unknowing()), levels })
    }

    #[test]
    fn what_is_likely_on_topic_comes_first_and_there_are_as_many_levels_as_asked_for() {
        for levels in 1..=MAX_TOPIC_LEVELS {
            let focus = focus(levels);
            let all: Vec<u8> =
                (0..=1_000).rev().map(|from| focus.level(&host("a.test"), &clues(from))).collect();
            assert!(all.is_sorted() && all[0] == 0, "{levels}");
            assert_eq!(all.last(), Some(&(levels - 1)));
        }
        assert_eq!(focus(99).levels, MAX_TOPIC_LEVELS);
        assert_eq!(focus(0).level(&host("a.test"), &clues(0)), 0);
    }

    #[test]
    fn a_host_that_proves_to_be_off_topic_goes_to_worse_levels() {
        let mut focus = focus(4);
        let before = focus.level(&host("a.test"), &clues(900));
        (0..30).for_each(|_| focus.learn(&host("a.test"), Some(&clues(900)), 20));
        assert!(focus.level(&host("a.test"), &clues(900)) > before);
        assert!(focus.expect(&host("a.test"), &clues(900)) < 300);
    }
}
