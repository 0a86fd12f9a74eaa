//! What is logged, how much of it, and in which form? People read standard error; programs may have JSON lines.

use crate::settings::Settings;
use std::io::IsTerminal;
use thiserror::Error;
use tracing_subscriber::EnvFilter;

/// Why nothing can be logged.
#[derive(Debug, Error)]
pub enum LogError {
    /// The filter is none.
    #[error(
        "`log` ({origin}): `{filter}` is no filter ({why}): write error, warn, info, debug or trace, \
             for parts too, as in info,anthill_node=debug"
    )]
    Filter {
        /// As set.
        filter: String,
        /// Where it was set.
        origin: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something logs already.
    #[error("logging was begun before in this process")]
    Twice,
}

/// Begins to log to standard error, as the settings say. Colours only on a terminal, and not where `NO_COLOR` is set.
///
/// # Errors
/// When the filter is none, or this was done before.
pub fn init(settings: &Settings) -> Result<(), LogError> {
    let filter = filter(settings)?;
    let colours =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let begun = if settings.log_json {
        builder.json().flatten_event(true).with_ansi(false).try_init()
    } else {
        builder.with_ansi(colours).with_target(settings.log != "info").try_init()
    };
    begun.map_err(|_| LogError::Twice)
}

/// The filter of the settings. Libraries that chatter are held at warnings, unless they are named.
fn filter(settings: &Settings) -> Result<EnvFilter, LogError> {
    const CHATTER: [&str; 7] =
        ["tantivy", "hyper", "hyper_util", "hickory_resolver", "hickory_proto", "libp2p_swarm", "libp2p"];
    // These warn of what is usual: nobody is known yet, or somebody said the same twice.
    const USUAL: [&str; 2] = ["libp2p_kad", "libp2p_gossipsub"];
    let mut text = settings.log.clone();
    for (parts, level) in [(CHATTER.as_slice(), "warn"), (&USUAL, "error")] {
        for part in parts.iter().filter(|part| !settings.log.contains(*part)) {
            text.push_str(&format!(",{part}={level}"));
        }
    }
    EnvFilter::builder().parse(&text).map_err(|e| LogError::Filter {
        filter: settings.log.clone(),
        origin: settings.origins.of("log").to_string(),
        why: e.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn with(log: &str) -> Result<String, String> {
        let settings = Settings { log: log.to_owned(), ..Settings::with_data(Path::new("/d")) };
        filter(&settings).map(|f| f.to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn libraries_that_chatter_are_quiet_unless_named() {
        let debug = with("debug").expect("valid");
        assert!(debug.contains("debug") && debug.contains("tantivy=warn"), "{debug}");
        let named = with("info,tantivy=trace").expect("valid");
        assert!(named.contains("tantivy=trace") && !named.contains("tantivy=warn"), "{named}");
    }

    #[test]
    fn what_is_no_filter_is_refused_with_the_remedy() {
        let error = with("anthill=loud").expect_err("no level");
        assert!(error.contains("write error, warn, info") && error.contains("(default)"), "{error}");
    }
}
