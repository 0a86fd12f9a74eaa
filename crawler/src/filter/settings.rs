//! What may be set about the filters?

use serde::{Deserialize, Serialize};

/// The file types dropped by default, by the extension of the last path segment: what holds no text that is read.
#[rustfmt::skip]
pub const DEFAULT_DROP: &[&str] = &[
    // Images.
    "apng", "avif", "bmp", "cur", "eps", "gif", "heic", "heif", "ico", "jfif", "jp2", "jpe", "jpeg", "jpg",
    "jxl", "png", "psd", "svg", "svgz", "tga", "tif", "tiff", "webp", "xcf",
    // Sound.
    "aac", "aif", "aiff", "flac", "m3u", "m3u8", "m4a", "mid", "midi", "mp3", "oga", "ogg", "opus", "wav",
    "weba", "wma",
    // Film.
    "3gp", "asf", "avi", "flv", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "ogv", "rm", "swf", "vob",
    "webm", "wmv",
    // Archives and packages.
    "7z", "ace", "apk", "arj", "bz2", "cab", "cpio", "crx", "deb", "dmg", "ear", "egg", "gem", "gz", "img",
    "ipa", "iso", "jar", "lz", "lz4", "lzma", "msi", "nupkg", "phar", "pkg", "rar", "rpm", "snap", "tar",
    "tbz", "tbz2", "tgz", "torrent", "txz", "war", "whl", "xpi", "xz", "zip", "zst",
    // Programs and other binaries.
    "asc", "bin", "class", "dat", "db", "dll", "dylib", "elc", "exe", "ko", "lib", "map", "mo", "o", "obj",
    "parquet", "pdb", "pyc", "sig", "so", "sqlite", "swo", "swp", "wasm",
    // Fonts, styles, scripts.
    "css", "eot", "js", "less", "mjs", "otf", "scss", "ttc", "ttf", "woff", "woff2",
    // Office and print.
    "djvu", "doc", "docm", "docx", "dot", "dotx", "dvi", "epub", "mobi", "mpp", "odf", "odg", "odp", "ods",
    "odt", "pdf", "pps", "ppsx", "ppt", "pptx", "ps", "rtf", "vsd", "vsdx", "xls", "xlsb", "xlsm", "xlsx",
    "xps",
];

/// What the filters go by.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilterSettings {
    /// URLs longer than this are dropped, bytes. Canonical ones have at most [`crate::canon::MAX_URL`].
    pub max_url_bytes: usize,
    /// Paths of more segments are dropped. Real trees of documents rarely have more than 12.
    pub max_segments: usize,
    /// Paths that have one segment more often are dropped.
    pub max_same_segment: usize,
    /// Paths that have a run of two or more segments this often in a row (`/a/b/a/b/a/b`: 3) are dropped.
    pub max_run: usize,
    /// Queries longer than this are dropped, bytes.
    pub max_query_bytes: usize,
    /// Queries longer than this are doubtful, bytes.
    pub doubtful_query_bytes: usize,
    /// Queries of more parameters are dropped.
    pub max_parameters: usize,
    /// Queries of more parameters are doubtful.
    pub doubtful_parameters: usize,
    /// Extensions of file types that are dropped, without dot, lower case.
    pub drop_extensions: Vec<String>,
    /// Dates before this year are too far back for a calendar somebody keeps.
    pub first_year: u16,
    /// Dates so many years after `year` are too far ahead.
    pub years_ahead: u16,
    /// The year it is. Whoever builds the filters sets it; 0 means that no date is too far ahead.
    #[serde(skip)]
    pub year: u16,
}

impl Default for FilterSettings {
    fn default() -> FilterSettings {
        FilterSettings {
            max_url_bytes: crate::canon::MAX_URL,
            max_segments: 24,
            max_same_segment: 3,
            max_run: 3,
            max_query_bytes: 1_024,
            doubtful_query_bytes: 256,
            max_parameters: 16,
            doubtful_parameters: 6,
            drop_extensions: DEFAULT_DROP.iter().map(|&extension| extension.to_owned()).collect(),
            first_year: 1990,
            years_ahead: 2,
            year: 0,
        }
    }
}

/// How many URLs are admitted from one part of the web: the last defence against traps that no rule knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    /// URLs of one host.
    pub per_host: u64,
    /// URLs of one directory, or of one script's queries; counted within some 15 %, see [`super::Directories`].
    pub per_directory: u32,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets { per_host: 1_000_000, per_directory: 50_000 }
    }
}

impl Budgets {
    /// Whether a host that has so many URLs may have one more.
    pub fn admits_to_host(&self, admitted: u64) -> bool {
        admitted < self.per_host
    }
}
