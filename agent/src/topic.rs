//! The topic of an agent's crawls, as others see it: what pages are expected to be worth, and what peers tell each other of it.

use crate::agent::Agent;
use crate::focus::Focus;
use crate::focus::learned::Learned;
use crate::rights::Rights;
use anthill_crawler::focus::predict::Clues;
use anthill_protocol::key::{HostId, Slot};
use anthill_protocol::lesson::Lesson;
use anthill_protocol::outlook::{Wanted, Worths};
use std::collections::BTreeMap;

impl<R: Rights> Agent<R> {
    /// What a page of a host with these clues is expected to be worth, in thousandths; none where crawls have no topic.
    pub fn expect(&self, host: &HostId, clues: &Clues) -> Option<u16> {
        self.focus.as_ref().map(|focus| focus.expect(host, clues))
    }

    /// The class of most pages that links of pages of this one led to, and their share, 0 to 1; none where crawls have no model, and while nothing is known.
    pub fn likeliest_class(&self, from: u8) -> Option<(u8, f32)> {
        self.focus.as_ref()?.classes().likeliest(from)
    }

    /// The share of links of pages of a class that led to pages of that class (P3's R), 0 to 1; none as above.
    pub fn keeps_to_itself(&self, class: u8) -> Option<f32> {
        self.focus.as_ref()?.classes().keeps_to_itself(class)
    }

    /// Other peers say that paths lead from pages of this one to the topic.
    pub fn learned(&mut self, lessons: &[Lesson]) {
        if let Some(focus) = &mut self.focus {
            focus.learned(lessons);
        }
    }

    /// Whether holders of other pages are to be told of paths that led from theirs to the topic.
    pub fn has_lessons(&self) -> bool {
        self.focus.as_ref().is_some_and(Focus::has_lessons)
    }

    /// What they are to be told.
    pub fn take_lessons(&mut self) -> Vec<Lesson> {
        self.focus.as_mut().map(Focus::take_lessons).unwrap_or_default()
    }

    /// What there is to fetch, and what was expected of links of late; none where crawls have no topic.
    pub fn outlook(&self) -> Option<(Wanted, Worths)> {
        let focus = self.focus.as_ref()?;
        let mut wanted = self.frontier.wanted(self.now)?;
        if self.paused.is_some() {
            wanted.near = 0;
        }
        Some((wanted, focus.worths()))
    }

    /// Of each slot served here in which something waits, what the best of it is worth by its level, in thousandths; none where crawls are
    /// about no topic: where they only prefer languages contracts go by load.
    pub fn scores(&self) -> Option<BTreeMap<Slot, u16>> {
        let focus = self.focus.as_ref().filter(|focus| focus.is_about_a_topic())?;
        let levels = self.frontier.best_levels();
        Some(levels.into_iter().map(|(slot, level)| (slot, focus.score(level))).collect())
    }

    /// What was learned of where the topic is; none where crawls have no topic.
    pub fn learned_so_far(&self) -> Option<Learned> {
        self.focus.as_ref().map(Focus::learned_so_far)
    }

    /// Takes what was learned before a restart.
    pub fn recall(&mut self, learned: Learned) {
        if let Some(focus) = &mut self.focus {
            focus.recall(learned);
        }
    }

    /// Whether crawls have a topic.
    pub fn has_topic(&self) -> bool {
        self.focus.is_some()
    }
}
