//! From settings to the parts they are about: the one place that knows both.

use crate::settings::Settings;
use crate::store::family::Memory;
use anthill_agent::{focus, peer};
use anthill_crawler::canon::{self, Rules};
use anthill_crawler::exclusion::Pattern;
use anthill_crawler::fetch::{self, FetchConfig, Resolver, ResolverConfig};
use anthill_crawler::filter::{FilterSettings, Filters};
use anthill_crawler::focus::predict::thousandths;
use anthill_crawler::frontier::{IMPORTANT_URLS, revisit};
use anthill_crawler::map::Map;
use anthill_crawler::parse::{Extraction, ExtractionSettings};
use anthill_dht::{Multiaddr, PeerId, SharedKey};
use anthill_protocol::contract_net::{Water, able};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::placement::Key;
use anthill_protocol::{claim, contract_net, exclusion, links, registry, replica, steward, view};
use anyhow::Context;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Product token by which robots.txt and robots directives call this crawler.
pub const AGENT: &str = "anthill";
/// How long links to another peer are gathered where crawls have a topic: while they are under way less wanted pages are fetched.
const LINGER_WITH_TOPIC: Duration = Duration::from_millis(50);

/// Memory of the store.
pub fn memory(settings: &Settings) -> Memory {
    Memory {
        cache: usize::try_from(settings.cache.store).unwrap_or(usize::MAX),
        write_buffers: usize::try_from(settings.cache.writes).unwrap_or(usize::MAX),
    }
}

/// How URLs are made canonical.
pub fn canon(settings: &Settings) -> Rules {
    let keep = &settings.canon.keep_parameters;
    let built_in = canon::DEFAULT_TRACKING.iter().copied().filter(|p| !keep.iter().any(|k| k == p));
    let list: Vec<String> =
        built_in.map(str::to_owned).chain(settings.canon.drop_parameters.iter().cloned()).collect();
    Rules::with_tracking(list)
}

/// What is not fetched. `year` is the present one: calendars far beyond it are traps.
pub fn filters(settings: &Settings, year: u16) -> Filters {
    let mut table = FilterSettings { year, ..FilterSettings::default() };
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    table.max_url_bytes = size(settings.limits.max_url);
    table.max_segments = settings.filters.max_segments;
    table.max_parameters = settings.filters.max_parameters;
    table.max_query_bytes = size(settings.filters.max_query);
    table.drop_extensions.extend(settings.filters.drop_extensions.iter().cloned());
    table.drop_extensions.retain(|e| !settings.filters.keep_extensions.contains(e));
    Filters::new(table)
}

/// Extraction rules of single sites and hosts.
///
/// # Errors
/// A selector is none; the message names it.
pub fn extractions(settings: &Settings) -> anyhow::Result<Map<String, Arc<Extraction>>> {
    let mut rules = Map::default();
    for (site, rule) in &settings.extract {
        let compiled = Extraction::compile(&ExtractionSettings {
            title: rule.title.clone(),
            text: rule.text.clone(),
            date: rule.date.clone(),
            drop: rule.drop.clone(),
        })
        .with_context(|| format!("extract.\"{site}\""))?;
        Pattern::parse(site).with_context(|| format!("extract.\"{site}\" names no site or host"))?;
        rules.insert(site.trim_start_matches("host:").to_owned(), Arc::new(compiled));
    }
    Ok(rules)
}

/// The resolver.
pub fn resolver(settings: &Settings) -> Arc<Resolver> {
    Arc::new(Resolver::new(ResolverConfig {
        overrides: settings.resolve.clone(),
        allow_private: settings.allow_private,
        ..ResolverConfig::default()
    }))
}

/// The HTTP client's settings.
///
/// # Errors
/// The contact cannot be put into a User-Agent.
pub fn fetching(settings: &Settings) -> anyhow::Result<FetchConfig> {
    let mut config = FetchConfig::new(fetch::user_agent(settings.contact.as_deref())?);
    config.from = fetch::from_header(settings.contact.as_deref());
    config.max_body = settings.limits.max_body;
    config.max_decoded = settings.limits.max_decoded;
    config.connect_timeout = settings.timeouts.connect;
    config.first_byte_timeout = settings.timeouts.first_byte;
    config.idle_timeout = settings.timeouts.idle;
    config.total_timeout = settings.timeouts.total;
    Ok(config)
}

/// How the index is written and ranked.
pub fn index(settings: &Settings) -> anthill_index::Settings {
    let mut index = anthill_index::Settings {
        stemming: settings.index.stemming,
        writer_memory_bytes: usize::try_from(settings.index.writer_memory).unwrap_or(usize::MAX),
        writer_threads: settings.threads.indexers.max(1),
        ..anthill_index::Settings::default()
    };
    let ranking = &settings.ranking;
    index.ranking.weights.all = ranking.all;
    index.ranking.weights.title = ranking.title;
    index.ranking.weights.headings = ranking.headings;
    index.ranking.weights.anchors = ranking.anchors;
    index.ranking.weights.url = ranking.url;
    index.ranking.phrase = ranking.phrase;
    index.ranking.language_share = ranking.language_share;
    index.ranking.inlinks = ranking.inlinks;
    index.ranking.importance = ranking.importance;
    index.ranking.language = ranking.language;
    index.ranking.all_words = ranking.all_words;
    index.ranking.exact_title = ranking.exact_title;
    index.ranking.near_duplicate_bits = ranking.near_duplicate_bits;
    index
}

/// What the agent is held to.
pub fn agent(settings: &Settings) -> anthill_agent::Config {
    let mut config = anthill_agent::Config::default();
    let frontier = &mut config.frontier;
    frontier.host_delay = settings.host_delay;
    frontier.ip_delay = settings.ip_delay;
    frontier.exempt = settings.shared_addresses.iter().map(|n| (n.address, n.bits)).collect();
    frontier.max_in_flight = settings.fetchers.max(1);
    frontier.agent_token = AGENT.to_owned();
    // Checked: within what a thousandth of a request in a second can say.
    let speed = (settings.limits.requests_per_s * 1_000.0).round() as u32;
    frontier.max_speed = NonZeroU32::new(speed);
    frontier.important_urls = settings.importance.then_some(IMPORTANT_URLS);
    config.revisit = settings.revisit.enabled.then_some(revisit::Settings {
        min: settings.revisit.min,
        max: settings.revisit.max,
        first: settings.revisit.first,
    });
    config.budgets.per_host = settings.limits.per_host;
    config.budgets.per_directory = settings.limits.per_directory;
    config
}

/// What the parts of a peer's mind are held to; `also_followed` are issuers of exclusions on lists that are followed, `topic` is what
/// crawls are about.
///
/// # Errors
/// None that the check of settings does not find first.
pub fn mind(
    settings: &Settings,
    also_followed: BTreeSet<PeerKey>,
    topic: Option<focus::Settings>,
) -> anyhow::Result<peer::Config> {
    let keys = |names: &[String]| -> anyhow::Result<BTreeSet<PeerKey>> {
        let key = |name: &String| {
            let peer: PeerId = name.parse().with_context(|| format!("{name} is no PeerId"))?;
            anthill_dht::name::key(&peer)
                .map(PeerKey)
                .with_context(|| format!("{name} is not an Ed25519 key"))
        };
        names.iter().map(key).collect()
    };
    let mut links = links::Config::default();
    if topic.is_some() {
        links.linger = LINGER_WITH_TOPIC;
    }
    Ok(peer::Config {
        crawl: anthill_agent::Config { focus: topic, ..agent(settings) },
        view: view::Config::of(Key::of_swarm(&settings.swarm)),
        claim: claim::Config { replicas: settings.replicas, ..claim::Config::default() },
        replica: replica::Config { replicas: settings.replicas, ..replica::Config::default() },
        links,
        steward: steward::Config::default(),
        registry: registry::Config::default(),
        contracts: settings.contracts.enabled.then(|| contracts(settings)),
        exclusion: exclusion::sync::Config::default(),
        rules: exclusion::Rules {
            moderators: keys(&settings.moderators)?,
            followed: keys(&settings.follow)?.into_iter().chain(also_followed).collect(),
            ..exclusion::Rules::default()
        },
        canon: canon(settings),
    })
}

/// When work goes to others, and how.
fn contracts(settings: &Settings) -> contract_net::Config {
    let told = &settings.contracts;
    let usual = contract_net::Config::default();
    contract_net::Config {
        water: Water::of(told.threshold),
        candidates: told.candidates,
        patience: told.patience,
        limit: told.limit,
        able: able::Terms {
            threshold: thousandths(told.ability),
            interval: told.ability_interval,
            ..usual.able
        },
        ..usual
    }
}

/// The key of a private swarm.
///
/// # Errors
/// Its file cannot be read, or has none.
pub fn shared_key(settings: &Settings) -> anyhow::Result<Option<SharedKey>> {
    let Some(file) = &settings.swarm_key else { return Ok(None) };
    let text = std::fs::read_to_string(file);
    let text = text.with_context(|| format!("the swarm's key {} cannot be read", file.display()))?;
    Ok(Some(text.parse().with_context(|| file.display().to_string())?))
}

/// Where a peer listens if nothing is said.
const LISTEN: [&str; 2] = ["/ip4/0.0.0.0/tcp/7071", "/ip4/0.0.0.0/udp/7071/quic-v1"];
/// And where these are taken.
const LISTEN_ANYWHERE: [&str; 2] = ["/ip4/0.0.0.0/tcp/0", "/ip4/0.0.0.0/udp/0/quic-v1"];

/// Settings of the network, the preferred ones first: where nothing is said and the usual port is taken, any free one.
///
/// # Errors
/// The swarm's key cannot be read.
pub fn network(settings: &Settings) -> anyhow::Result<Vec<anthill_dht::Config>> {
    let mut config = anthill_dht::Config::of(&settings.swarm)?;
    let parsed = |all: &[String]| {
        all.iter().map(|a| a.parse().context("no multiaddr")).collect::<anyhow::Result<Vec<Multiaddr>>>()
    };
    config.bootstrap = parsed(&settings.bootstrap)?;
    config.shared_key = shared_key(settings)?;
    config.lan = settings.network.lan;
    config.upnp = settings.network.upnp;
    config.relay = settings.network.relay;
    config.topics = crate::swarm::TOPICS.map(str::to_owned).to_vec();
    config.server = match settings.network.reachable.as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    if !settings.listen.is_empty() {
        config.listen = parsed(&settings.listen)?;
        // What is on this machine alone nobody tries from outside, and everybody can reach who is to.
        if config.server.is_none() && config.listen.iter().all(crate::swarm::is_local) {
            (config.server, config.upnp) = (Some(true), false);
        }
        return Ok(vec![config]);
    }
    let private = config.shared_key.is_some();
    let at = |addresses: [&str; 2]| {
        let all = addresses.into_iter().filter(|address| !(private && address.contains("quic")));
        let listen = all.map(|address| address.parse().expect("an address")).collect();
        anthill_dht::Config { listen, ..config.clone() }
    };
    Ok(vec![at(LISTEN), at(LISTEN_ANYWHERE)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_settings_are_those_of_the_parts() {
        let settings = Settings::with_data(std::path::Path::new("/nowhere"));
        let expected = FilterSettings { year: 2026, ..FilterSettings::default() };
        assert_eq!(*filters(&settings, 2026).settings(), expected);
        assert_eq!(canon(&settings), Rules::default());
        let (ours, theirs) = (agent(&settings), anthill_agent::Config::default());
        assert_eq!(ours.budgets.per_host, theirs.budgets.per_host);
        assert_eq!(ours.budgets.per_directory, theirs.budgets.per_directory);
        assert_eq!(ours.frontier.host_delay, theirs.frontier.host_delay);
        assert_eq!(ours.frontier.ip_delay, theirs.frontier.ip_delay);
        assert_eq!(ours.frontier.max_in_flight, theirs.frontier.max_in_flight);
        assert_eq!(settings.search_deadline, crate::search::Config::default().deadline);
        let (ours, theirs) = (index(&settings).ranking, anthill_index::Ranking::default());
        assert_eq!(ours, theirs);
    }
}
