//! `anthill demo`: a swarm on this machine, over a web of its own.

mod picture;
mod swarm;
pub mod web;

use crate::ask::wait_for;
use crate::failure::{Code, Failure};
use crate::human::Page;
use anthill_node::api::types::{CrawlAccepted, CrawlProgress, CrawlRequest, Hit, SearchResults};
use anthill_web::WebSettings;
use picture::Picture;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use swarm::Swarm;
use web::Demo;

/// Peers, at most: each is a process with some hundred MB.
const MAX_PEERS: i64 = 16;
/// Requests to the demo's web that are remembered: many times those of its pages.
const REMEMBERED: usize = 100_000;
/// Between two looks at the peers.
const LOOK: Duration = Duration::from_millis(250);
/// Longest wait until the peers have found each other.
const MEET: Duration = Duration::from_secs(120);
/// How long the crawl waits for the peers to have shared the work out among them: it would begin without, less evenly.
const SHARE_OUT: Duration = Duration::from_secs(45);
/// Longest crawl.
const CRAWL: Duration = Duration::from_secs(300);
/// Longest wait until every peer answers for all.
const ANSWER: Duration = Duration::from_secs(60);
/// What is asked.
const QUESTION: &str = "museum";
/// Hits shown.
const HITS: usize = 5;

/// Of which size.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Peers of the swarm
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..=MAX_PEERS))]
    peers: u16,
    /// Leave the swarm running, to be looked at, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// Runs it: peers start and meet, crawl a web together, and are asked the same question each.
///
/// # Errors
/// When a peer cannot be started, or the swarm does not do what it should in time.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let web = Demo::serve(WebSettings::swarm_demo(), REMEMBERED)?;
    let mut swarm = Swarm::new(&web.resolve)?;
    wait_for(async {
        let shown = tokio::select! {
            shown = show(&args, &web, &mut swarm) => shown,
            _ = tokio::signal::ctrl_c() => Err(Failure::failed("stopped before it was over")),
        };
        if shown.is_ok() && args.keep {
            keep(&swarm).await;
        }
        eprintln!("ending the peers");
        let killed = swarm.stop().await;
        let same = shown?;
        if killed > 0 {
            return Err(Failure::failed(format!(
                "{killed} of the peers did not end in time and were killed"
            )));
        }
        eprintln!("all peers have ended");
        Ok(if same { ExitCode::SUCCESS } else { Code::Partial.into() })
    })
}

/// What there is to be seen; whether each peer gave the same answer.
async fn show(args: &Args, web: &Demo, swarm: &mut Swarm) -> Result<bool, Failure> {
    let count = usize::from(args.peers);
    eprintln!("starting {count} peers on this machine, and a small web for them to crawl");
    swarm.start(count).await?;
    let mut picture = Picture::new(count);
    meet(swarm, &mut picture).await?;
    let begun = Instant::now();
    crawl(web, swarm, &mut picture).await?;
    let seconds = begun.elapsed().as_secs_f64();
    picture.end();
    let requests = web.requests();
    let mut page = Page::new();
    page.bold(&format!(
        "{} pages of {} sites in {seconds:.1} s, {}",
        requests.pages,
        requests.hosts,
        match requests.repeated {
            0 => "each asked for once".to_owned(),
            n => format!("{n} of them asked for more than once"),
        }
    ));
    for (n, status) in swarm.look().await?.iter().enumerate() {
        page.line(&format!(
            "  peer {}: {} pages, {} of 16384 slots",
            n + 1,
            status.urls.fetched,
            status.slots.held
        ));
    }
    page.show();
    let answers = ask(swarm).await?;
    Ok(compare(&answers))
}

/// Waits until all know all, and slots are about equally shared.
async fn meet(swarm: &Swarm, picture: &mut Picture) -> Result<(), Failure> {
    let begun = Instant::now();
    loop {
        let all = swarm.look().await?;
        picture.meeting(&all);
        let others = all.len() as u64 - 1;
        let met = all.iter().all(|status| status.peers.alive == others);
        if !met && begun.elapsed() > MEET {
            return Err(Failure::failed(
                "the peers did not find each other; a firewall on loopback may be why",
            ));
        }
        let held: u64 = all.iter().map(|status| status.slots.held).sum();
        let fair = all.iter().all(|status| status.slots.held * 2 * all.len() as u64 >= held);
        if met && (fair && held == swarm::SLOTS || begun.elapsed() > SHARE_OUT) {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Has the second peer begin the crawl, and looks on until it is over.
async fn crawl(web: &Demo, swarm: &Swarm, picture: &mut Picture) -> Result<(), Failure> {
    let request = CrawlRequest { seeds: web.seeds.clone(), ..CrawlRequest::default() };
    let beginner = swarm.node(1)?;
    let accepted: CrawlAccepted = beginner.post(&["crawl"], &request).await?.read()?;
    let id = accepted.crawl.to_string();
    let begun = Instant::now();
    loop {
        let progress: CrawlProgress = beginner.get(&["crawl", &id], &[]).await?.read()?;
        picture.crawling(&swarm.look().await?, &progress);
        if progress.done {
            return Ok(());
        }
        if begun.elapsed() > CRAWL {
            return Err(Failure::failed(format!("the crawl is not over after {} s", CRAWL.as_secs())));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What each peer answers, as soon as all answer for everything and the same, or when time is up.
async fn ask(swarm: &Swarm) -> Result<Vec<SearchResults>, Failure> {
    let begun = Instant::now();
    loop {
        let mut answers = Vec::with_capacity(swarm.len());
        for n in 0..swarm.len() {
            let query = [("q", QUESTION.to_owned())];
            answers.push(swarm.node(n)?.get(&["search"], &query).await?.read::<SearchResults>()?);
        }
        if is_same(&answers) || begun.elapsed() > ANSWER {
            return Ok(answers);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn is_same(answers: &[SearchResults]) -> bool {
    let urls =
        |answer: &SearchResults| -> Vec<String> { answer.hits.iter().map(|hit| hit.url.clone()).collect() };
    let whole = |answer: &SearchResults| answer.coverage.complete && !answer.hits.is_empty();
    answers.iter().all(|answer| whole(answer) && urls(answer) == urls(&answers[0]))
}

/// Shows what was answered; whether it was the same everywhere.
fn compare(answers: &[SearchResults]) -> bool {
    let mut page = Page::new();
    let same = is_same(answers);
    if same {
        page.bold(&format!(
            "`{QUESTION}`: the same {} hits at each peer, the first of them",
            answers[0].hits.len()
        ));
        answers[0].hits.iter().take(HITS).for_each(|hit| write(&mut page, hit));
    } else {
        page.bold(&format!("`{QUESTION}`: the peers differ"));
        for (n, answer) in answers.iter().enumerate() {
            page.line(&format!("peer {}, {} documents missing:", n + 1, answer.coverage.documents_missing));
            answer.hits.iter().take(HITS).for_each(|hit| write(&mut page, hit));
        }
    }
    page.show();
    same
}

fn write(page: &mut Page, hit: &Hit) {
    page.line(&format!("  {}. {}", hit.rank, hit.title));
    page.link(&format!("     {}", hit.url));
}

/// Until somebody has seen enough.
async fn keep(swarm: &Swarm) {
    for n in 0..swarm.len() {
        if let Ok(node) = swarm.node(n) {
            eprintln!("peer {}  {}/", n + 1, node.address());
        }
    }
    eprintln!("the swarm stays until Ctrl-C");
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_node::api::types::Coverage;

    fn answer(urls: &[&str], complete: bool) -> SearchResults {
        let hits = urls.iter().map(|url| Hit { url: (*url).to_owned(), ..Hit::default() });
        let coverage = Coverage { complete, ..Coverage::default() };
        SearchResults { hits: hits.collect(), coverage, ..SearchResults::default() }
    }

    #[test]
    fn answers_are_the_same_if_whole_and_in_the_same_order() {
        let (one, other) = (answer(&["a", "b"], true), answer(&["b", "a"], true));
        assert!(is_same(&[one.clone(), one.clone()]));
        assert!(!is_same(&[one.clone(), other]));
        assert!(!is_same(&[one.clone(), answer(&["a", "b"], false)]));
        assert!(!is_same(&[answer(&[], true), answer(&[], true)]), "nothing found shows nothing");
    }
}
