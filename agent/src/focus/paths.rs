//! The paths of a crawl: which page led to which, so that what was found on a path teaches those along it.

use anthill_crawler::focus::layers::{BEYOND, Layers, Likely, STEPS, Sketch};
use anthill_crawler::focus::predict::{CERTAIN, Clues, Predictor, STEP_WORTH};
use anthill_protocol::key::{HostId, UrlId};
use anthill_protocol::lesson::Lesson;
use anthill_protocol::map::Map;
use std::collections::VecDeque;

/// Pages that are remembered, a kilobyte each: those fetched last. Paths through older ones end there.
pub const MAX_PAGES: usize = 16_384;
/// Lessons for others that wait to be sent; more are dropped.
pub const MAX_WAITING: usize = 4_096;
/// From here on a page is on topic.
pub const ON_TOPIC: f32 = 0.5;
/// A page that is worth only so much more than was known teaches nothing new.
const NEWS: f32 = 0.05;

/// A page that was fetched.
pub struct Page {
    /// The page on which it was found.
    pub from: Option<UrlId>,
    /// Where it is.
    pub host: HostId,
    /// What was known of it before.
    pub clues: Option<Clues>,
    /// Its words.
    pub sketch: Sketch,
}

struct Met {
    page: Page,
    layer: usize,
    worth: f32,
}

/// Paths, and what they teach of layers.
#[derive(Default)]
pub struct Paths {
    layers: Layers,
    met: Map<UrlId, Met>,
    /// In the order in which they were met.
    order: VecDeque<UrlId>,
    /// Of pages that are not remembered here.
    lessons: Vec<Lesson>,
}

impl Paths {
    /// A page was fetched that is that relevant, 0 to 1: how likely it is to be in each layer. If it is on topic, the pages on the path to it prove to be nearer than was
    /// known.
    pub fn learn(&mut self, id: UrlId, page: Page, relevance: f32, predictor: &mut Predictor) -> Likely {
        let on_topic = relevance > ON_TOPIC;
        let layer = if on_topic { 0 } else { BEYOND };
        let from = page.from;
        // What was fetched before counts once, as what it is now.
        match self.met.get_mut(&id) {
            Some(met) => {
                self.layers.correct(&met.page.sketch, met.layer, layer);
                (met.layer, met.worth) = (layer, relevance);
            }
            None => {
                self.layers.learn(&page.sketch, layer);
                self.met.insert(id, Met { page, layer, worth: relevance });
                self.order.push_back(id);
                if self.order.len() > MAX_PAGES {
                    self.order.pop_front().and_then(|oldest| self.met.remove(&oldest));
                }
            }
        }
        if on_topic {
            self.teach(from, 1, relevance * STEP_WORTH, predictor);
        }
        self.met.get(&id).map_or_else(Likely::default, |met| self.layers.likely(&met.page.sketch))
    }

    /// Another peer says that a path leads from a page to the topic.
    pub fn learned(&mut self, lesson: &Lesson, predictor: &mut Predictor) {
        let worth = f32::from(lesson.worth) / f32::from(CERTAIN);
        if self.met.contains_key(&lesson.page) {
            self.teach(Some(lesson.page), usize::from(lesson.steps), worth, predictor);
        }
    }

    #[cfg(test)]
    pub fn pages(&self) -> usize {
        self.met.len().max(self.order.len())
    }

    /// What words say of layers.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Takes what was learned of words before; nothing was met yet.
    pub fn recall(&mut self, layers: Layers) {
        self.layers = layers;
    }

    /// Whether there are lessons for others.
    pub fn has_lessons(&self) -> bool {
        !self.lessons.is_empty()
    }

    /// Lessons for others.
    pub fn take_lessons(&mut self) -> Vec<Lesson> {
        std::mem::take(&mut self.lessons)
    }

    /// From this page it is so many steps to the topic, and so it is worth that much.
    fn teach(&mut self, mut page: Option<UrlId>, first: usize, mut worth: f32, predictor: &mut Predictor) {
        for layer in first..=STEPS {
            let Some(id) = page else { return };
            let Some(met) = self.met.get_mut(&id) else {
                if self.lessons.len() < MAX_WAITING {
                    let worth = (worth * f32::from(CERTAIN)) as u16;
                    self.lessons.push(Lesson { page: id, steps: layer as u8, worth });
                }
                return;
            };
            if met.layer <= layer {
                return;
            }
            self.layers.correct(&met.page.sketch, met.layer, layer);
            met.layer = layer;
            if let Some(clues) = met.page.clues.as_ref().filter(|_| met.worth < worth - NEWS) {
                predictor.teach(&met.page.host, clues, worth, Some(met.worth));
                met.worth = worth;
            }
            page = met.page.from;
            worth *= STEP_WORTH;
        }
    }
}
