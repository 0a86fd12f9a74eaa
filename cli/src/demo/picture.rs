//! Who does what: a bar for each peer on a terminal, lines now and then elsewhere.

use anthill_node::api::types::{CrawlProgress, Status};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const LINE: Duration = Duration::from_secs(2);

/// A live picture of a swarm.
pub enum Picture {
    /// One for each peer, and one for all.
    Bars(Vec<ProgressBar>, ProgressBar),
    /// When the last were written.
    Lines(Option<Instant>),
}

impl Picture {
    /// One of so many peers, about which nothing is known yet.
    pub fn new(peers: usize) -> Picture {
        if !std::io::stderr().is_terminal() {
            return Picture::Lines(None);
        }
        let style = |template| ProgressStyle::with_template(template).expect("the template is valid");
        let all = MultiProgress::new();
        let bar = |n: usize| {
            let bar = all.add(ProgressBar::new(super::swarm::SLOTS).with_prefix(format!("peer {}", n + 1)));
            bar.set_style(style("{prefix:>8} {bar:30} {msg}"));
            bar
        };
        let bars = (0..peers).map(bar).collect();
        let sum = all.add(ProgressBar::new(0).with_prefix("all"));
        sum.set_style(style("{prefix:>8} {bar:30} {msg}"));
        sum.enable_steady_tick(Duration::from_millis(120));
        Picture::Bars(bars, sum)
    }

    /// The peers meet, and share the slots out.
    pub fn meeting(&mut self, all: &[Status]) {
        let held =
            |status: &Status| format!("{:5} slots, sees {} others", status.slots.held, status.peers.alive);
        let sum: u64 = all.iter().map(|status| status.slots.held).sum();
        let sum = format!("{sum} of {} slots are held, until each peer has its share", super::swarm::SLOTS);
        self.show(all, super::swarm::SLOTS, |status| status.slots.held, held, &sum);
    }

    /// They crawl.
    pub fn crawling(&mut self, all: &[Status], crawl: &CrawlProgress) {
        let does = |status: &Status| {
            format!(
                "{:4} pages, {:2} in flight, {:5.1}/s, {} links to others",
                status.urls.fetched, status.fetch.in_flight, status.fetch.per_s, status.links.sent
            )
        };
        let sum = format!("{} of {} URLs are fetched", crawl.fetched, crawl.admitted);
        self.show(all, crawl.admitted, |status| status.urls.fetched, does, &sum);
    }

    fn show(
        &mut self,
        all: &[Status],
        of: u64,
        done: impl Fn(&Status) -> u64,
        say: impl Fn(&Status) -> String,
        sum: &str,
    ) {
        match self {
            Picture::Bars(bars, total) => {
                for (bar, status) in bars.iter().zip(all) {
                    bar.set_length(of);
                    bar.set_position(done(status));
                    bar.set_message(say(status));
                }
                total.set_length(of);
                total.set_position(all.iter().map(&done).sum());
                total.set_message(sum.to_owned());
            }
            Picture::Lines(last) if last.is_none_or(|last| last.elapsed() >= LINE) => {
                *last = Some(Instant::now());
                eprintln!("{sum}");
                for (n, status) in all.iter().enumerate() {
                    eprintln!("  peer {}: {}", n + 1, say(status));
                }
            }
            Picture::Lines(_) => {}
        }
    }

    /// Nothing more is to be seen.
    pub fn end(&mut self) {
        if let Picture::Bars(bars, sum) = self {
            bars.iter().for_each(ProgressBar::finish_and_clear);
            sum.finish_and_clear();
        }
    }
}
