//! Which column families there are, what each holds, and how it is laid out on disk.

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompactionStyle, DBCompressionType, Options,
    SliceTransform, UniversalCompactOptions, WriteBufferManager,
};

/// A column family: the unit of tuning, named by what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Counters and the format's version, by name.
    Meta,
    /// URLs admitted lately: number → `UrlId`s that a batch admitted.
    Young,
    /// Every URL admitted before: run ‖ kind ‖ first `UrlId` → `UrlId`s in order. See `sieve`.
    Seen,
    /// URLs that were tried: `UrlId` → `UrlRecord`.
    Urls,
    /// URLs waiting: host ‖ level ‖ block → `Block`, and what is done of it. See `queue`.
    Queue,
    /// URLs to come back at a time: due ‖ `UrlId` → `Later`.
    Later,
    /// Hosts: `HostId` → `HostRecord`.
    Hosts,
    /// robots.txt: `HostId` ‖ scheme → `RobotsRecord`.
    Robots,
    /// Responses as received: `UrlId` → `StoredPage`, compressed.
    Pages,
    /// What the parser made of them: `UrlId` → `StoredDocument`, compressed.
    Documents,
    /// What the index has yet to learn: sequence → `Change`.
    Changes,
    /// Links to each page: target `UrlId` ‖ linking `SiteId` ‖ anchor hash → anchor text.
    Inlinks,
    /// Pages with links the index has not heard of: `UrlId` → nothing.
    Stale,
    /// Permits outstanding: permit → `PermitRecord`.
    InFlight,
    /// Crawls: `CrawlId` → `CrawlRecord`.
    Crawls,
    /// Sites that crawls with a limit of them have entered: `CrawlId` ‖ `SiteId` → nothing.
    Entered,
    /// First page with a body: digest → `UrlId`.
    Digests,
    /// Slots: number → `SlotState`.
    Slots,
    /// What copies of slots consist of: `ItemKey` → `Kept`. See `item`.
    Items,
    /// Changes of slots: slot ‖ number of the last one → the items, in order.
    Log,
    /// Links for slots that others hold: slot ‖ number → `Link`.
    Links,
    /// Records of the swarm's protocols: kind ‖ name → record. See `records`.
    Swarm,
}

/// All of them.
pub const FAMILIES: [Family; 22] = [
    Family::Meta,
    Family::Young,
    Family::Seen,
    Family::Urls,
    Family::Queue,
    Family::Later,
    Family::Hosts,
    Family::Robots,
    Family::Pages,
    Family::Documents,
    Family::Changes,
    Family::Inlinks,
    Family::Stale,
    Family::InFlight,
    Family::Crawls,
    Family::Entered,
    Family::Digests,
    Family::Slots,
    Family::Items,
    Family::Log,
    Family::Links,
    Family::Swarm,
];

impl Family {
    /// Its name on disk.
    pub fn name(self) -> &'static str {
        match self {
            Family::Meta => "meta",
            Family::Young => "young",
            Family::Seen => "seen",
            Family::Urls => "urls",
            Family::Queue => "queue",
            Family::Later => "later",
            Family::Hosts => "hosts",
            Family::Robots => "robots",
            Family::Pages => "pages",
            Family::Documents => "documents",
            Family::Changes => "changes",
            Family::Inlinks => "inlinks",
            Family::Stale => "stale",
            Family::InFlight => "in_flight",
            Family::Crawls => "crawls",
            Family::Entered => "entered",
            Family::Digests => "digests",
            Family::Slots => "slots",
            Family::Items => "items",
            Family::Log => "log",
            Family::Links => "links",
            Family::Swarm => "swarm",
        }
    }

    /// How blocks are compressed: not what was compressed before it came here, hashes, or what is rewritten soon.
    fn compression(self) -> DBCompressionType {
        match self {
            Family::Pages | Family::Documents | Family::Young | Family::Seen | Family::Queue => {
                DBCompressionType::None
            }
            _ => DBCompressionType::Lz4,
        }
    }

    /// Values of kilobytes that are read one at a time: kept out of the tree, so that compaction does not copy them.
    fn blobs(self) -> bool {
        matches!(self, Family::Pages | Family::Documents)
    }

    /// Whether keys are asked for that may not be there, one by one.
    fn asked_for_absent(self) -> bool {
        !matches!(
            self,
            Family::Young | Family::Seen | Family::Queue | Family::Slots | Family::Log | Family::Links
        )
    }

    /// Small keys written at random and read in bulk: few rewrites matter more than space.
    fn write_heavy(self) -> bool {
        matches!(self, Family::Queue | Family::Inlinks)
    }
}

/// Memory the store may use besides what the operating system caches.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes of the block cache.
    pub cache: usize,
    /// Bytes of all write buffers together, charged to the cache.
    pub write_buffers: usize,
}

impl Default for Memory {
    fn default() -> Self {
        // Measured enough for ten million URLs.
        Memory { cache: 96 << 20, write_buffers: 48 << 20 }
    }
}

/// Options of the whole database.
pub fn database_options(memory: Memory, cache: &Cache) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_max_open_files(512);
    options.set_wal_bytes_per_sync(1 << 20);
    options.set_bytes_per_sync(1 << 20);
    options.set_max_total_wal_size(256 << 20);
    options.set_keep_log_file_num(2);
    options.set_max_background_jobs(2);
    // Never stalls writers: what the families' buffers hold when nearly empty may be more than the sum allowed, then no
    // flush brings it below, and every writer would wait for ever. Each family's own limits still bound the memory.
    let stall = false;
    options.set_write_buffer_manager(&WriteBufferManager::new_write_buffer_manager_with_cache(
        memory.write_buffers,
        stall,
        cache.clone(),
    ));
    options
}

/// Filter over a write buffer's keys, as a share of the buffer: about 8 bits for a key with a hundred bytes.
const BUFFER_FILTER: f64 = 0.01;
/// Sorted runs of `queue` that are merged at once, at least.
const MERGE_WIDTH: i32 = 4;
/// Sorted runs of `queue` from which on they are merged.
const RUNS: i32 = 8;

/// Descriptors of all families.
pub fn descriptors(cache: &Cache) -> Vec<ColumnFamilyDescriptor> {
    FAMILIES.iter().map(|&f| ColumnFamilyDescriptor::new(f.name(), options(f, cache))).collect()
}

fn options(family: Family, cache: &Cache) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_format_version(5);
    if family.asked_for_absent() {
        table.set_bloom_filter(10.0, false);
    }
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let mut options = Options::default();
    // A whole-file filter larger than a cache shard is read anew at each get: 250 times slower.
    table.set_partition_filters(true);
    table.set_index_type(rocksdb::BlockBasedIndexType::TwoLevelIndexSearch);
    options.set_block_based_table_factory(&table);
    options.set_compression_type(family.compression());
    options.set_write_buffer_size(match family {
        // The larger a run is to begin with, the fewer times it is rewritten.
        Family::Queue => 32 << 20,
        _ if family.write_heavy() => 16 << 20,
        _ => 8 << 20,
    });
    if family.asked_for_absent() {
        // Else each look for what is new goes through the buffer's whole list.
        options.set_memtable_prefix_bloom_ratio(BUFFER_FILTER);
        options.set_memtable_whole_key_filtering(true);
    }
    if family.blobs() {
        options.set_enable_blob_files(true);
        options.set_min_blob_size(1024);
        options.set_blob_file_size(64 << 20);
        options.set_enable_blob_gc(true);
        options.set_blob_compression_type(DBCompressionType::None);
    }
    if family.write_heavy() {
        options.set_compaction_style(DBCompactionStyle::Universal);
    }
    if family == Family::Queue {
        // Written far more than read: fewer rewrites, at the cost of some more runs to look into.
        let mut universal = UniversalCompactOptions::default();
        universal.set_min_merge_width(MERGE_WIDTH);
        options.set_universal_compaction_options(&universal);
        options.set_level_zero_file_num_compaction_trigger(RUNS);
    }
    if family == Family::Inlinks {
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(16));
    }
    options
}
