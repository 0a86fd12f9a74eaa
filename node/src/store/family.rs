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
    /// Every URL ever admitted: `UrlId` → nothing.
    Seen,
    /// URLs that were tried: `UrlId` → `UrlRecord`.
    Urls,
    /// URLs waiting: `QueueKey` → `QueueEntry`.
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
    /// Exclusions: pattern and scope → JSON.
    Exclusions,
    /// First page with a body: digest → `UrlId`.
    Digests,
}

/// All of them.
pub const FAMILIES: [Family; 17] = [
    Family::Meta,
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
    Family::Exclusions,
    Family::Digests,
];

impl Family {
    /// Its name on disk.
    pub fn name(self) -> &'static str {
        match self {
            Family::Meta => "meta",
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
            Family::Exclusions => "exclusions",
            Family::Digests => "digests",
        }
    }

    /// How blocks are compressed: not what was compressed before it came here, hashes, or what is rewritten soon.
    fn compression(self) -> DBCompressionType {
        match self {
            Family::Pages | Family::Documents | Family::Seen | Family::Queue => DBCompressionType::None,
            _ => DBCompressionType::Lz4,
        }
    }

    /// Values of kilobytes that are read one at a time: kept out of the tree, so that compaction does not copy them.
    fn blobs(self) -> bool {
        matches!(self, Family::Pages | Family::Documents)
    }

    /// Small keys written at random and read in bulk: few rewrites matter more than space.
    fn write_heavy(self) -> bool {
        matches!(self, Family::Seen | Family::Queue | Family::Inlinks)
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
        // Measured enough for ten million URLs: filters and indexes of `seen` are 20 MB.
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

/// Part of a write buffer of `seen` that its filter takes: some 13 bits for each of its keys.
const MEMTABLE_FILTER: f64 = 0.04;

/// Bytes of a file of `seen`, some 1.6 million keys: its filter of 2 MB is a small part of a cache shard.
const SEEN_FILE: u64 = 32 << 20;
/// Sorted runs of `seen` and `queue` that are merged at once, at least.
const MERGE_WIDTH: i32 = 4;
/// Sorted runs of `seen` and `queue` from which on they are merged.
const RUNS: i32 = 8;

/// Descriptors of all families.
pub fn descriptors(cache: &Cache) -> Vec<ColumnFamilyDescriptor> {
    FAMILIES.iter().map(|&f| ColumnFamilyDescriptor::new(f.name(), options(f, cache))).collect()
}

fn options(family: Family, cache: &Cache) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_format_version(5);
    table.set_bloom_filter(10.0, false);
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let mut options = Options::default();
    // A whole-file filter larger than a cache shard is read anew at each get: 250 times slower. Where every get goes
    // through the filters, files are kept small instead, which saves looking up the part.
    if family == Family::Seen {
        options.set_target_file_size_base(SEEN_FILE);
    } else {
        table.set_partition_filters(true);
        table.set_index_type(rocksdb::BlockBasedIndexType::TwoLevelIndexSearch);
    }
    options.set_block_based_table_factory(&table);
    options.set_compression_type(family.compression());
    if family == Family::Queue {
        // Most of it is rewritten soon: only what stays is worth the time.
        options.set_bottommost_compression_type(DBCompressionType::Lz4);
    }
    options.set_write_buffer_size(if family.write_heavy() { 16 << 20 } else { 8 << 20 });
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
    if matches!(family, Family::Seen | Family::Queue) {
        // Written far more than read: fewer rewrites, at the cost of some more runs to look into.
        let mut universal = UniversalCompactOptions::default();
        universal.set_min_merge_width(MERGE_WIDTH);
        options.set_universal_compaction_options(&universal);
        options.set_level_zero_file_num_compaction_trigger(RUNS);
    }
    if family == Family::Seen {
        // Nearly all that is asked for is not there: memory is asked first, and its tree is deep.
        options.set_memtable_whole_key_filtering(true);
        options.set_memtable_prefix_bloom_ratio(MEMTABLE_FILTER);
    }
    if family == Family::Inlinks {
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(16));
    }
    options
}
