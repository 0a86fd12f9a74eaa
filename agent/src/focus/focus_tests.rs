use super::*;
use anthill_crawler::focus::bayes::Model;
use anthill_crawler::focus::layers;
use anthill_crawler::focus::terms::Terms;
use anthill_crawler::record::{CrawlId, EntryKind, QueueEntry, QueueKey};
use anthill_protocol::key::{SiteId, UrlId};

fn host(name: &str) -> HostId {
    HostId::of(SiteId::of(name), name)
}

fn context(relevance: u16) -> Context {
    Context { relevance, ..Context::default() }
}

fn clues(relevance: u16) -> Clues {
    Clues { from: context(relevance), anchor: 500, around: 500, words: Vec::new() }
}

fn focus(levels: u8) -> Focus {
    Focus::new(&Settings { about: About::Examples(Arc::new(Model::unknowing())), levels, rules: true })
}

fn id(number: usize) -> UrlId {
    UrlId::of(SiteId::of("a.test"), &format!("http://a.test/{number}"))
}

/// A page that was found on another, with these clues.
fn item(host: HostId, number: usize, from: Option<usize>, clues: Clues) -> QueueItem {
    let entry = QueueEntry {
        url: format!("http://a.test/{number}"),
        crawl: CrawlId(1),
        kind: EntryKind::Page,
        depth: 1,
        hops: 0,
        attempt: 0,
        revisit: false,
        from: from.map(id),
        first_seen_s: 0,
        clues: Some(Box::new(clues)),
    };
    QueueItem { key: QueueKey { host, level: 0, seq: number as u64 }, id: id(number), entry }
}

fn sketch(text: &str) -> Sketch {
    Sketch::of(&mut Terms::default(), text)
}

#[test]
fn what_is_likely_on_topic_comes_first_and_there_are_as_many_levels_as_asked_for() {
    for levels in 1..=MAX_TOPIC_LEVELS {
        let focus = focus(levels);
        let all: Vec<u8> = (0..=1_000).rev().map(|from| focus.level(&host("a.test"), &clues(from))).collect();
        assert!(all.is_sorted() && all[0] == 0, "{levels}");
        assert_eq!(all.last(), Some(&(levels - 1)));
    }
    assert_eq!(focus(99).levels, MAX_TOPIC_LEVELS);
    assert_eq!(focus(0).level(&host("a.test"), &clues(0)), 0);
}

#[test]
fn what_levels_are_worth_falls_and_languages_alone_are_no_topic() {
    let focus = focus(4);
    let scores: Vec<u16> = (0..=LEVEL_LAST).map(|level| focus.score(level)).collect();
    assert!(scores.is_sorted_by(|a, b| a > b || *b == 0) && scores[0] > 0, "{scores:?}");
    assert_eq!(scores[4..], [0; 4], "they have their level for another reason");
    assert!(focus.is_about_a_topic());
    assert!(!Focus::new(&Settings { about: About::Languages, levels: 4, rules: true }).is_about_a_topic());
}

#[test]
fn what_was_learned_is_known_again_after_a_restart() {
    let mut before = focus(4);
    for number in 0..60 {
        let (name, relevance, text) =
            if number % 3 == 0 { ("on.test", 950, "ants nest") } else { ("off.test", 10, "cars road") };
        _ = before.admit(&host(name), &clues(300 + 10 * number as u16));
        _ = before.learn(&item(host(name), number, None, clues(500)), (relevance, None), sketch(text));
    }
    let bytes = before.learned_so_far().encode();
    let mut after = focus(4);
    assert_ne!(after.learned_so_far(), before.learned_so_far());
    after.recall(Learned::decode(&bytes).expect("what was written"));
    assert_eq!(after.learned_so_far(), before.learned_so_far());
    for name in ["on.test", "off.test", "new.test"] {
        assert_eq!(after.expect(&host(name), &clues(400)), before.expect(&host(name), &clues(400)));
    }
    assert!(after.expect(&host("on.test"), &clues(400)) > after.expect(&host("off.test"), &clues(400)));
}

#[test]
fn what_was_damaged_is_not_taken_for_learned() {
    let bytes = focus(4).learned_so_far().encode();
    for damaged in [&bytes[..bytes.len() - 1], &bytes[..40], &[], &[&bytes[..], &[0]].concat()] {
        assert!(Learned::decode(damaged).is_err());
    }
    let mut odd = bytes.clone();
    // The first weight is no number.
    odd[1..5].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(Learned::decode(&odd).is_err());
}

#[test]
fn a_host_that_proves_to_be_off_topic_goes_to_worse_levels() {
    let mut focus = focus(4);
    let before = focus.level(&host("a.test"), &clues(900));
    for number in 0..30 {
        let _ = focus.learn(&item(host("a.test"), number, None, clues(900)), (20, None), Sketch::default());
    }
    assert!(focus.level(&host("a.test"), &clues(900)) > before);
    assert!(focus.expect(&host("a.test"), &clues(900)) < 300);
}

#[test]
fn far_from_the_topic_the_best_that_is_known_comes_first_all_the_same() {
    let mut focus = focus(4);
    let name = |n: usize| host(&format!("h{n}.test"));
    let far: Vec<u8> = (0..100).map(|n| focus.admit(&name(n), &clues(10 + (n % 10) as u16))).collect();
    assert!(far[..LOOK - 1].iter().all(|level| *level == 3), "as worth is measured first");
    assert!(far[LOOK..].iter().all(|level| *level < 3) && far[LOOK..].contains(&0));
    // Where the topic is, what was the best before is no more.
    (0..RECENT).for_each(|n| _ = focus.admit(&name(n), &clues(900)));
    assert_eq!(focus.admit(&name(1), &clues(10)), 3);
    assert_eq!(focus.recent.len(), RECENT);
}

#[test]
fn what_is_much_elsewhere_is_much_here_too() {
    let (mut poor, mut rich) = (focus(4), focus(4));
    for n in 0..100 {
        let _ = poor.admit(&host(&format!("h{n}.test")), &clues(10 + (n % 10) as u16));
        let _ = rich.admit(&host(&format!("h{n}.test")), &clues(800 + (n % 100) as u16));
    }
    let far = |focus: &Focus| focus.level(&host("new.test"), &clues(19));
    assert_eq!(far(&poor), 0, "it is the best that is known here");
    poor.hear(rich.worths());
    assert_eq!(far(&poor), 3);
    assert_eq!(poor.level(&host("new.test"), &clues(900)), 0);
    poor.hear(Worths::default());
    assert_eq!(far(&poor), 0, "the other is gone");
}

/// Pages off topic that lead to it, by one of their own kind, are followed before others off topic.
#[test]
fn paths_that_led_to_the_topic_are_known_again() {
    let mut focus = focus(4);
    let mut number = 0;
    let mut fetch = |focus: &mut Focus, from: Option<(usize, Context)>, relevance: u16, text: &str| {
        number += 1;
        let clues = Clues {
            from: from.map_or(context(20), |(_, page)| page),
            anchor: 500,
            around: 500,
            words: Vec::new(),
        };
        let item = item(host(&format!("h{number}.test")), number, from.map(|(from, _)| from), clues);
        (number, focus.learn(&item, (relevance, None), sketch(text)))
    };
    for n in 0..60 {
        let other = fetch(&mut focus, None, 20, &format!("market bread price sailor violin{n}"));
        let _ = fetch(&mut focus, Some(other), 20, &format!("treaty bishop harbour price common{n}"));
        if n % 4 == 0 {
            let two = fetch(&mut focus, None, 20, &format!("garden soil compost spade common{n}"));
            let one = fetch(&mut focus, Some(two), 20, &format!("insect leaf aphid wing common{n}"));
            let _ = fetch(&mut focus, Some(one), 980, &format!("ant colony queen nest common{n}"));
        }
    }
    let (_, two) = fetch(&mut focus, None, 20, "garden spade soil hedge");
    let (_, other) = fetch(&mut focus, None, 20, "market sailor bread harbour");
    let likeliest = |page: Context| (0..page.layers.len()).max_by_key(|layer| page.layers[*layer]);
    assert_eq!((likeliest(two), likeliest(other)), (Some(2), Some(layers::BEYOND)));
    let expect =
        |from| focus.expect(&host("new.test"), &Clues { from, anchor: 500, around: 500, words: Vec::new() });
    assert!(expect(two) > 2 * expect(other), "{} and {}", expect(two), expect(other));
}

#[test]
fn links_since_the_topic_are_counted() {
    let mut focus = focus(4);
    let mut page = context(20);
    for (number, (relevance, since)) in
        [(20, 5), (900, 0), (20, 1), (20, 2), (900, 0), (20, 1)].into_iter().enumerate()
    {
        let clues = Clues { from: page, anchor: 500, around: 500, words: Vec::new() };
        page = focus.learn(&item(host("a.test"), number, None, clues), (relevance, None), sketch("ant"));
        assert_eq!((page.relevance, page.since), (relevance, since), "{number}");
    }
}

#[test]
fn a_path_that_goes_round_ends() {
    let mut focus = focus(4);
    for number in 0..3 {
        let _ = focus.learn(
            &item(host("a.test"), number, Some((number + 1) % 3), clues(20)),
            (900, None),
            sketch("ant"),
        );
    }
    let again = focus.learn(&item(host("a.test"), 0, Some(1), clues(20)), (10, None), sketch("ant"));
    assert!(again.layers[0] > again.layers[layers::BEYOND], "of three pages with this word two are on topic");
}

/// Who fetches a page on topic tells the holder of the page before, and that one the holder of the page before that.
#[test]
fn paths_over_several_peers_teach_each_of_them() {
    let (mut first, mut second, mut third) = (focus(4), focus(4), focus(4));
    let far = clues(20);
    let _ = first.learn(&item(host("a.test"), 1, None, far.clone()), (20, None), sketch("garden soil"));
    let _ = second.learn(&item(host("b.test"), 2, Some(1), far.clone()), (20, None), sketch("leaf aphid"));
    let before = (first.expect(&host("x.test"), &far), second.expect(&host("x.test"), &far));
    assert!(!second.has_lessons());
    let _ = third.learn(&item(host("c.test"), 3, Some(2), far.clone()), (1_000, None), sketch("ant"));
    let lessons = third.take_lessons();
    assert_eq!(lessons, [Lesson { page: id(2), steps: 1, worth: 750 }]);
    second.learned(&lessons);
    let lessons = second.take_lessons();
    assert_eq!(lessons, [Lesson { page: id(1), steps: 2, worth: 562 }]);
    first.learned(&lessons);
    assert!(
        first.expect(&host("x.test"), &far) > before.0 && second.expect(&host("x.test"), &far) > before.1
    );

    // What is told twice, is no news or is of pages that were never met teaches nothing.
    let learned = first.expect(&host("x.test"), &far);
    first.learned(&lessons);
    first.learned(&[
        Lesson { page: id(9), steps: 1, worth: 750 },
        Lesson { page: id(1), steps: 200, worth: 1_000 },
    ]);
    assert_eq!(first.expect(&host("x.test"), &far), learned);
    assert!(!first.has_lessons());
}

#[test]
fn what_is_remembered_of_paths_has_a_bound() {
    let mut focus = focus(4);
    for number in 0..paths::MAX_PAGES + paths::MAX_WAITING + 2 {
        let found = item(host("a.test"), number, Some(number + 1_000_000), clues(20));
        let _ = focus.learn(&found, (1_000, None), Sketch::default());
    }
    assert_eq!(focus.paths.pages(), paths::MAX_PAGES);
    assert_eq!(focus.take_lessons().len(), paths::MAX_WAITING);
}
