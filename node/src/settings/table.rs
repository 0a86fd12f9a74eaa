//! Which keys are there, what are they by default, and what do they mean? One table: the defaults, the commented
//! file of `anthill config --default`, the reading of environment variables and the check of every value ([`Kind`]) come from it.

use super::kind::Kind;
use toml::Value;

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Where it stands in the file: `limits.max_body`.
    pub path: &'static str,
    /// What it has to be.
    pub kind: Kind,
    /// Its default as TOML; none if it has no value by default.
    pub default: Option<&'static str>,
    /// What it means, lines of at most 100 characters; for a key without default, how it may look too.
    pub doc: &'static str,
}

const fn key(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { path, kind, default: Some(default), doc }
}

const fn unset(path: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { path, kind, default: None, doc }
}

/// All keys but those of extraction rules ([`EXTRACT`]), in the order of the file. Keys without a section come first.
pub const KEYS: &[Key] = &[
    unset("data", Kind::Text, "Folder of this peer's data. Without it: $XDG_DATA_HOME/anthill."),
    unset("name", Kind::Text, "What people call this peer. Without it: the end of its PeerId."),
    unset(
        "contact",
        Kind::Text,
        "URL or mail address at which people whose pages are crawled can reach you; sent with every request.\n\
         Without it nothing on public addresses is crawled. As in: contact = \"mailto:you@example.org\"",
    ),
    key("swarm", Kind::Text, "\"anthill\"", "Name of the swarm this peer belongs to."),
    key(
        "listen",
        Kind::Texts,
        "[]",
        "Addresses (multiaddrs) at which other peers reach this one, as in\n\
         listen = [\"/ip4/0.0.0.0/tcp/7071\", \"/ip4/0.0.0.0/udp/7071/quic-v1\"]\n\
         Without any: these two, or any free port where 7071 is taken.",
    ),
    key(
        "bootstrap",
        Kind::Texts,
        "[]",
        "Peers to begin with: addresses that end in /p2p/ and a peer's name, as `anthill invite` and DIR/peer.addr say.\n\
         Without any this peer founds a swarm, unless it was in one before.",
    ),
    unset(
        "swarm_key",
        Kind::Text,
        "File with the key of a private swarm: 64 hexadecimal digits. Then TCP alone is used, for QUIC knows no such keys.\n\
         As in: swarm_key = \"/etc/anthill/swarm.key\"",
    ),
    key("offline", Kind::Truth, "false", "Whether this peer talks to no others at all."),
    key("replicas", Kind::Whole, "3", "Peers that keep each page. The same at all peers of a swarm."),
    key(
        "tokens",
        Kind::Whole,
        "64",
        "This peer's share of the swarm's work: 32 is half of a usual peer's, 128 twice as much.",
    ),
    key(
        "moderators",
        Kind::Texts,
        "[]",
        "PeerIds whose exclusions bind this peer, because the swarm trusts them. The same at all peers of a swarm.",
    ),
    key("follow", Kind::Texts, "[]", "PeerIds of others whose exclusions this peer heeds."),
    key(
        "api",
        Kind::Address,
        "\"127.0.0.1:7070\"",
        "Where the search page and the HTTP API listen. Port 0 takes a free one, written to DIR/api.addr.\n\
         Reading is open to who asks from this machine; all else needs the token of DIR/api.token.",
    ),
    key(
        "api_hosts",
        Kind::Texts,
        "[]",
        "Further host names in URLs of the API, as of a proxy in front of it. Others than these, loopback and the\n\
         address listened at are refused, so that no web page can reach the API under a name of its own.",
    ),
    key(
        "seeds",
        Kind::Texts,
        "[]",
        "URLs to begin with. A seed that was crawled before is not crawled again.",
    ),
    key("scope", Kind::Scope, "\"any\"", "How far crawls spread from the seeds: site, host, prefix or any."),
    key(
        "prefer",
        Kind::Texts,
        "[]",
        "Languages (ISO 639-1 codes) of pages that are fetched first: links of pages in these come before others. A page\n\
         counts that has a paragraph in one of them. The same at all peers of a swarm. As in: prefer = [\"es\"]",
    ),
    key(
        "index_only",
        Kind::Truth,
        "false",
        "Whether pages in these languages alone are indexed. Others are fetched and kept all the same, for their links\n\
         lead to such pages. It holds for what is fetched from then on. The same at all peers.",
    ),
    key("importance", Kind::Truth, "true", "Whether pages that much is linked to are fetched before others."),
    key(
        "subscriptions",
        Kind::Texts,
        "[]",
        "Lists that are followed from the start, each a URL and the PeerId of its publisher, as in\n\
         subscriptions = [\"https://example.org/exclusions.jsonl 12D3KooW…\"]",
    ),
    key(
        "resolve",
        Kind::Overrides,
        "[]",
        "Hosts to be connected to at a given address, whatever their name resolves to, for tests and intranets:\n\
         resolve = [\"*.test=127.0.0.1:8080\"]",
    ),
    key(
        "allow_private",
        Kind::Truth,
        "false",
        "Whether pages at private, loopback and link-local addresses may be fetched.",
    ),
    key(
        "host_delay",
        Kind::Duration,
        "\"1s\"",
        "From the end of a response to the next request to the same host. At public addresses at least 500ms.",
    ),
    key(
        "ip_delay",
        Kind::Duration,
        "\"200ms\"",
        "From one request to the next at the same address, whatever the host. At public addresses at least 100ms.",
    ),
    key(
        "shared_addresses",
        Kind::Networks,
        "[]",
        "Addresses and networks in front of so many hosts that ip_delay is not for them, as of large hosting fronts.",
    ),
    key("fetchers", Kind::Whole, "256", "Requests in flight, at most."),
    key(
        "search_deadline",
        Kind::Duration,
        "\"800ms\"",
        "How long a search waits for other peers; what has come by then is the answer, and says what is missing.",
    ),
    key(
        "min_free_disk",
        Kind::Size,
        "\"1GiB\"",
        "Crawling pauses when the disk has less free space than this.",
    ),
    key(
        "log",
        Kind::Text,
        "\"info\"",
        "What is logged: error, warn, info, debug or trace; for parts too, as in \"info,anthill_node=debug\".",
    ),
    key("log_json", Kind::Truth, "false", "Whether the log is written as JSON lines."),
    key(
        "network.lan",
        Kind::Truth,
        "false",
        "Whether peers of the swarm are looked for on the local network, by multicast.",
    ),
    key("network.upnp", Kind::Truth, "true", "Whether the router is asked for a way in."),
    key(
        "network.relay",
        Kind::Truth,
        "true",
        "Whether this peer passes on for members that cannot be reached, within limits.",
    ),
    key(
        "network.reachable",
        Kind::Text,
        "\"auto\"",
        "Whether others can connect to this peer: yes, no, or auto, by trying. Where addresses are private nobody can try.",
    ),
    key("threads.parsers", Kind::Whole, "0", "Threads that parse pages. 0: one for each core."),
    key("threads.indexers", Kind::Whole, "1", "Threads that build the index. 0: one for each core."),
    key("limits.max_body", Kind::Size, "\"10MiB\"", "A body is cut after so many bytes received."),
    key("limits.max_decoded", Kind::Size, "\"20MiB\"", "A body is cut after so many bytes decompressed."),
    key("limits.max_url", Kind::Size, "\"2KiB\"", "Longer URLs are not followed."),
    key(
        "limits.requests_per_s",
        Kind::Number,
        "0.0",
        "Requests to the web in a second, at most, of this peer; 0.5 is one every two seconds, 0: as many as can be.",
    ),
    key("limits.per_host", Kind::Whole, "1000000", "URLs of one host that are followed, at most."),
    key(
        "limits.per_directory",
        Kind::Whole,
        "50000",
        "URLs of one folder of a host that are followed, at most.",
    ),
    key("timeouts.connect", Kind::Duration, "\"10s\"", "Until a connection stands, TLS included."),
    key(
        "timeouts.first_byte",
        Kind::Duration,
        "\"20s\"",
        "From the request to the first byte of its response.",
    ),
    key("timeouts.idle", Kind::Duration, "\"15s\"", "From one byte of a body to the next."),
    key("timeouts.total", Kind::Duration, "\"60s\"", "From the beginning of a fetch to its end."),
    key("filters.max_segments", Kind::Whole, "24", "URLs whose path has more parts are not followed."),
    key("filters.max_parameters", Kind::Whole, "16", "URLs with more parameters are not followed."),
    key("filters.max_query", Kind::Size, "\"1KiB\"", "URLs with a longer query are not followed."),
    key(
        "filters.drop_extensions",
        Kind::Texts,
        "[]",
        "File types (\"iso\") not fetched, besides images, audio, video, archives, programs and the like.",
    ),
    key(
        "filters.keep_extensions",
        Kind::Texts,
        "[]",
        "File types of the built-in list that are fetched all the same.",
    ),
    key(
        "canon.drop_parameters",
        Kind::Texts,
        "[]",
        "Parameters removed from URLs besides the usual tracking and session ones; \"ref_*\" is every one that\n\
         begins so.",
    ),
    key("canon.keep_parameters", Kind::Texts, "[]", "Parameters of the built-in list that are kept."),
    key(
        "index.stemming",
        Kind::Truth,
        "true",
        "Whether words are reduced to their stems, so that \"ants\" finds \"ant\". A change applies to pages indexed later.",
    ),
    key("index.writer_memory", Kind::Size, "\"50MiB\"", "Memory of each thread that builds the index."),
    key(
        "index.commit_after",
        Kind::Duration,
        "\"5s\"",
        "A page can be found at most so long after it was fetched.",
    ),
    key(
        "index.commit_pages",
        Kind::Whole,
        "5000",
        "Pages after which the index is committed without waiting.",
    ),
    key("ranking.all", Kind::Number, "1.0", "What a match anywhere in a page counts."),
    key("ranking.title", Kind::Number, "1.0", "What a match in the title counts on top of that."),
    key("ranking.headings", Kind::Number, "0.3", "What a match in a heading counts on top."),
    key(
        "ranking.anchors",
        Kind::Number,
        "0.6",
        "What a match in the words of a link to the page counts on top.",
    ),
    key("ranking.url", Kind::Number, "0.3", "What a match in the words of the URL counts on top."),
    key(
        "ranking.phrase",
        Kind::Number,
        "0.1",
        "What a phrase counts beside its words: one in quotes, and the parts of a word such as std::vec.",
    ),
    key(
        "ranking.all_words",
        Kind::Number,
        "0.2",
        "A page with all words of the query: its score times 1 + this.",
    ),
    key(
        "ranking.exact_title",
        Kind::Number,
        "0.25",
        "A page whose title is the query: its score times 1 + this.",
    ),
    key(
        "ranking.inlinks",
        Kind::Number,
        "0.05",
        "A page that n sites link to: its score times 1 + this x ln(1 + n).",
    ),
    key(
        "ranking.importance",
        Kind::Number,
        "0",
        "A page of importance i, as `anthill explain` tells it: its score times 1 + this x ln(1 + i). Peers that came to\n\
         pages in another order know them for more or less important: with this, they may answer in another order too.",
    ),
    key(
        "ranking.language",
        Kind::Number,
        "0.25",
        "A page in a language asked for: its score times 1 + this.",
    ),
    key(
        "ranking.language_share",
        Kind::Number,
        "0.01",
        "A language is searched in when this share of the pages is in it, or when it is asked for.",
    ),
    key(
        "ranking.near_duplicate_bits",
        Kind::Whole,
        "3",
        "Pages whose fingerprints (64 bits) differ in at most so many bits are shown as one.",
    ),
    key("revisit.enabled", Kind::Truth, "true", "Whether pages are fetched again to see if they changed."),
    key(
        "revisit.min",
        Kind::Duration,
        "\"1h\"",
        "Pages are not fetched again sooner, however often they change.",
    ),
    key("revisit.first", Kind::Duration, "\"7d\"", "When a page seen once is fetched again."),
    key(
        "revisit.max",
        Kind::Duration,
        "\"60d\"",
        "Pages are fetched again at least so often, however seldom they change.",
    ),
    unset(
        "topic.model",
        Kind::Text,
        "File with the model of the topic that crawls are about, as `anthill topic train` makes it: pages that are likely to\n\
         be on topic are fetched first. Without it, and `topic.query`, crawls are about everything. As in:\n\
         model = \"/etc/anthill/ants.topic\"",
    ),
    unset(
        "topic.digest",
        Kind::Text,
        "Digest that the model must have, as `anthill topic show` says: the same at all peers of a swarm.",
    ),
    key(
        "topic.levels",
        Kind::Whole,
        "4",
        "Levels, 1 to 6, by how likely pages are to be on topic: those of a better one come first. The same at all peers.",
    ),
    key(
        "topic.rules",
        Kind::Truth,
        "true",
        "Whether it counts what links of pages like the one that links led to so far.",
    ),
    unset(
        "topic.query",
        Kind::Text,
        "The topic in words. Where there is no model crawls are about these: pages in which they stand, and few other\n\
         words as rare, are fetched first; the same at all peers then. Else it is for contracts: without it the words of\n\
         the model that say most. As in: query = \"ant colony\"",
    ),
    key(
        "topic.wordnet",
        Kind::Text,
        "\"/usr/share/wordnet\"",
        "Folder of WordNet 3.0's files (Debian: wordnet-base), for contracts; without it words count by their stems alone.",
    ),
    key(
        "topic.alpha",
        Kind::Number,
        "0.5",
        "What links found on pages on topic count for a peer's ability, 0 to 1; concepts of its pages count the rest.",
    ),
    key(
        "topic.is_a",
        Kind::Number,
        "0.5",
        "What a word is worth that is a kind of one of the query's, 0 to 1.",
    ),
    key(
        "topic.part_of",
        Kind::Number,
        "0.333",
        "What a word is worth that is a part of what one of the query's means, 0 to 1.",
    ),
    key(
        "contracts.enabled",
        Kind::Truth,
        "true",
        "Whether work goes to other peers by contracts when much waits here, and comes from them when little does.",
    ),
    key(
        "contracts.threshold",
        Kind::Duration,
        "\"60s\"",
        "Who would take longer than this for what waits calls for bids, and keeps what takes a third of it.",
    ),
    key("contracts.candidates", Kind::Whole, "3", "Peers that are asked for bids, at least."),
    key("contracts.patience", Kind::Duration, "\"1s\"", "How long bids are waited for."),
    key("contracts.limit", Kind::Duration, "\"10m\"", "How long a contract lasts, unless it is renewed."),
    key(
        "contracts.ability",
        Kind::Number,
        "0.25",
        "In crawls about a topic, who is at least so able, 0 to 1, calls for bids: it knows better pages than it can fetch.\n\
         Load does not matter then.",
    ),
    key(
        "contracts.ability_interval",
        Kind::Duration,
        "\"20s\"",
        "How often it is found out how able this peer is, and from one such call to the next at least.",
    ),
    key("cache.store", Kind::Size, "\"96MiB\"", "Memory for what was read from the store."),
    key("cache.writes", Kind::Size, "\"64MiB\"", "Memory for what is on its way to the store's files."),
    key("cache.dns_entries", Kind::Whole, "20000", "Host names whose addresses are remembered."),
];

/// Keys of an extraction rule, below `extract."SITE"`.
pub const EXTRACT: &[Key] = &[
    unset("title", Kind::Text, "CSS selector of the title."),
    unset("text", Kind::Text, "CSS selector of the main text."),
    unset("date", Kind::Text, "CSS selector of the date."),
    unset("drop", Kind::Texts, "CSS selectors of what is no part of the text."),
];

/// The section of extraction rules.
pub const EXTRACT_SECTION: &str = "extract";

/// The key of this path (`["limits", "max_body"]`), if there is one.
pub fn find(path: &[String]) -> Option<&'static Key> {
    if let [section, _site, name] = path
        && section == EXTRACT_SECTION
    {
        return EXTRACT.iter().find(|key| key.path == name);
    }
    KEYS.iter().find(|key| key.path.split('.').eq(path.iter().map(String::as_str)))
}

/// The known key most like an unknown one, if any is like it.
pub fn nearest(path: &[String]) -> Option<String> {
    let (candidates, asked): (Vec<String>, String) = match path {
        [section, site, name] if section == EXTRACT_SECTION => {
            let head = [section.clone(), site.clone()];
            (
                EXTRACT.iter().map(|key| format!("{}.{}", dotted(&head), key.path)).collect(),
                format!("{}.{name}", dotted(&head)),
            )
        }
        _ => {
            let sections = KEYS.iter().filter_map(|key| key.path.split_once('.')).map(|(section, _)| section);
            let keys = KEYS.iter().map(|key| key.path).chain(sections).chain([EXTRACT_SECTION]);
            (keys.map(str::to_owned).collect(), path.join("."))
        }
    };
    let likeness = |candidate: &String| {
        // A key under the wrong section, or under none, is meant all the same.
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let same = if last(candidate) == last(&asked) { 0.95 } else { 0.0 };
        strsim::jaro_winkler(candidate, &asked).max(same)
    };
    candidates
        .iter()
        .map(|candidate| (likeness(candidate), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        // Below this the words have little more than a letter or two in common.
        .filter(|(likeness, _)| *likeness >= 0.75)
        .map(|(_, candidate)| candidate.clone())
}

/// A path as it is written in a file: bare where it may be, quoted where it must.
pub fn dotted(path: &[String]) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    path.iter()
        .map(|part| {
            if !part.is_empty() && part.chars().all(bare) {
                part.clone()
            } else {
                Value::from(part.clone()).to_string()
            }
        })
        .collect::<Vec<_>>()
        .join(".")
}
