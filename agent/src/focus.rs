//! What a swarm's crawls prefer, a topic or languages: at which level a URL is queued, and what pages that were fetched teach.

use anthill_crawler::focus::layers::Sketch;
use anthill_crawler::focus::predict::{CERTAIN, Clues, Context, Predictor};
use anthill_crawler::focus::reader::{About, NOTHING_SAID, Reader};
use anthill_crawler::focus::rules::Rules;
use anthill_crawler::record::{LEVELS, QueueItem};
use anthill_protocol::key::{HostId, SiteId};
use anthill_protocol::lesson::Lesson;
use anthill_protocol::links::link::MAX_SINCE;
use anthill_protocol::outlook::Worths;
use learned::Learned;
use paths::{Page, Paths};
use std::collections::VecDeque;
use std::sync::Arc;

pub mod learned;
mod paths;

/// Levels by how near a page is likely to be to the topic, at most: one more than papers tried (P3). The last of all is for what filters call
/// doubtful.
pub const MAX_TOPIC_LEVELS: u8 = LEVELS as u8 - 2;
/// Of a thousand permits for the best, so many more go to what waits: no level starves. A guess.
pub const SHARE_OF_OTHERS: u32 = 20;
/// Level of what filters call doubtful, where there is a topic.
pub const LEVEL_LAST: u8 = LEVELS as u8 - 1;

/// What was expected of so many links, the last that were admitted, says what is much here.
const RECENT: usize = 500;
/// It is looked at after so many.
const LOOK: usize = 20;
/// The best level begins at what is better than nearly all of them: tried from .8 to 1 on two collections, and a topic that is far away is found sooner with
/// few links in the best level.
const BEST: f32 = 0.98;

/// What crawls with a topic are held to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the topic is.
    pub about: About,
    /// Levels, 1 to [`MAX_TOPIC_LEVELS`].
    pub levels: u8,
    /// Whether what links of pages of each layer and class led to is learned and counts (P3's rules); else a page is worth what the one is that links to it.
    pub rules: bool,
}

/// What a peer has learned of where its topic is.
pub struct Focus {
    levels: u8,
    is_about_a_topic: bool,
    rules: bool,
    reader: Reader,
    predictor: Predictor,
    paths: Paths,
    /// What was expected of the last links, in thousandths; and how many came since `best` was found among them.
    recent: VecDeque<u16>,
    unseen: usize,
    /// What others expected of theirs.
    others: Worths,
    /// What is much, 0 to 1.
    best: f32,
}

impl Focus {
    /// Nothing is learned yet.
    pub fn new(settings: &Settings) -> Focus {
        let classes = settings.about.model().map_or(0, |model| model.classes.len());
        let predictor = Predictor::new(settings.rules, classes);
        // Until it is known what there is here: a link of a page on topic.
        let page = Context { relevance: CERTAIN, since: 0, ..Context::default() };
        let clues = Clues { from: page, anchor: CERTAIN / 2, around: CERTAIN / 2, words: Vec::new() };
        let best = predictor.predict(&HostId::of(SiteId::of(""), ""), &clues);
        Focus {
            levels: settings.levels.clamp(1, MAX_TOPIC_LEVELS),
            is_about_a_topic: settings.about.is_a_topic(),
            rules: settings.rules,
            reader: Reader::new(&settings.about, Arc::default()),
            predictor,
            paths: Paths::default(),
            recent: VecDeque::new(),
            unseen: 0,
            others: Worths::default(),
            best,
        }
    }

    /// What it has learned, as it is kept over a restart.
    pub fn learned_so_far(&self) -> Learned {
        let (predictor, layers) = (self.predictor.clone(), self.paths.layers().clone());
        Learned { predictor, layers, recent: self.recent.iter().copied().collect() }
    }

    /// Takes what was learned before, if it was with such a model; nothing was learned since.
    pub fn recall(&mut self, learned: Learned) {
        if learned.predictor.classes().classes() != self.predictor.classes().classes() {
            return;
        }
        self.predictor = learned.predictor.with_rules(self.rules);
        self.paths.recall(learned.layers);
        self.recent = learned.recent.into_iter().take(RECENT).collect();
        if !self.recent.is_empty() {
            self.look();
        }
    }

    /// What a link of another peer's page says of its target; of a page of which nothing is told, as much as is said of one of which nothing is known.
    pub fn clues(&mut self, from: Option<Context>, anchor: &str, around: Option<u16>, url: &str) -> Clues {
        let from = from.unwrap_or_default();
        let page = Context { relevance: from.relevance.min(CERTAIN), ..from };
        self.reader.clues(page, anchor, around.unwrap_or(NOTHING_SAID).min(CERTAIN), url)
    }

    /// The level of a page that is worth this much: each holds an equal part of what is worth less than the best that is found here. (By absolute
    /// worth, all would be in the last while nothing is near the topic.)
    fn level_of(&self, worth: f32) -> u8 {
        let worse = (1.0 - worth / self.best).max(0.0) * f32::from(self.levels);
        (worse as u8).min(self.levels - 1)
    }

    /// Whether crawls are about a topic, and do not only prefer languages.
    pub fn is_about_a_topic(&self) -> bool {
        self.is_about_a_topic
    }

    /// What a page of this level is worth at best, in thousandths; nothing where it has its level for another reason.
    pub fn score(&self, level: u8) -> u16 {
        let left = f32::from(self.levels.saturating_sub(level)) / f32::from(self.levels);
        (self.best * left * f32::from(CERTAIN)).round().clamp(0.0, f32::from(CERTAIN)) as u16
    }

    /// What a page of that host is expected to be worth, on topic or near to what is, in thousandths.
    pub fn expect(&self, host: &HostId, clues: &Clues) -> u16 {
        (self.predictor.predict(host, clues).clamp(0.0, 1.0) * f32::from(CERTAIN)).round() as u16
    }

    /// The level of a URL that is admitted with these clues.
    pub fn admit(&mut self, host: &HostId, clues: &Clues) -> u8 {
        self.recent.push_back(self.expect(host, clues));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        self.unseen += 1;
        if self.unseen >= LOOK {
            self.unseen = 0;
            self.look();
        }
        self.level(host, clues)
    }

    /// Finds out what is much.
    fn look(&mut self) {
        let best = match self.others.is_empty() {
            true => {
                let mut sorted: Vec<u16> = self.recent.iter().copied().collect();
                let nth = (sorted.len().saturating_sub(1) as f32 * BEST) as usize;
                (nth < sorted.len()).then(|| f32::from(*sorted.select_nth_unstable(nth).1))
            }
            false => {
                let mut all = self.worths();
                all.add(&self.others);
                all.quantile(BEST)
            }
        };
        self.best = best.unwrap_or(0.0).max(1.0) / f32::from(CERTAIN);
    }

    /// What was expected of links of late.
    pub fn worths(&self) -> Worths {
        let mut worths = Worths::default();
        self.recent.iter().for_each(|worth| worths.count(*worth));
        worths
    }

    /// The same of all other peers together: what is much is much in all of the swarm.
    pub fn hear(&mut self, others: Worths) {
        self.others = others;
        if !self.recent.is_empty() {
            self.look();
        }
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

    /// Another peer says that paths lead from pages of this one to the topic.
    pub fn learned(&mut self, lessons: &[Lesson]) {
        lessons.iter().for_each(|lesson| self.paths.learned(lesson, &mut self.predictor));
    }

    /// Whether there is something to tell holders of other pages.
    pub fn has_lessons(&self) -> bool {
        self.paths.has_lessons()
    }

    /// What holders of other pages are to be told of paths that led from theirs to the topic.
    pub fn take_lessons(&mut self) -> Vec<Lesson> {
        self.paths.take_lessons()
    }

    /// What links between classes of the topic's model were found.
    pub fn classes(&self) -> &Rules {
        self.predictor.classes()
    }

    /// A page was fetched, was that relevant, in thousandths, of that class, and has these words: what is to be said of it to whom it links to.
    pub fn learn(
        &mut self,
        item: &QueueItem,
        (relevance, class): (u16, Option<u8>),
        sketch: Sketch,
    ) -> Context {
        let relevance = relevance.min(CERTAIN);
        let share = f32::from(relevance) / f32::from(CERTAIN);
        let (host, clues) = (item.key.host, item.entry.clues.as_deref().cloned());
        let since = match &clues {
            _ if share > paths::ON_TOPIC => 0,
            Some(clues) => clues.from.since.saturating_add(1).min(MAX_SINCE),
            None => MAX_SINCE,
        };
        self.predictor.learn(&host, clues.as_ref(), share, class);
        let page = Page { from: item.entry.from, host, clues, sketch };
        let layers = self.paths.learn(item.id, page, share, &mut self.predictor);
        Context { relevance, layers, since, class }
    }
}

#[cfg(test)]
#[path = "focus/focus_tests.rs"]
mod tests;
