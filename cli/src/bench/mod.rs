//! `anthill bench`: how fast is this machine? A whole peer, as a process of its own, crawls a local web and is asked
//! queries; beside it stands the floor: each part of the work alone, with the same settings, summed.

mod frontier;
mod query;

use crate::human::line;
use anthill_node::floor::{Floor, floor};
use anthill_node::settings::Settings;
use anthill_web::{Folder, Log, Server, Source, Web, WebSettings, serve};
use anyhow::{Context, bail, ensure};
use serde::Serialize;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest crawl that is waited for.
const PATIENCE: Duration = Duration::from_secs(900);
/// Between two looks at the peer. Each costs it half a millisecond, to count what it owes in all slots.
const POLL: Duration = Duration::from_millis(100);
/// Pages the floor is measured on, at most: evenly drawn from all, which are in order of site, and sites differ.
const FLOOR_PAGES: usize = 10_000;

/// Runs, at most.
const MAX_RUNS: usize = 100;

/// What is measured.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Pages of the generated web
    #[arg(long, default_value_t = 5_000)]
    pages: u32,
    /// Hosts of the generated web; 0: one for each hundred pages
    #[arg(long, default_value_t = 0, conflicts_with = "folder")]
    hosts: u32,
    /// How late the generated web answers, in milliseconds: so that many requests are in flight
    #[arg(long, default_value_t = 0, value_name = "MS", conflicts_with = "folder")]
    latency: u64,
    /// Crawl a folder of real pages (DIR/hosts/HOST/PATH) instead of a generated web
    #[arg(long, value_name = "DIR", requires = "seed")]
    folder: Option<PathBuf>,
    /// Where to begin in the folder; may be repeated
    #[arg(long, value_name = "URL")]
    seed: Vec<String>,
    /// Requests in flight, at most
    #[arg(long, default_value_t = 64)]
    fetchers: u32,
    /// Threads that parse pages; 0: as many as there are cores
    #[arg(long, default_value_t = 0)]
    parsers: u32,
    /// Queries asked
    #[arg(long, default_value_t = 1_000)]
    queries: usize,
    /// Measure so many times, and print medians
    #[arg(long, default_value_t = 1, value_name = "N")]
    runs: usize,
    /// Leave out the floor
    #[arg(long)]
    no_floor: bool,
}

/// What else can be measured.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// Admit millions of URLs, then start again after a crash
    Frontier(frontier::Args),
    /// Ask one index, in process
    Query(query::Args),
}

/// One run, or the medians of several.
#[derive(Clone, Serialize)]
struct Report {
    pages: u64,
    requests: u64,
    crawl_wall_s: f64,
    crawl_cpu_s: f64,
    pages_per_s: f64,
    pages_per_cpu_s: f64,
    peak_rss_mb: f64,
    /// Most requests in flight, of what was seen at each look.
    peak_in_flight: u64,
    bytes: u64,
    floor: Option<Floor>,
    /// Pages per CPU second of the whole job over those of the floor, which has every request of the job.
    share_of_floor: Option<f64>,
    queries: usize,
    query_p50_ms: f64,
    query_p99_ms: f64,
}

/// What is printed: medians, and how far the runs lay apart.
#[derive(Serialize)]
struct Summary {
    runs: usize,
    #[serde(flatten)]
    median: Report,
    /// Least and greatest share of the floor.
    share_of_floor_range: Option<(f64, f64)>,
}

/// Measures it.
///
/// # Errors
/// When the peer cannot be started, or the crawl does not end.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        Some(What::Frontier(args)) => return frontier::run(args),
        Some(What::Query(args)) => return query::run(args),
        None => {}
    }
    ensure!((1..=MAX_RUNS).contains(&args.runs), "--runs is a number from 1 to {MAX_RUNS}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (_server, seeds, resolve) = runtime.block_on(local_web(&args))?;
    let mut runs = Vec::with_capacity(args.runs);
    for n in 1..=args.runs {
        if args.runs > 1 {
            eprintln!("run {n} of {}", args.runs);
        }
        runs.push(measure(&args, &seeds, &resolve)?);
    }
    line(serde_json::to_string(&summary(&runs))?);
    Ok(ExitCode::SUCCESS)
}

/// One run: the whole job, and right after it its floor, so that both see the same machine.
fn measure(args: &Args, seeds: &[String], resolve: &[String]) -> anyhow::Result<Report> {
    let scratch = tempfile::tempdir()?;
    eprintln!("crawling the local web with a peer of its own");
    let mut peer = Peer::start(scratch.path(), args, resolve)?;
    // Real pages lead to hosts that are not here; those are not part of what is measured.
    let scope = if args.folder.is_some() { "host" } else { "any" };
    let crawl = peer.crawl(seeds, scope)?;
    let urls = peer.urls()?;
    eprintln!("{} pages in {:.1} s; asking {} queries", crawl.pages, crawl.wall, args.queries);
    let times = peer.query(args.queries)?;
    drop(peer);
    let floor = if args.no_floor {
        None
    } else {
        eprintln!("measuring each part of the work alone");
        let mut settings = Settings::with_data(scratch.path());
        for rule in resolve {
            settings.resolve.push(rule.parse()?);
        }
        let step = urls.len().div_ceil(FLOOR_PAGES).max(1);
        let urls: Vec<String> = urls.into_iter().step_by(step).collect();
        Some(floor(&settings, &urls, scratch.path())?)
    };
    let pages_per_cpu_s = crawl.pages as f64 / crawl.cpu;
    // Requests that give no page (robots.txt, 404) are part of the work, and so of its floor.
    let more_fetches = (crawl.requests as f64 / crawl.pages as f64 - 1.0).max(0.0);
    let report = Report {
        pages: crawl.pages,
        requests: crawl.requests,
        crawl_wall_s: crawl.wall,
        crawl_cpu_s: crawl.cpu,
        pages_per_s: crawl.pages as f64 / crawl.wall,
        pages_per_cpu_s,
        peak_rss_mb: crawl.rss_mb,
        peak_in_flight: crawl.in_flight,
        bytes: crawl.bytes,
        floor,
        share_of_floor: floor.map(|f| pages_per_cpu_s * (f.sum_us + more_fetches * f.fetch_us) / 1e6),
        queries: times.len(),
        query_p50_ms: percentile(&times, 0.50),
        query_p99_ms: percentile(&times, 0.99),
    };
    if let Some(share) = report.share_of_floor {
        eprintln!("{pages_per_cpu_s:.0} pages per CPU second, {share:.3} of the floor");
    }
    Ok(report)
}

/// The median of each number; pages and what else does not vary are the first run's.
fn summary(runs: &[Report]) -> Summary {
    let median = |number: &dyn Fn(&Report) -> f64| {
        let mut all: Vec<f64> = runs.iter().map(number).collect();
        all.sort_by(f64::total_cmp);
        percentile(&all, 0.5)
    };
    let mut report = runs[0].clone();
    report.crawl_wall_s = median(&|r| r.crawl_wall_s);
    report.crawl_cpu_s = median(&|r| r.crawl_cpu_s);
    report.pages_per_s = median(&|r| r.pages_per_s);
    report.pages_per_cpu_s = median(&|r| r.pages_per_cpu_s);
    report.peak_rss_mb = median(&|r| r.peak_rss_mb);
    report.query_p50_ms = median(&|r| r.query_p50_ms);
    report.query_p99_ms = median(&|r| r.query_p99_ms);
    let part = |of: fn(&Floor) -> f64| median(&move |r| r.floor.as_ref().map_or(0.0, of));
    report.floor = report.floor.map(|first| Floor {
        pages: first.pages,
        fetch_us: part(|f| f.fetch_us),
        parse_us: part(|f| f.parse_us),
        links_us: part(|f| f.links_us),
        pack_us: part(|f| f.pack_us),
        store_us: part(|f| f.store_us),
        index_us: part(|f| f.index_us),
        sum_us: part(|f| f.sum_us),
        cores_scaling: part(|f| f.cores_scaling),
    });
    let shares: Vec<f64> = runs.iter().filter_map(|r| r.share_of_floor).collect();
    report.share_of_floor = report.share_of_floor.map(|_| median(&|r| r.share_of_floor.unwrap_or(0.0)));
    let range = shares.iter().fold(None, |range: Option<(f64, f64)>, &s| {
        Some(range.map_or((s, s), |(least, most)| (least.min(s), most.max(s))))
    });
    Summary { runs: runs.len(), median: report, share_of_floor_range: range }
}

/// The `share` quantile of sorted milliseconds.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

async fn local_web(args: &Args) -> anyhow::Result<(Server, Vec<String>, Vec<String>)> {
    let log = Arc::new(Log::new(1));
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
    if let Some(dir) = &args.folder {
        let folder = Arc::new(Folder::open(dir).with_context(|| format!("{}", dir.display()))?);
        let source: Arc<dyn Source> = folder.clone();
        let server = serve(source, &loopback, 0, log).await?;
        let resolve = folder.resolve_flags(server.address())?;
        return Ok((server, args.seed.clone(), resolve));
    }
    let mut settings = WebSettings::bench(args.pages);
    if args.hosts > 0 {
        settings.hosts = args.hosts;
        settings.pages_per_host = args.pages.div_ceil(args.hosts).max(1);
    }
    if args.latency > 0 {
        settings.shares.slow = 10_000;
        settings.slow_ms = args.latency;
    }
    let web = Arc::new(Web::new(settings)?);
    let server = serve(web.clone(), &web.addresses(), 0, log).await?;
    let resolve = web.resolve_flags(server.addresses());
    Ok((server, web.seeds(), resolve))
}

/// A peer that is measured; killed when dropped.
struct Peer {
    child: Child,
    data: PathBuf,
    api: String,
}

/// What a crawl took.
struct Crawl {
    pages: u64,
    requests: u64,
    bytes: u64,
    wall: f64,
    cpu: f64,
    rss_mb: f64,
    in_flight: u64,
}

impl Peer {
    fn start(dir: &Path, args: &Args, resolve: &[String]) -> anyhow::Result<Peer> {
        let data = dir.join("peer");
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["node", "--quiet", "--api", "127.0.0.1:0", "--host-delay", "0s", "--ip-delay", "0s"]);
        command.args(["--fetchers", &args.fetchers.to_string()]).arg("--data").arg(&data);
        command.env("ANTHILL_THREADS__PARSERS", args.parsers.to_string());
        for rule in resolve {
            command.args(["--resolve", rule]);
        }
        let log = data.with_extension("log");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&log)?);
        let mut child = command.spawn().context("the peer cannot be started")?;
        let begun = Instant::now();
        loop {
            if let Ok(api) = std::fs::read_to_string(data.join("api.addr"))
                && api.ends_with('\n')
            {
                return Ok(Peer { child, data, api: api.trim().to_owned() });
            }
            if child.try_wait()?.is_some() || begun.elapsed() > Duration::from_secs(30) {
                let _ = child.kill();
                bail!("the peer did not start: {}", std::fs::read_to_string(&log).unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn crawl(&mut self, seeds: &[String], scope: &str) -> anyhow::Result<Crawl> {
        let begun = Instant::now();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("crawl").args(seeds).args(["--scope", scope, "--node", &format!("http://{}", self.api)]);
        let accepted = command.arg("--data").arg(&self.data).stderr(Stdio::null()).status()?;
        ensure!(accepted.success(), "the peer takes no crawl");
        let mut in_flight = 0;
        loop {
            let status = self.get("/api/v1/status")?;
            let number = |path: &str| status.pointer(path).and_then(Value::as_u64).unwrap_or(0);
            let fetched = number("/pages/indexed");
            in_flight = in_flight.max(number("/fetch/in_flight"));
            if status["idle"] == true && number("/urls/known") > 0 && self.settled()? {
                let status = self.get("/api/v1/status")?;
                let (cpu, rss_mb) = usage(self.child.id())?;
                return Ok(Crawl {
                    pages: status["pages"]["indexed"].as_u64().unwrap_or(0),
                    requests: number("/urls/fetched") + number("/urls/failed"),
                    bytes: number("/pages/bytes"),
                    wall: begun.elapsed().as_secs_f64(),
                    cpu,
                    rss_mb,
                    in_flight,
                });
            }
            ensure!(begun.elapsed() < PATIENCE, "the crawl did not end: {status}");
            if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
                eprint!("\r{fetched} pages ");
            }
            std::thread::sleep(POLL);
        }
    }

    /// Whether everything fetched can be found: the index has committed.
    fn settled(&self) -> anyhow::Result<bool> {
        let text = self.raw("/metrics")?;
        let value = |name: &str| {
            let line = text.lines().find(|l| l.starts_with(name) && !l.starts_with('#'));
            line.and_then(|l| l.rsplit(' ').next()).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0)
        };
        Ok(value("anthill_index_settled") > 0.0)
    }

    /// URLs of pages that the index has.
    fn urls(&self) -> anyhow::Result<Vec<String>> {
        let text = self.raw("/api/v1/export/cdx")?;
        let urls = text.lines().filter_map(|line| {
            let json: Value = serde_json::from_str(line.splitn(3, ' ').nth(2)?).ok()?;
            Some(json["url"].as_str()?.to_owned())
        });
        Ok(urls.collect())
    }

    /// Milliseconds of queries of one to three words drawn from titles, sorted.
    fn query(&self, count: usize) -> anyhow::Result<Vec<f64>> {
        let first = self.get("/api/v1/search?q=the&n=50")?;
        let mut words: Vec<String> = Vec::new();
        let hits = first["hits"].as_array().cloned().unwrap_or_default();
        for hit in &hits {
            for text in [hit["title"].as_str(), hit["snippet"].as_str()].into_iter().flatten() {
                let plain = text.replace("<b>", "").replace("</b>", "");
                words.extend(
                    plain.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).map(str::to_owned),
                );
            }
        }
        if words.is_empty() {
            words.push("the".to_owned());
        }
        let mut times = Vec::with_capacity(count);
        for n in 0..count {
            let picked: Vec<&str> =
                (0..n % 3 + 1).map(|k| words[(n * 7919 + k * 104_729) % words.len()].as_str()).collect();
            let begun = Instant::now();
            self.raw(&format!("/api/v1/search?q={}", picked.join("+")))?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    }

    fn get(&self, path: &str) -> anyhow::Result<Value> {
        serde_json::from_str(&self.raw(path)?).with_context(|| path.to_owned())
    }

    fn raw(&self, path: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(&self.api)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let token = std::fs::read_to_string(self.data.join("api.token")).unwrap_or_default();
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\nAuthorization: Bearer {}\r\n\r\n",
            self.api,
            token.trim()
        )?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        ensure!(line.split(' ').nth(1) == Some("200"), "{path}: {}", line.trim());
        while !line.trim().is_empty() {
            line.clear();
            reader.read_line(&mut line)?;
        }
        let mut body = Vec::new();
        reader.read_to_end(&mut body)?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU seconds and peak memory in megabytes of a process so far, by the operating system.
fn usage(pid: u32) -> anyhow::Result<(f64, f64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    // utime and stime, fields 14 and 15 of proc(5), in ticks of a hundredth of a second.
    let ticks = |n: usize| fields.get(n).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = peak.and_then(|p| p.trim().split(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0);
    Ok(((ticks(11) + ticks(12)) / 100.0, kb / 1024.0))
}
