//! The assistant half of a peer in a crawl about a topic (papers' P5: the crawler only crawls, its assistant evaluates what was fetched, and negotiates):
//! finds out how able the peer is, in a thread of its own, off the way of pages.
//!
//! It looks at some of the pages, as many as its share of the process's time allows ([`SHARE_PERMILLE`]); pages that come while it has no time are not
//! looked at. It counts in how many pages words stand, tells other peers, and hears from them.

use crate::clock::cpu;
use crate::driver::ToDriver;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::wordnet;
use anthill_agent::peer::io as peer;
use anthill_crawler::focus::ability::{Ability, Record};
use anthill_crawler::focus::bayes::Model;
use anthill_crawler::focus::frequencies::Frequencies;
use anthill_crawler::focus::observe::{MAX_LINKS, Observer};
use anthill_crawler::focus::predict::thousandths;
use anthill_crawler::focus::reader::About;
use anthill_crawler::focus::semantics::{MAX_QUERY_WORDS, Query};
use anthill_crawler::focus::terms::Terms;
use anthill_crawler::focus::wordnet::Weights;
use anthill_crawler::parse::Page;
use anthill_protocol::frequency;
use anthill_protocol::peer::PeerKey;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Of a thousand seconds that the process computes, so many are the assistant's.
const SHARE_PERMILLE: u32 = 15;
/// Pages and parts of others' tables that wait for it; what comes beyond them is left out, and parts come again.
const QUEUE: usize = 64;
/// From one look at the clock to the next, while there is no time for pages.
const BREATH: Duration = Duration::from_millis(100);
/// From one part of its table that others are told to the next.
const TELLS: Duration = Duration::from_secs(1);
/// Terms of the model that stand for a query, where there is none.
const STRONGEST: usize = 8;
/// How relevant a page is, in thousandths, beyond which it is on topic.
const ON_TOPIC: u16 = 500;

/// What it is given.
pub enum ToAssistant {
    /// A page.
    Page(Seen),
    /// What another peer has counted.
    Heard(PeerKey, frequency::Message),
}

/// A page, as far as it is looked at.
pub struct Seen {
    text: String,
    /// Texts of its links, if it is on topic.
    anchors: Option<Vec<String>>,
}

/// The way to the assistant.
#[derive(Clone)]
pub struct Assistant {
    inbox: Sender<ToAssistant>,
    /// It has time for a page.
    ready: Arc<AtomicBool>,
}

impl Assistant {
    /// A way to an assistant, and its end.
    pub fn new() -> (Assistant, Receiver<ToAssistant>) {
        let (inbox, outlet) = bounded(QUEUE);
        (Assistant { inbox, ready: Arc::default() }, outlet)
    }

    /// Shows it a page of this text, that is so relevant, if it has time for one.
    pub fn show(&self, page: &Page, text: &str, relevance: u16) {
        if !self.ready.swap(false, Ordering::Relaxed) {
            return;
        }
        let anchors = || page.links.iter().take(MAX_LINKS).map(|link| link.anchor.clone()).collect();
        let seen = Seen { text: text.to_owned(), anchors: (relevance > ON_TOPIC).then(anchors) };
        let _ = self.inbox.try_send(ToAssistant::Page(seen));
    }

    /// Another peer has counted this.
    pub fn heard(&self, from: PeerKey, part: frequency::Message) {
        let _ = self.inbox.try_send(ToAssistant::Heard(from, part));
    }
}

/// What the assistant goes by.
pub struct Brief {
    /// What the topic is.
    pub about: About,
    /// The topic in words; without any the terms of the model that say most for it.
    pub query: Option<String>,
    /// α of the paper.
    pub alpha: f64,
    /// δ1, δ2.
    pub weights: Weights,
    /// Folder of WordNet's files.
    pub wordnet: PathBuf,
    /// `T` of the paper: how often ability is found out.
    pub interval: Duration,
}

impl Brief {
    /// As settings say, of crawls about this.
    pub fn of(settings: &Settings, about: About) -> Brief {
        let topic = &settings.topic;
        Brief {
            about,
            query: topic.query.clone(),
            alpha: topic.alpha,
            weights: Weights { is_a: topic.is_a, part_of: topic.part_of, ..Weights::default() },
            wordnet: topic.wordnet.clone(),
            interval: settings.contracts.ability_interval,
        }
    }
}

/// Its thread.
pub struct AssistantThread {
    /// What it is given.
    pub inbox: Receiver<ToAssistant>,
    /// The way to it.
    pub way: Assistant,
    /// Whom it tells.
    pub driver: Sender<ToDriver>,
    /// Where it shows how able the peer is.
    pub shared: Arc<Shared>,
    /// What it goes by.
    pub brief: Brief,
}

impl AssistantThread {
    /// Runs until the process ends.
    pub fn run(self) {
        let AssistantThread { inbox, way, driver, shared, brief } = self;
        let mut record = match &brief.about {
            About::Examples(model) => Record::about(brief.alpha, model),
            About::Words(words) => Record::of_words(brief.alpha, words),
            About::Languages => Record::of_words(brief.alpha, ""),
        };
        let mut observer = observer(&brief);
        let mut frequencies = Frequencies::default();
        let (mut told, mut assessed) = (Instant::now(), Instant::now());
        let had = cpu::thread();
        while !shared.ending.load(Ordering::Relaxed) {
            match inbox.recv_timeout(BREATH) {
                Ok(ToAssistant::Page(Seen { text, anchors })) => {
                    let anchors = anchors.as_ref().map(|anchors| anchors.iter().map(String::as_str));
                    observer.see(&text, anchors, &mut frequencies, &mut record);
                }
                Ok(ToAssistant::Heard(from, part)) => frequencies.hear(from, &part),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // What reading WordNet took is not held against it.
            let has_time = (cpu::thread() - had) * 1_000 <= cpu::process() * SHARE_PERMILLE;
            if told.elapsed() >= TELLS {
                told = Instant::now();
                let part =
                    frequencies.tell().map(|part| ToDriver::Peer(Box::new(peer::Input::Counted(part))));
                part.into_iter().for_each(|part| _ = driver.send(part));
            }
            if has_time && assessed.elapsed() >= brief.interval {
                assessed = Instant::now();
                let ability = record.ability();
                tell(ability, &driver, &shared);
            }
            way.ready.store(has_time, Ordering::Relaxed);
        }
    }
}

fn tell(ability: Ability, driver: &Sender<ToDriver>, shared: &Shared) {
    let Ability { links, concepts, whole } = ability;
    tracing::debug!(links, concepts, whole, "ability");
    shared.set_ability(ability);
    let _ = driver.send(ToDriver::Peer(Box::new(peer::Input::Ability(thousandths(whole)))));
}

/// What reads pages, with WordNet if it is there.
fn observer(brief: &Brief) -> Observer {
    let wordnet = match wordnet::read(&brief.wordnet) {
        Ok(wordnet) => Some(Arc::new(wordnet)),
        Err(error) => {
            tracing::info!(
                "{error:#}; until then words count that are the same but for their endings, and no others"
            );
            None
        }
    };
    let model = brief.about.model();
    let terms = || Terms::of_code(model.and_then(|model| model.language.as_deref()));
    let query = brief.query.clone().or_else(|| model.map(|model| strongest(model))).unwrap_or_default();
    Observer::new(Query::new(&query, terms(), wordnet, brief.weights), terms())
}

/// The terms that say most for the classes on topic.
fn strongest(model: &Model) -> String {
    const { assert!(STRONGEST <= MAX_QUERY_WORDS) };
    let on = model.classes.len().saturating_sub(1);
    let mut all: Vec<(&str, f64)> = (0..on).flat_map(|class| model.strongest(class, STRONGEST)).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let mut words: Vec<&str> = all.into_iter().map(|(word, _)| word).collect();
    words.dedup();
    words.truncate(STRONGEST);
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_crawler::focus::bayes::Trained;
    use crossbeam_channel::unbounded;

    fn model() -> Arc<Model> {
        Arc::new(Model {
            language: Some("en".to_owned()),
            classes: vec!["ants".to_owned(), "other".to_owned()],
            terms: ["ant", "bread", "coloni", "queen"].map(str::to_owned).to_vec(),
            weights: vec![2_000, -2_000, -1_000, 1_000, 1_000, -1_000, 1_500, -1_500],
            examples: vec![vec![0, 2], vec![0, 3], vec![2, 3]],
            trained: Trained::default(),
            ..Model::unknowing()
        })
    }

    #[test]
    fn without_a_query_the_terms_that_say_most_stand_for_it() {
        assert_eq!(strongest(&model()), "ant queen coloni");
    }

    #[test]
    fn who_fetches_pages_on_topic_becomes_able_and_others_hear_which_words_there_are() {
        let (way, inbox) = Assistant::new();
        let (driver, heard) = unbounded();
        let shared = Arc::new(Shared::default());
        let brief = Brief {
            about: About::Examples(model()),
            query: None,
            alpha: 0.5,
            weights: Weights::default(),
            wordnet: "/nowhere".into(),
            interval: Duration::from_millis(200),
        };
        let thread = AssistantThread { inbox, way: way.clone(), driver, shared: Arc::clone(&shared), brief };
        let running = std::thread::spawn(move || thread.run());
        let end = Instant::now() + Duration::from_secs(60);
        let mut parts = 0;
        let mut able = 0;
        // Something has to be computed besides, or there is no time for it.
        let mut busy = 0_u64;
        for n in 0_u64.. {
            assert!(Instant::now() < end, "{parts} parts, ability {able}");
            let on = n % 2 == 0;
            let text = if on {
                format!("ants and the queen of a colony on day{n}")
            } else {
                format!("bread for sailors on day{n}")
            };
            way.show(&Page::default(), &text, if on { 900 } else { 100 });
            (0..20_000_u64).for_each(|k| busy = std::hint::black_box(busy.wrapping_mul(31).wrapping_add(k)));
            for message in heard.try_iter() {
                match message {
                    ToDriver::Peer(input) => match *input {
                        peer::Input::Counted(part) => parts += u32::from(part.pages > 0),
                        peer::Input::Ability(ability) => able = able.max(ability),
                        _ => panic!("another input"),
                    },
                    _ => panic!("another message"),
                }
            }
            if parts > 0 && able > 100 {
                break;
            }
        }
        assert!(shared.ability().is_some_and(|ability| ability.concepts > 0.2), "{:?}", shared.ability());
        shared.ending.store(true, Ordering::Relaxed);
        running.join().expect("it ends");
    }
}
