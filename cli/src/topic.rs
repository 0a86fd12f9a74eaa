//! `anthill topic`: what a crawl is about, learned from examples.

use crate::failure::Failure;
use crate::human::{json_line, line};
use anthill_crawler::focus::bayes::{MAX_TERMS, Model};
use anthill_crawler::focus::reader::text_of;
use anthill_crawler::focus::terms::{Counts, Terms};
use anthill_crawler::focus::train::{self, Examples, MAX_TEXTS, USUAL_TERMS};
use anthill_crawler::lang;
use anthill_crawler::parse::{self, Input, Options};
use anthill_index::Language;
use anthill_node::files::{self, Readers};
use anthill_node::topic;
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bytes of an example that are read: those of the largest page that the fetcher takes.
const MAX_PAGE: u64 = 10 << 20;
/// Bytes of the texts of all examples, at most: they are in memory together.
const MAX_ALL: usize = 1 << 30;
/// Folders within folders that are gone into.
const MAX_DEPTH: usize = 16;
/// Terms of a class that are shown.
const SHOWN: usize = 12;

/// What to do with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A topic from examples:
  anthill topic train --on ants/ --off others/ --out ants.topic
Some dozens of pages of each are enough. --off wants what a crawl will meet that is off topic: pages
of all kinds, near the topic too.")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Learn a topic from folders of example pages
    Train {
        /// Folder of pages on topic (HTML or text); each one given is a class, named as the folder
        #[arg(long, value_name = "DIR", required = true)]
        on: Vec<PathBuf>,
        /// Folder of pages off topic
        #[arg(long, value_name = "DIR")]
        off: PathBuf,
        /// The model's file
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Language by which words are reduced to their stems (ISO 639-1), or `none` [default: that of most pages]
        #[arg(long, value_name = "CODE")]
        language: Option<String>,
        /// Terms that are kept, at most
        #[arg(long, value_name = "N", default_value_t = USUAL_TERMS, value_parser = count_of_terms)]
        terms: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a model has learned, and how sure it may be
    Show {
        /// The model's file
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Judge pages by a model, a line each: probability that it is on topic, class, file
    Judge {
        /// The model's file
        model: PathBuf,
        /// Pages (HTML or text), or folders of them
        #[arg(required = true)]
        pages: Vec<PathBuf>,
    },
}

/// Does it.
///
/// # Errors
/// When a file cannot be read or written, is no model, or nothing can be learned.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.what {
        What::Train { on, off, out, language, terms, json } => {
            let model = learn(&on, &off, language.as_deref(), terms)?;
            let bytes = model.encode();
            files::replace(&out, &bytes, Readers::All)
                .map_err(|error| Failure::failed(format!("cannot write {}: {error}", out.display())))?;
            eprintln!("{} written, {} bytes", out.display(), bytes.len());
            show(&model, json);
        }
        What::Show { file, json } => show(&read_model(&file)?, json),
        What::Judge { model, pages } => judge(read_model(&model)?, &pages)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn count_of_terms(text: &str) -> Result<usize, String> {
    let count = text.parse::<usize>().ok().filter(|count| (1..=MAX_TERMS).contains(count));
    count.ok_or_else(|| format!("a number from 1 to {MAX_TERMS} is needed"))
}

fn cannot_read(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::failed(format!("cannot read {}: {error}", path.display()))
}

fn read_model(file: &Path) -> Result<Model, Failure> {
    topic::read(file).map_err(|error| Failure::failed(format!("{error:#}")))
}

/// Files of a folder and those within, in order of name, hidden ones left out.
fn pages(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(cannot_read(folder))?;
    entries.sort();
    let is_shown =
        |path: &PathBuf| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
    for path in entries.into_iter().filter(is_shown) {
        match path.is_dir() {
            true if depth < MAX_DEPTH => pages(&path, depth + 1, found)?,
            true => {
                return Err(Failure::failed(format!("{}: too many folders within folders", path.display())));
            }
            false => found.push(path),
        }
        if found.len() > MAX_TEXTS {
            return Err(Failure::failed(format!("{}: more than {MAX_TEXTS} pages", folder.display())));
        }
    }
    Ok(())
}

/// What is to be read of a page, its title first; none where there is no text.
fn text(file: &Path) -> Result<Option<String>, Failure> {
    let body = files::head(file, MAX_PAGE).map_err(cannot_read(file))?;
    let url = url::Url::parse("http://example.invalid/").expect("a URL");
    let input = Input { body: &body, url: &url, content_type: None, robots_headers: &[], agent: "anthill" };
    let page = parse::parse(&input, &Options { language: false, ..Options::default() });
    let text = text_of(&page.title.unwrap_or_default(), &page.text);
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// The texts of a folder's pages, for which there is so much room; those without text are told of.
fn texts(folder: &Path, room: &mut usize) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    pages(folder, 0, &mut files)?;
    let mut texts = Vec::new();
    for file in &files {
        let Some(text) = text(file)? else { continue };
        *room = room.checked_sub(text.len()).ok_or_else(|| {
            let most = MAX_ALL >> 20;
            Failure::failed(format!(
                "{}: more than {most} MiB of text in all: give fewer pages",
                folder.display()
            ))
        })?;
        texts.push(text);
    }
    if texts.len() < files.len() {
        eprintln!(
            "{}: {} of {} files have no text",
            folder.display(),
            files.len() - texts.len(),
            files.len()
        );
    }
    Ok(texts)
}

fn name(folder: &Path) -> Result<String, Failure> {
    let folder = folder.canonicalize().map_err(cannot_read(folder))?;
    Ok(folder.file_name().map_or_else(|| "on".to_owned(), |name| name.to_string_lossy().into_owned()))
}

fn learn(on: &[PathBuf], off: &Path, language: Option<&str>, most: usize) -> Result<Model, Failure> {
    let (mut folders, mut room) = (Vec::new(), MAX_ALL);
    for folder in on {
        folders.push((name(folder)?, texts(folder, &mut room)?));
    }
    folders.push(("other".to_owned(), texts(off, &mut room)?));
    let language = match language {
        Some("none") => None,
        Some(code) => Some(Language::of(code).ok_or_else(|| {
            Failure::usage(format!(
                "no stems are known of the language {code:?}; `none` leaves words as they are"
            ))
        })?),
        None => usual(folders.iter().flat_map(|(_, texts)| texts)),
    };
    let mut terms = Terms::new(language);
    let mut count = |text: &String| {
        let mut counts = Counts::default();
        terms.count(text, &mut counts);
        counts
    };
    let mut examples = Vec::new();
    for (name, texts) in &folders {
        examples.push(Examples { name: name.clone(), texts: texts.iter().map(&mut count).collect() });
    }
    train::train(&examples, language, most).map_err(|error| Failure::failed(error.to_string()))
}

/// The language of most texts, if its words have stems.
fn usual<'a>(texts: impl Iterator<Item = &'a String>) -> Option<Language> {
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    texts.for_each(|text| *counts.entry(lang::detect(text).lang).or_default() += 1);
    let most = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Language::of(most.0?)
}

fn show(model: &Model, as_json: bool) {
    let trained = &model.trained;
    let strongest = |class: usize| model.strongest(class, SHOWN);
    if as_json {
        let class = |(class, (name, texts)): (usize, (&String, &u32))| {
            let terms: Vec<&str> = strongest(class).into_iter().map(|(term, _)| term).collect();
            json!({ "name": name, "texts": texts, "strongest": terms })
        };
        let classes: Vec<_> = model.classes.iter().zip(&trained.texts).enumerate().map(class).collect();
        return json_line(
            &json!({
                "digest": model.digest().to_hex().as_str(),
                "language": model.language,
                "terms": model.terms.len(),
                "terms_met": trained.terms,
                "smoothing": trained.smoothing,
                "accuracy": trained.accuracy,
                "loss": trained.loss,
                "classes": classes,
            })
            .to_string(),
        );
    }
    let language = model.language.as_deref().unwrap_or("none: words are left as they are");
    line(format_args!("digest      {}", model.digest().to_hex()));
    line(format_args!("stems       {language}"));
    line(format_args!("terms       {} of {}", model.terms.len(), trained.terms));
    line(format_args!("smoothing   {}", trained.smoothing));
    line("of pages that were not learned from:");
    line(format_args!("  right     {:.1} %", trained.accuracy * 100.0));
    line(format_args!(
        "  loss      {:.3} (0: always sure and right; {:.3}: knows nothing)",
        trained.loss,
        f64::from(model.classes.len() as u32).ln()
    ));
    for (class, (name, texts)) in model.classes.iter().zip(&trained.texts).enumerate() {
        let terms: Vec<&str> = strongest(class).into_iter().map(|(term, _)| term).collect();
        line(format_args!("{name}: {texts} pages; {}", terms.join(" ")));
    }
}

fn judge(model: Model, paths: &[PathBuf]) -> Result<(), Failure> {
    let mut classifier = anthill_crawler::focus::bayes::Classifier::new(model);
    for path in paths {
        let mut files = Vec::new();
        match path.is_dir() {
            true => pages(path, 0, &mut files)?,
            false => files.push(path.clone()),
        }
        for file in files {
            let Some(text) = text(&file)? else { continue };
            let judgement = classifier.judge(&text);
            let class = &classifier.model().classes[judgement.best()];
            if !line(format_args!("{:.4}\t{class}\t{}", judgement.on(), file.display())) {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders of pages: of ants (one within a folder, one hidden, one without text) and of other things.
    fn folders(at: &Path) -> [PathBuf; 2] {
        let [ants, off] = ["ants", "off"].map(|name| at.join(name));
        std::fs::create_dir_all(ants.join("more")).unwrap();
        std::fs::create_dir_all(&off).unwrap();
        let page =
            |words: &str| format!("<!DOCTYPE html><title>{words}</title><p>The page says: {words}</p>");
        let of_ants =
            ["an ant and its colony", "ants of a colony", "the colony of an ant", "colonies and ants"];
        let of_others =
            ["a river in the valley", "rivers and valleys", "the valley of a river", "valleys, rivers"];
        for (n, (on, other)) in of_ants.iter().zip(of_others).enumerate() {
            let place = if n == 0 { ants.join("more") } else { ants.clone() };
            std::fs::write(place.join(format!("{n}.html")), page(on)).unwrap();
            std::fs::write(off.join(format!("{n}.html")), page(other)).unwrap();
        }
        std::fs::write(ants.join(".hidden"), "not a page").unwrap();
        std::fs::write(ants.join("empty.html"), "<p></p>").unwrap();
        [ants, off]
    }

    #[test]
    fn a_topic_is_learned_from_folders_and_its_file_can_be_read() {
        let at = tempfile::tempdir().unwrap();
        let [ants, off] = folders(at.path());
        let out = at.path().join("ants.topic");
        let on = vec![ants.clone()];
        let what = What::Train {
            on,
            off,
            out: out.clone(),
            language: Some("en".to_owned()),
            terms: 100,
            json: true,
        };
        run(Args { what }).unwrap();
        let model = read_model(&out).unwrap();
        assert_eq!(model.classes, ["ants", "other"]);
        assert_eq!(model.trained.texts, [4, 4]);
        let best: Vec<&str> = model.strongest(0, 2).into_iter().map(|(term, _)| term).collect();
        assert!(best.contains(&"ant") && best.contains(&"coloni"), "{best:?}");
        run(Args { what: What::Judge { model: out.clone(), pages: vec![ants] } }).unwrap();
        run(Args { what: What::Show { file: out, json: false } }).unwrap();
    }

    #[test]
    fn what_cannot_be_learned_from_or_read_says_so() {
        let at = tempfile::tempdir().unwrap();
        let [ants, off] = folders(at.path());
        let told = |on: &Path, off: &Path, language: Option<&str>| {
            learn(&[on.to_owned()], off, language, 100).unwrap_err().to_string()
        };
        assert!(told(&at.path().join("no"), &off, None).contains("cannot read"));
        assert!(told(&ants, &off, Some("xx")).contains("none"));
        let none = at.path().join("none");
        std::fs::create_dir(&none).unwrap();
        assert!(told(&none, &off, None).contains("at least 2"));
        std::fs::write(at.path().join("x.topic"), "no model").unwrap();
        let error = read_model(&at.path().join("x.topic")).unwrap_err().to_string();
        assert!(error.contains("anthill topic train"), "{error}");
    }
}
