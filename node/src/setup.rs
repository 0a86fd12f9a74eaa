//! From settings to the parts they are about: the one place that knows both.

use crate::settings::Settings;
use crate::store::family::Memory;
use anthill_crawler::canon::{self, Rules};
use anthill_crawler::exclusion::Pattern;
use anthill_crawler::fetch::{self, FetchConfig, Resolver, ResolverConfig};
use anthill_crawler::filter::{FilterSettings, Filters};
use anthill_crawler::frontier::revisit;
use anthill_crawler::map::Map;
use anthill_crawler::parse::{Extraction, ExtractionSettings};
use anyhow::Context;
use std::sync::Arc;

/// Product token by which robots.txt and robots directives call this crawler.
pub const AGENT: &str = "anthill";

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
    config.revisit = settings.revisit.enabled.then_some(revisit::Settings {
        min: settings.revisit.min,
        max: settings.revisit.max,
        first: settings.revisit.first,
    });
    config.budgets.per_host = settings.limits.per_host;
    config.budgets.per_directory = settings.limits.per_directory;
    config
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
        let (ours, theirs) = (index(&settings).ranking, anthill_index::Ranking::default());
        assert_eq!(ours, theirs);
    }
}
