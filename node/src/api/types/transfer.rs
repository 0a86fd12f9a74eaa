//! `/api/v1/export/…` and `/api/v1/import/warc`.

use serde::{Deserialize, Serialize};

/// What is exported.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportKind {
    /// Pages, as WARC 1.1.
    Warc,
    /// The index (CDXJ) of what [`ExportKind::Warc`] gives.
    Cdx,
    /// The link graph, a line for each link.
    Links,
}

/// An export as asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ExportRequest {
    /// What.
    pub kind: ExportKind,
    /// WARC: compress each record. CDX: tell the places in the compressed WARC. Links: compress all.
    pub gzip: bool,
    /// CDX: the name of the WARC that its lines name.
    pub warc_name: String,
}

/// What an import did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ImportReport {
    /// Name of the archive.
    pub name: String,
    /// Records read.
    pub records: u64,
    /// Pages kept and indexed.
    pub pages: u64,
    /// Records that are no pages (requests, metadata, images), or are excluded.
    pub skipped: u64,
    /// What was damaged: the first, at most 100.
    pub defects: Vec<Defect>,
    /// How many were damaged.
    pub defects_total: u64,
}

/// Something damaged in an archive.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Defect {
    /// Bytes from the beginning of the archive, as it came.
    pub offset: u64,
    /// What is wrong.
    pub reason: String,
}
