//! `anthill export`: pages, their index, or the link graph, into a file.

use crate::ask::{Node, Target, wait_for};
use crate::failure::{Code, Failure};
use crate::human::{bytes, json_line};
use anthill_node::api::DAMAGED_TRAILER;
use clap::ValueEnum;
use http_body_util::BodyExt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What, and where to.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to export
    kind: KindArg,
    /// The file, replaced if it is there; - for standard output; compressed if its name ends in .gz
    file: PathBuf,
    /// For cdx: the WARC that was exported and that the lines name
    #[arg(long, value_name = "NAME", default_value = "anthill.warc.gz")]
    warc: String,
    /// Print JSON: the file, its bytes, and how many damaged pages were left out
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum KindArg {
    /// Pages, as WARC 1.1
    Warc,
    /// Index of an exported WARC, as CDXJ
    Cdx,
    /// Link graph: a line for each link
    Links,
}

/// Exports.
///
/// # Errors
/// When no node answers, the stream breaks off, or the file cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    let kind = args.kind.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    let warc = match args.kind {
        KindArg::Warc => args.file.file_name().map(|n| n.to_string_lossy().into_owned()).filter(|n| n != "-"),
        KindArg::Cdx | KindArg::Links => Some(args.warc.clone()),
    };
    let compressed = |name: &str| name.ends_with(".gz");
    let gzip = match args.kind {
        KindArg::Cdx => compressed(&args.warc),
        KindArg::Warc | KindArg::Links => compressed(&args.file.to_string_lossy()),
    };
    let mut query = vec![("gzip", gzip.to_string())];
    query.extend(warc.filter(|name| name.is_ascii()).map(|name| ("warc_name", name)));
    let Written { bytes: written, damaged } = wait_for(write(&node, &kind, &query, &args.file))?;
    if args.file.as_os_str() != "-" {
        eprintln!("{} written to {}", bytes(written), args.file.display());
        if args.json {
            let report = serde_json::json!({"file": args.file, "bytes": written, "damaged": damaged});
            json_line(&report.to_string());
        }
    }
    if damaged == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("{damaged} pages are damaged in the store and were left out; the log of the node names them");
    Ok(Code::Partial.into())
}

/// What an export came to.
struct Written {
    bytes: u64,
    /// Pages left out.
    damaged: u64,
}

/// Writes under another name first: what breaks off leaves no half file under the right one. Writing waits for the
/// disk, and with it the only thing this program does.
async fn write(node: &Node, kind: &str, query: &[(&str, String)], file: &Path) -> Result<Written, Failure> {
    let response = node.stream(&["export", kind], query).await?;
    if file.as_os_str() == "-" {
        return copy(response, &mut std::io::stdout().lock(), file).await;
    }
    let part = PathBuf::from(format!("{}.part", file.display()));
    let placed = match std::fs::File::create(&part) {
        Ok(mut out) => match copy(response, &mut out, &part).await {
            Ok(copied) => out
                .sync_all()
                .and_then(|()| std::fs::rename(&part, file))
                .map(|()| copied)
                .map_err(|e| cannot(file, &e)),
            Err(failure) => Err(failure),
        },
        Err(error) => return Err(cannot(&part, &error)),
    };
    if placed.is_err() {
        // What is left of it is of no use; if it cannot be removed either, the message says enough.
        let _ = std::fs::remove_file(&part);
    }
    placed
}

async fn copy(response: reqwest::Response, out: &mut impl Write, name: &Path) -> Result<Written, Failure> {
    let broke = |e| Failure::failed(format!("the export broke off: {e}; the log of the node says why"));
    let mut body = http::Response::<reqwest::Body>::from(response).into_body();
    let mut written = Written { bytes: 0, damaged: 0 };
    while let Some(frame) = body.frame().await {
        match frame.map_err(broke)?.into_data() {
            Ok(part) => {
                out.write_all(&part).map_err(|e| cannot(name, &e))?;
                written.bytes += part.len() as u64;
            }
            Err(frame) => {
                let count =
                    frame.trailers_ref().and_then(|t| t.get(DAMAGED_TRAILER)?.to_str().ok()?.parse().ok());
                written.damaged = count.unwrap_or(written.damaged);
            }
        }
    }
    out.flush().map_err(|e| cannot(name, &e))?;
    Ok(written)
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot write {}: {error}", path.display()))
}
