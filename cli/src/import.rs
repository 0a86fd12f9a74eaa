//! `anthill import`: index the pages of archives.

use crate::ask::{Node, Target, wait_for};
use crate::failure::Failure;
use crate::human::{clean, json_line};
use anthill_node::api::types::ImportReport;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Defects named; JSON has more.
const NAMED: usize = 10;

/// What.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the files are
    kind: KindArg,
    /// The files, plain or compressed (.gz)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON, a line for each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum KindArg {
    /// WARC, or the older ARC
    Warc,
}

/// Sends them, one after another.
///
/// # Errors
/// When no node answers, a file cannot be read, or the node refuses it. Files before it are done.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let KindArg::Warc = args.kind;
    let node = args.target.node()?;
    wait_for(async {
        for file in &args.files {
            let text = send(&node, file).await?;
            if args.json {
                json_line(&text);
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn send(node: &Node, file: &Path) -> Result<String, Failure> {
    let cannot = |e: std::io::Error| Failure::failed(format!("cannot read {}: {e}", file.display()));
    let archive = tokio::fs::File::open(file).await.map_err(cannot)?;
    if archive.metadata().await.map_err(cannot)?.is_dir() {
        return Err(Failure::failed(format!("{} is a folder: name the files in it", file.display())));
    }
    // The name is for messages; one that cannot go there is left out.
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = name.filter(|n| n.is_ascii() && n.len() <= 255 && !n.contains(['"', '\\', ';']));
    let query: Vec<_> = name.map(|name| ("name", name)).into_iter().collect();
    let answer = node.send(&["import", "warc"], &query, archive.into()).await?;
    let report: ImportReport = answer.read()?;
    eprintln!(
        "{}: {} records, {} pages indexed, {} skipped, {} damaged",
        file.display(),
        report.records,
        report.pages,
        report.skipped,
        report.defects_total
    );
    for defect in report.defects.iter().take(NAMED) {
        eprintln!("  at byte {}: {}", defect.offset, clean(&defect.reason));
    }
    Ok(answer.text().to_owned())
}
