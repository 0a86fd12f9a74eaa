use super::*;
use anthill_crawler::frontier::Failure;
use anthill_crawler::record::{ATTEMPTS_KEPT, CrawlId, QueueKey};
use anthill_protocol::key::{HostId, SiteId, UrlId};
use rand_chacha::rand_core::SeedableRng;

const NOW: Instant = Instant(1_700_000_000_000_000);
const TOOK: Duration = Duration::from_millis(120);
const DAY: Duration = Duration::from_secs(86_400);

struct Office {
    rng: ChaCha8Rng,
    revisit: revisit::Settings,
}

fn office() -> Office {
    Office { rng: ChaCha8Rng::from_seed([4; 32]), revisit: revisit::Settings::default() }
}

impl Office {
    fn desk(&mut self) -> Desk<'_> {
        let backoff = (Duration::from_secs(30), DAY);
        Desk { revisit: Some(&self.revisit), backoff, rng: &mut self.rng, now: NOW }
    }

    fn complete(
        &mut self,
        item: &QueueItem,
        tries: u8,
        end: &End,
        made: Made,
        previous: Option<Box<UrlRecord>>,
        down: Option<Instant>,
    ) -> Fate {
        self.desk().complete(item, tries, (end, TOOK), made, previous, down)
    }
}

fn item() -> QueueItem {
    let site = SiteId::of("a.test");
    QueueItem {
        key: QueueKey { host: HostId::of(site, "a.test"), level: 3, seq: 9 },
        id: UrlId::of(site, "http://a.test/"),
        entry: QueueEntry {
            url: "http://a.test/".into(),
            crawl: CrawlId(1),
            kind: EntryKind::Page,
            depth: 2,
            hops: 0,
            attempt: 0,
            revisit: false,
            from: None,
            first_seen_s: 5,
            clues: None,
        },
    }
}

fn status(status: u16) -> End {
    End::Response { status, retry_after: None, bytes: 10 }
}

fn page(digest: u8) -> Made {
    Made::Page(Box::new(PageFacts { digest: [digest; 16], ..PageFacts::default() }))
}

fn record(fate: &Fate) -> &UrlRecord {
    &fate.commit.record.as_ref().expect("a record").1
}

fn known(visits: u32) -> Box<UrlRecord> {
    let fate = office().complete(&item(), 0, &status(200), page(7), None, None);
    let mut record = fate.commit.record.expect("a record").1;
    record.visits = visits;
    record.last_success_s = NOW.unix_s() - 7 * 86_400;
    record
}

#[test]
fn a_page_is_put_into_the_index_and_comes_back() {
    let fate = office().complete(&item(), 0, &status(200), page(7), None, None);
    assert_eq!(fate.commit.index, IndexAction::Put);
    assert_eq!(fate.tally, Some(Tally::Fetched));
    assert_eq!(fate.commit.done, Some((item().key, true, CrawlId(1))));
    let (at, .., level, entry) = fate.commit.schedule.as_ref().expect("a revisit");
    assert!(entry.revisit && *level == LEVEL_OWN);
    assert!(at.since(NOW) >= DAY * 7 && at.since(NOW) <= DAY * 8);
    let record = record(&fate);
    assert_eq!((record.visits, record.changes, record.tries, record.failures), (1, 0, 1, 0));
    assert_eq!(record.next_s, Some(at.unix_s()));
    assert_eq!((record.depth, record.first_seen_s), (2, 5));
}

#[test]
fn the_same_body_again_leaves_the_index_alone_and_a_changed_one_does_not() {
    let again = |digest| office().complete(&item(), 0, &status(200), page(digest), Some(known(1)), None);
    assert_eq!(again(7).commit.index, IndexAction::Leave);
    assert_eq!(record(&again(7)).changes, 0);
    assert_eq!(again(8).commit.index, IndexAction::Put);
    assert_eq!(record(&again(8)).changes, 1);
    assert_eq!(record(&again(8)).last_change_s, NOW.unix_s());
    let fate = office().complete(&item(), 0, &status(304), Made::NotModified, Some(known(1)), None);
    assert_eq!(fate.commit.index, IndexAction::Leave);
    assert_eq!((record(&fate).visits, record(&fate).digest), (2, [7; 16]));
}

#[test]
fn a_page_that_asks_not_to_be_indexed_is_only_stored() {
    let facts = PageFacts { digest: [7; 16], noindex: true, ..PageFacts::default() };
    let made = Made::Page(Box::new(facts));
    let fate = office().complete(&item(), 0, &status(200), made, Some(known(1)), None);
    assert_eq!(fate.commit.index, IndexAction::StoreOnly);
}

#[test]
fn what_is_gone_leaves_the_index_at_once_and_what_is_missing_after_some_looks() {
    let fate =
        office().complete(&item(), 0, &status(410), Made::Nothing(String::new()), Some(known(3)), None);
    assert_eq!((fate.commit.index, fate.commit.schedule.is_none()), (IndexAction::Remove, true));
    let mut previous = known(3);
    for look in 1..GONE_AFTER {
        let made = Made::Nothing(String::new());
        let fate = office().complete(&item(), 0, &status(404), made, Some(previous), None);
        assert_eq!(fate.commit.index, IndexAction::Leave, "look {look}");
        assert!(fate.commit.schedule.is_some());
        previous = fate.commit.record.expect("a record").1;
    }
    let fate =
        office().complete(&item(), 0, &status(404), Made::Nothing(String::new()), Some(previous), None);
    assert_eq!((fate.commit.index, fate.commit.schedule.is_none()), (IndexAction::Remove, true));
}

#[test]
fn a_page_that_was_never_there_is_not_looked_for_again() {
    let fate = office().complete(&item(), 0, &status(404), Made::Nothing(String::new()), None, None);
    assert!(fate.commit.schedule.is_none());
    assert_eq!(fate.tally, Some(Tally::Failed));
    assert_eq!(record(&fate).state, UrlState::Status(404));
}

#[test]
fn trouble_of_a_url_is_tried_again_later_up_to_the_bound() {
    let mut entry = item();
    for attempt in 1..MAX_ATTEMPTS {
        let end = End::Failed(Failure::Timeout);
        let fate = office().complete(&entry, 0, &end, Made::Nothing(String::new()), None, None);
        let (at, _, _, level, next) = fate.commit.schedule.clone().expect("another try");
        assert!(at.since(NOW) >= Duration::from_secs(30 << (attempt - 1)));
        assert_eq!((level, next.attempt, fate.tally), (3, attempt, None));
        entry.entry = next;
    }
    let end = End::Failed(Failure::Timeout);
    let fate = office().complete(&entry, 0, &end, Made::Nothing(String::new()), None, None);
    assert!(fate.commit.schedule.is_none());
    assert_eq!(fate.tally, Some(Tally::Failed));
    assert_eq!(record(&fate).state, UrlState::Failed("timeout".into()));
}

#[test]
fn trouble_of_a_host_puts_the_entry_back_unless_the_host_is_down() {
    let busy = status(503);
    let fate = office().complete(&item(), 0, &busy, Made::Nothing(String::new()), None, None);
    assert_eq!(fate.put_back, Some(false));
    assert!(fate.commit.done.is_none() && fate.commit.schedule.is_none());
    let down = Some(NOW + DAY);
    let fate = office().complete(&item(), 0, &busy, Made::Nothing(String::new()), None, down);
    assert_eq!(fate.put_back, None);
    assert!(fate.commit.schedule.expect("put off").0 >= NOW + DAY);
    let fate = office().complete(&item(), MAX_ATTEMPTS - 1, &busy, Made::Nothing(String::new()), None, None);
    assert_eq!((fate.put_back, fate.tally), (None, Some(Tally::Failed)));
}

#[test]
fn what_was_not_sent_is_as_if_nothing_had_been() {
    let fate = office().complete(&item(), 2, &End::Expired, Made::Nothing(String::new()), None, None);
    assert_eq!(fate.put_back, Some(true));
    assert_eq!(fate.commit, Commit::default());
}

#[test]
fn a_redirect_is_followed_up_to_the_bound() {
    let to = || Made::Redirect(Some("http://b.test/".into()));
    let fate = office().complete(&item(), 0, &status(302), to(), Some(known(1)), None);
    assert!(fate.follow && fate.tally.is_none());
    assert_eq!(fate.commit.index, IndexAction::Remove, "there is no page here any more");
    assert_eq!(record(&fate).redirect.as_deref(), Some("http://b.test/"));
    let mut far = item();
    far.entry.hops = MAX_HOPS;
    let fate = office().complete(&far, 0, &status(302), to(), None, None);
    assert!(!fate.follow);
    assert_eq!(record(&fate).state, UrlState::Failed("too many redirects".into()));
    let fate = office().complete(&item(), 0, &status(302), Made::Redirect(None), None, None);
    assert!(!fate.follow && fate.tally == Some(Tally::Failed));
}

#[test]
fn what_robots_txt_forbids_is_recorded_and_a_known_page_keeps_its_record() {
    let fate = office().desk().dropped(&item(), 0, Dropped::Robots);
    assert_eq!(record(&fate).state, UrlState::RobotsDenied);
    assert_eq!(fate.tally, Some(Tally::Excluded));
    assert!(fate.commit.schedule.is_none());
    let mut again = item();
    again.entry.revisit = true;
    let fate = office().desk().dropped(&again, 0, Dropped::Robots);
    assert!(fate.commit.record.is_none());
    assert!(fate.commit.schedule.expect("some day").0 >= NOW + DAY * 60);
}

#[test]
fn entries_of_a_host_that_is_down_are_put_off_and_given_up_in_the_end() {
    let until = NOW + DAY;
    let down = |given_up| Dropped::HostDown { until, why: "connect", given_up };
    let fate = office().desk().dropped(&item(), 0, down(false));
    let (at, .., entry) = fate.commit.schedule.clone().expect("put off");
    assert!(at >= until && at <= until + DAY / 8);
    assert_eq!((entry.attempt, fate.tally), (1, None));
    assert_eq!(fate.commit.done, Some((item().key, true, CrawlId(1))), "it was untried on disk");
    let fate = office().desk().dropped(&item(), MAX_ATTEMPTS - 1, down(false));
    assert_eq!(
        fate.commit.schedule.expect("put off").4.attempt,
        MAX_ATTEMPTS - 1,
        "it had no try of its own"
    );
    assert!(fate.commit.record.is_none(), "what is known of its tries stays known");
    let fate = office().desk().dropped(&item(), 0, down(true));
    assert_eq!((fate.tally, fate.commit.schedule.is_none()), (Some(Tally::Failed), true));
    assert_eq!(record(&fate).state, UrlState::Failed("connect".into()));
}

#[test]
fn the_last_tries_are_kept_one_by_one_and_a_first_page_costs_no_list() {
    let first = office().complete(&item(), 0, &status(200), page(7), None, None);
    let mut last = first.commit.record.expect("a record").1;
    assert!(last.tried.is_empty());
    assert_eq!(last.attempts().len(), 1);
    assert_eq!(last.attempts()[0].took_ms, 120);

    let broken = End::Failed(Failure::Timeout);
    let fate = office().complete(&item(), 1, &broken, Made::Nothing(String::new()), Some(last), None);
    last = fate.commit.record.expect("a record").1;
    let states: Vec<_> = last.attempts().into_iter().map(|attempt| attempt.state).collect();
    assert_eq!(states, [UrlState::Status(200), UrlState::Failed("timeout".into())]);

    for _ in 0..ATTEMPTS_KEPT {
        let made = Made::Nothing(String::new());
        last = office()
            .complete(&item(), 0, &status(404), made, Some(last), None)
            .commit
            .record
            .expect("a record")
            .1;
    }
    let kept = last.attempts();
    assert_eq!(kept.len(), ATTEMPTS_KEPT);
    assert!(kept.iter().all(|attempt| attempt.state == UrlState::Status(404) && attempt.bytes == 10));
    assert_eq!(last.tries as usize, ATTEMPTS_KEPT + 2);
}

#[test]
fn a_first_try_that_fails_is_told_of_when_the_second_succeeds() {
    let failed = End::Failed(Failure::Connect);
    let fate = office().complete(&item(), 0, &failed, Made::Nothing(String::new()), None, None);
    let record = fate.commit.record.expect("a record").1;
    let fate = office().complete(&item(), 1, &status(200), page(7), Some(record), None);
    let states: Vec<_> = self::record(&fate).attempts().into_iter().map(|attempt| attempt.state).collect();
    assert_eq!(states, [UrlState::Failed("connect".into()), UrlState::Status(200)]);
}
