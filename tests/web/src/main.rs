//! `anthill-web`: serves a generated web, a folder or hostile endpoints on loopback, and says what the right crawl of a
//! generated web comes to and whether a crawl was polite.

use anthill_web::politeness::{self, Expect};
use anthill_web::{DEFAULT_CAPACITY, Folder, Log, LogEntry, Source, Web, WebSettings, hostile, serve};
use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::json;
use std::io::BufRead;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// A web of many hosts on this machine, for the demo, benchmarks and tests.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a generated web until interrupted; its addresses are printed as JSON.
    Serve {
        #[command(flatten)]
        web: WebArgs,
        #[command(flatten)]
        serve: ServeArgs,
        /// Seconds between ticks, at each of which pages change; 0 is never.
        #[arg(long, default_value_t = 0)]
        tick_every: u64,
    },
    /// Serve DIR/hosts/HOST/PATH until interrupted.
    Folder {
        /// The folder that holds `hosts`.
        dir: PathBuf,
        /// Milliseconds after which each request is answered.
        #[arg(long, default_value_t = 0)]
        latency_ms: u64,
        #[command(flatten)]
        serve: ServeArgs,
    },
    /// Serve endpoints that answer with what no client should trust, until interrupted.
    Hostile {
        #[command(flatten)]
        serve: ServeArgs,
    },
    /// Print what the right crawl of a generated web comes to, as JSON.
    Truth {
        #[command(flatten)]
        web: WebArgs,
        /// The tick at which it is crawled.
        #[arg(long, default_value_t = 0)]
        tick: u64,
        /// Do not read sitemaps.
        #[arg(long)]
        no_sitemaps: bool,
        /// Where the crawl begins; the first host's home page by default.
        seeds: Vec<String>,
    },
    /// Print what was impolite in a log, a line of JSON each; exit code 1 if anything was.
    Check {
        #[command(flatten)]
        web: WebArgs,
        /// A file that `serve --log` wrote.
        log: PathBuf,
        /// Milliseconds from the end of an answer to the next request of the host.
        #[arg(long, default_value_t = 1_000)]
        host_delay_ms: u64,
        /// Milliseconds between requests of an address.
        #[arg(long, default_value_t = 200)]
        ip_delay_ms: u64,
        /// Allow URLs to be fetched again.
        #[arg(long)]
        again: bool,
    },
    /// Print the settings of a generated web as JSON, to be changed and given by --settings.
    Settings {
        #[command(flatten)]
        web: WebArgs,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Preset {
    /// A small encyclopedia for people to look at.
    Demo,
    /// Light pages without oddities.
    Bench,
    /// Every oddity there is.
    Everything,
    /// What politeness must heed.
    Polite,
}

#[derive(Args)]
struct WebArgs {
    /// What the web is like.
    #[arg(long, value_enum, default_value = "demo")]
    preset: Preset,
    /// A file of settings in JSON, instead of a preset.
    #[arg(long)]
    settings: Option<PathBuf>,
    /// Pages of the whole web.
    #[arg(long)]
    pages: Option<u32>,
    /// Hosts.
    #[arg(long)]
    hosts: Option<u32>,
    /// Loopback addresses the hosts are spread over.
    #[arg(long)]
    addresses: Option<u8>,
    /// Another seed, another web.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Args)]
struct ServeArgs {
    /// Port; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Write every request to this file, a line of JSON each.
    #[arg(long)]
    log: Option<PathBuf>,
    /// Worker threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

/// Pages and hosts of the bench and polite webs, when they are not given.
const BENCH_PAGES: u32 = 20_000;
const POLITE_HOSTS: u32 = 50;
const POLITE_ADDRESSES: u8 = 10;

/// How often the log's file is written out.
const FLUSH: Duration = Duration::from_secs(1);

impl WebArgs {
    fn settings(&self) -> Result<WebSettings> {
        let mut settings = match (&self.settings, self.preset) {
            (Some(path), _) => {
                let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                serde_json::from_slice(&text)
                    .with_context(|| format!("{} is not settings", path.display()))?
            }
            (None, Preset::Demo) => WebSettings::demo(),
            (None, Preset::Bench) => WebSettings::bench(self.pages.unwrap_or(BENCH_PAGES)),
            (None, Preset::Everything) => WebSettings::everything(1),
            (None, Preset::Polite) => WebSettings::polite(POLITE_HOSTS, POLITE_ADDRESSES),
        };
        if let Some(hosts) = self.hosts {
            settings.names.clear();
            // The same pages on other hosts, unless pages are given too.
            let pages = u64::from(settings.pages_per_host) * u64::from(settings.host_count());
            settings.hosts = hosts;
            if matches!(self.preset, Preset::Bench) {
                settings.pages_per_host = u32::try_from(pages.div_ceil(hosts.max(1).into()))?;
            }
        }
        if let Some(pages) = self.pages {
            settings.pages_per_host = pages.div_ceil(settings.host_count().max(1)).max(1);
        }
        settings.addresses = self.addresses.unwrap_or(settings.addresses);
        settings.seed = self.seed.unwrap_or(settings.seed);
        Ok(settings)
    }

    fn web(&self) -> Result<Web> {
        Ok(Web::new(self.settings()?)?)
    }
}

impl ServeArgs {
    fn log(&self) -> Result<Arc<Log>> {
        let log = match &self.log {
            Some(path) => Log::with_file(DEFAULT_CAPACITY, path)
                .with_context(|| format!("cannot create {}", path.display()))?,
            None => Log::default(),
        };
        Ok(Arc::new(log))
    }

    fn runtime(&self) -> Result<tokio::runtime::Runtime> {
        ensure!(self.threads > 0, "--threads is 0: give at least 1");
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Ok(builder.worker_threads(self.threads).enable_all().build()?)
    }
}

fn main() -> Result<ExitCode> {
    match Cli::parse().command {
        Command::Serve { web, serve, tick_every } => {
            let web = Arc::new(web.web()?);
            serve.runtime()?.block_on(serve_web(web, &serve, tick_every))?;
        }
        Command::Folder { dir, latency_ms, serve } => {
            let latency = Duration::from_millis(latency_ms);
            serve.runtime()?.block_on(serve_folder(&dir, latency, &serve))?;
        }
        Command::Hostile { serve } => serve.runtime()?.block_on(serve_hostile(&serve))?,
        Command::Truth { web, tick, no_sitemaps, seeds } => truth(&web.web()?, tick, no_sitemaps, seeds)?,
        Command::Check { web, log, host_delay_ms, ip_delay_ms, again } => {
            let web = web.web()?;
            let allows = |host: &str, path: &str| web.allows(host, path);
            let delay = Duration::from_millis;
            let expect = Expect::of(&web, delay(host_delay_ms), delay(ip_delay_ms));
            return check(&log, &Expect { once: !again, allows: Some(&allows), ..expect });
        }
        Command::Settings { web } => println!("{}", serde_json::to_string_pretty(&web.settings()?)?),
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve_web(web: Arc<Web>, args: &ServeArgs, tick_every: u64) -> Result<()> {
    let source: Arc<dyn Source> = Arc::clone(&web) as _;
    let server = serve(source, &web.addresses(), args.port, args.log()?).await?;
    let flags = web.resolve_flags(server.addresses());
    println!("{}", json!({"addresses": server.addresses(), "resolve": flags, "seeds": web.seeds()}));
    if tick_every > 0 {
        tokio::spawn(async move {
            let mut every = tokio::time::interval(Duration::from_secs(tick_every));
            every.tick().await;
            loop {
                every.tick().await;
                web.set_tick(web.tick() + 1);
            }
        });
    }
    until_interrupted(server.log()).await?;
    Ok(server.shutdown().await?)
}

async fn serve_folder(dir: &std::path::Path, latency: Duration, args: &ServeArgs) -> Result<()> {
    let folder = Folder::open(dir).with_context(|| format!("{} has no folder hosts", dir.display()))?;
    let folder = Arc::new(folder.answering_after(latency));
    let source: Arc<dyn Source> = Arc::clone(&folder) as _;
    let server = serve(source, &[IpAddr::from([127, 0, 0, 1])], args.port, args.log()?).await?;
    let flags = folder.resolve_flags(server.address())?;
    println!("{}", json!({"addresses": server.addresses(), "resolve": flags}));
    until_interrupted(server.log()).await?;
    Ok(server.shutdown().await?)
}

async fn serve_hostile(args: &ServeArgs) -> Result<()> {
    let server = hostile::serve(&[IpAddr::from([127, 0, 0, 1])], args.port, args.log()?).await?;
    let address = server.address();
    let paths: Vec<&str> = hostile::Endpoint::ALL.iter().map(|endpoint| endpoint.path()).collect();
    let flags = [format!("*.test={address}")];
    println!("{}", json!({"addresses": server.addresses(), "resolve": flags, "paths": paths}));
    until_interrupted(server.log()).await?;
    Ok(server.shutdown().await?)
}

/// Waits for SIGINT or SIGTERM, and writes out the log's file meanwhile.
async fn until_interrupted(log: &Log) -> Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let mut every = tokio::time::interval(FLUSH);
    loop {
        tokio::select! {
            done = tokio::signal::ctrl_c() => return Ok(done?),
            _ = terminate.recv() => return Ok(()),
            _ = every.tick() => log.flush()?,
        }
    }
}

fn truth(web: &Web, tick: u64, no_sitemaps: bool, seeds: Vec<String>) -> Result<()> {
    web.set_tick(tick);
    let seeds = if seeds.is_empty() { web.seeds() } else { seeds };
    let walk = anthill_web::truth::Walk { sitemaps: !no_sitemaps, ..Default::default() };
    let expected = web.expected_by(seeds.iter().map(String::as_str), &walk);
    serde_json::to_writer_pretty(std::io::stdout().lock(), &expected)?;
    println!();
    Ok(())
}

fn check(log: &std::path::Path, expect: &Expect<'_>) -> Result<ExitCode> {
    let file = std::fs::File::open(log).with_context(|| format!("cannot read {}", log.display()))?;
    let mut entries: Vec<LogEntry> = Vec::new();
    let mut lines = std::io::BufReader::new(file);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        if !line.ends_with('\n') {
            eprintln!("the last line of {} is being written: it does not count", log.display());
            break;
        }
        let parsed = serde_json::from_str(&line);
        let number = entries.len() + 1;
        entries.push(parsed.with_context(|| format!("line {number} of {} is no entry", log.display()))?);
        line.clear();
    }
    let violations = politeness::check(&entries, expect);
    for violation in &violations {
        println!("{}", serde_json::to_string(violation)?);
    }
    eprintln!("{} requests, {} violations", entries.len(), violations.len());
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
