//! Fills a store, in equal parts, so that one sees whether it slows down.

use super::urls::{CRAWL, PER_PAGE, Urls};
use crate::clock::{Clock, cpu};
use crate::settings::Settings;
use crate::setup;
use crate::store::Store;
use crate::store::write::{Write, Writer};
use anthill_agent::Agent;
use anthill_agent::io::{Commit, Input};
use anthill_crawler::record::CrawlRecord;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Commits per batch: what the writing thread finds waiting under load.
const BATCH: u64 = 64;
/// Parts of which each is measured.
const PARTS: u64 = 10;
/// URLs that are offered again when all are known.
const AGAIN: u64 = 200_000;

/// What filling took.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Filled {
    /// URLs known, of so many hosts.
    pub urls: u64,
    /// See `urls`.
    pub hosts: u32,
    /// Bytes of a URL, on average.
    pub url_bytes: f64,
    /// Time that passed while batches were written.
    pub admit_wall_s: f64,
    /// CPU time of the whole process, RocksDB's threads included, without making up the URLs.
    pub admit_cpu_s: f64,
    /// All URLs over that time.
    pub urls_per_cpu_s: f64,
    /// The same for each tenth of them.
    pub tenths_per_cpu_s: Vec<f64>,
    /// URLs that were known for long, offered again, per CPU second.
    pub known_per_cpu_s: f64,
    /// Memory at the end and at its peak: store, writer and agent.
    pub rss_mb: f64,
    /// See `rss_mb`.
    pub peak_rss_mb: f64,
    /// What the store's files take.
    pub disk_bytes: u64,
}

struct Filler {
    urls: Urls,
    writer: Writer,
    agent: Agent,
    clock: Clock,
    bytes: u64,
    admitted: u64,
}

impl Filler {
    /// A batch of commits that admit the URLs from this number on.
    fn batch(&mut self, from: u64, end: u64) -> Vec<Write> {
        let pages = (from..end).step_by(PER_PAGE as usize).map(|first| {
            let admit: Vec<_> =
                (first..(first + PER_PAGE).min(end)).map(|n| self.urls.admission(n)).collect();
            self.bytes += admit.iter().map(|a| a.entry.url.len() as u64).sum::<u64>();
            let hosts = vec![self.urls.record(first)];
            Write { commit: Box::new(Commit { admit, hosts, ..Commit::default() }), made: None }
        });
        pages.collect()
    }

    /// Writes URLs as new ones, and tells the agent; the time is of all threads.
    fn admit(&mut self, from: u64, end: u64) -> anyhow::Result<(Duration, Duration)> {
        let (mut wall, cpu_before, mut making) = (Duration::ZERO, cpu::process(), Duration::ZERO);
        let mut next = from;
        while next < end {
            let stop = (next + BATCH * PER_PAGE).min(end);
            let begun = cpu::thread();
            let batch = self.batch(next, stop);
            making += cpu::thread().saturating_sub(begun);
            let begun = Instant::now();
            let written = self.writer.write(&batch)?;
            let input = Input::Committed {
                commits: u32::try_from(batch.len())?,
                gained: written.gained,
                admitted: written.admitted,
                gone: written.gone,
                next_due: written.next_due,
                promoted: false,
            };
            if let Input::Committed { admitted, .. } = &input {
                self.admitted += admitted.iter().map(|(.., count)| count).sum::<u64>();
            }
            self.agent.handle(self.clock.now(), input, &mut Vec::new());
            wall += begun.elapsed();
            next = stop;
        }
        Ok((wall, cpu::process().saturating_sub(cpu_before).saturating_sub(making)))
    }
}

/// Admits so many URLs of so many hosts to the store in the data folder of `settings`. What RocksDB has not yet merged
/// is left so, as a crash would. `progress` is told of each tenth.
///
/// # Errors
/// The folder cannot be written, or holds a store already.
pub fn fill(
    settings: &Settings,
    urls: u64,
    hosts: u32,
    progress: impl Fn(u64, f64),
) -> anyhow::Result<(Filled, Arc<Store>)> {
    let store = Arc::new(Store::open(&settings.data.join("db"), setup::memory(settings))?);
    let mut writer = Writer::new(Arc::clone(&store))?;
    anyhow::ensure!(writer.totals().known == 0, "{} is not empty: choose another", settings.data.display());
    let record = CrawlRecord { id: CRAWL, ..CrawlRecord::default() };
    let crawl = Commit { crawls: vec![record], ..Commit::default() };
    writer.write(&[Write { commit: Box::new(crawl), made: None }])?;
    let clock = Clock::start();
    let mut agent = Agent::new(setup::agent(settings), [0; 32]);
    let start = Input::Start {
        hosts: Vec::new(),
        earlier: false,
        crawls: store.crawls()?,
        entered: Vec::new(),
        next_due: None,
    };
    // Paused: it keeps count of hosts, but nothing is fetched.
    agent.handle(clock.now(), Input::Pause("measuring".into()), &mut Vec::new());
    agent.handle(clock.now(), start, &mut Vec::new());
    let mut filler = Filler { urls: Urls::new(hosts), writer, agent, clock, bytes: 0, admitted: 0 };
    let mut filled = Filled { urls, hosts, ..Filled::default() };
    for part in 0..PARTS {
        let (from, end) = (urls * part / PARTS, urls * (part + 1) / PARTS);
        let (wall, cpu) = filler.admit(from, end)?;
        filled.admit_wall_s += wall.as_secs_f64();
        filled.admit_cpu_s += cpu.as_secs_f64();
        filled.tenths_per_cpu_s.push(((end - from) as f64 / cpu.as_secs_f64()).round());
        progress(end, filled.admit_cpu_s);
    }
    let known = store.totals()?.known;
    anyhow::ensure!(filler.admitted == urls && known == urls, "{known} of {urls} URLs were admitted");
    filled.urls_per_cpu_s = (urls as f64 / filled.admit_cpu_s).round();
    filled.url_bytes = filler.bytes as f64 / urls.max(1) as f64;
    let again = AGAIN.min(urls);
    let (_, cpu) = filler.admit(0, again)?;
    filled.known_per_cpu_s = (again as f64 / cpu.as_secs_f64()).round();
    anyhow::ensure!(filler.admitted == urls, "URLs were admitted twice");
    (filled.rss_mb, filled.peak_rss_mb) = super::memory_mb();
    filled.disk_bytes = store.disk_bytes();
    Ok((filled, store))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_offered_is_admitted_once_and_a_start_finds_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::with_data(dir.path());
        settings.host_delay = Duration::ZERO;
        let (filled, store) = fill(&settings, 3_000, 50, |_, _| {}).unwrap();
        assert_eq!((filled.urls, filled.tenths_per_cpu_s.len()), (3_000, 10));
        drop(store);
        let restarted = super::super::restart::restart(&settings).unwrap();
        assert!(restarted.hosts > 40, "{restarted:?}");
        assert!(restarted.first_url.starts_with("https://"), "{restarted:?}");
        assert!(fill(&settings, 10, 1, |_, _| {}).is_err());
    }
}
