//! What paths to the topic teach the holders of the pages along them.

use super::io::Effect;
use super::{Message, Peer};
use anthill_protocol::lesson::{self, Lesson, MAX_LESSONS};
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::time::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Lessons are gathered for so long: a page on topic more often comes with others than alone.
const GATHER: Duration = Duration::from_secs(1);

/// When to send what there is.
#[derive(Default)]
pub(super) struct Lessons {
    due: Option<Instant>,
}

impl Lessons {
    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

impl<K: Keys + Clone> Peer<K> {
    /// Takes what is said of pages that are held here.
    pub(super) fn learned(&mut self, lessons: &[Lesson]) {
        let held: Vec<Lesson> =
            lessons.iter().filter(|lesson| self.serves(lesson.page.site().slot())).copied().collect();
        self.crawl.learned(&held);
    }

    /// Sends lessons that were gathered, each to the holder of its page, if it is known.
    pub(super) fn send_lessons(&mut self) {
        if !self.crawl.has_lessons() {
            return;
        }
        if *self.lessons.due.get_or_insert(self.now + GATHER) > self.now {
            return;
        }
        self.lessons.due = None;
        let mut by_holder: BTreeMap<PeerKey, Vec<Lesson>> = BTreeMap::new();
        for lesson in self.crawl.take_lessons() {
            let route = self.crawl.rights_ref().claims.route(lesson.page.site().slot());
            if let Some((holder, _)) = route.filter(|(holder, _)| *holder != self.own) {
                by_holder.entry(holder).or_default().push(lesson);
            }
        }
        for (holder, lessons) in by_holder {
            for some in lessons.chunks(MAX_LESSONS) {
                let message = Message::Lesson(lesson::Message(some.to_vec()));
                self.outbox.push(Effect::Send(holder, message));
            }
        }
    }
}
