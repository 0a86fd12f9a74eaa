//! Rankings of a test collection, for whoever wants to measure the search: a TREC run.

use crate::document::Document;
use crate::error::Error;
use crate::index::Index;
use crate::query::Query;
use crate::results::SearchOptions;
use crate::settings::Settings;
use crate::writer::Writer;
use anthill_words::Language;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};

/// A line of a collection that is longer is cut by the limits of [`Document`] anyway.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// Documents from which the collection's language is taken, for those too short to tell.
const SAMPLE: usize = 1000;
/// Characters of them that are looked at.
const SAMPLE_CHARS: usize = 20_000;

/// Indexes `docs` (lines of `id TAB text`) in memory with default settings, as pages without title or links; asks
/// each of `queries` (lines of the same form) as a person would type it; writes the best `n` of each to `out` as
/// lines `query Q0 document rank score anthill`.
///
/// # Errors
/// [`Error::Line`] for a line of another form; [`Error::Io`] if a stream fails.
pub fn rank(docs: impl Read, queries: impl Read, n: usize, out: impl Write) -> Result<(), Error> {
    let index = Index::in_memory(Settings { writer_memory_bytes: 200_000_000, ..Settings::default() })?;
    let ids = fill(&mut index.writer()?, docs)?;
    let searcher = index.searcher();
    let options = SearchOptions { group: false, count: false, fetch: false, ..SearchOptions::default() };
    let mut out = BufWriter::new(out);
    each_line(queries, |query, text| {
        let hits = searcher.search(&Query::parse(text), n, 0, &options)?.hits;
        for (hit, rank) in hits.iter().zip(1u64..) {
            let id = usize::try_from(u128::from_be_bytes(hit.key)).ok().and_then(|i| ids.get(i));
            let id = id.map_or("?", String::as_str);
            writeln!(out, "{query} Q0 {id} {rank} {:.6} anthill", hit.score)?;
        }
        Ok(())
    })?;
    Ok(out.flush()?)
}

/// Indexes the documents; their ids in order.
fn fill(writer: &mut Writer, docs: impl Read) -> Result<Vec<String>, Error> {
    let mut ids = Vec::new();
    let mut first: Vec<String> = Vec::new();
    let mut usual: Option<&'static str> = None;
    each_line(docs, |id, text| {
        ids.push(id.to_owned());
        if first.len() < SAMPLE && ids.len() == first.len() + 1 {
            first.push(text.to_owned());
            return Ok(());
        }
        if ids.len() == SAMPLE + 1 {
            usual = put_sample(writer, &first)?;
        }
        put(writer, ids.len() - 1, text, language(text).or(usual))
    })?;
    if ids.len() <= SAMPLE {
        put_sample(writer, &first)?;
    }
    writer.commit(0)?;
    Ok(ids)
}

/// Indexes the first documents and gives the language of all of them together.
fn put_sample(writer: &mut Writer, texts: &[String]) -> Result<Option<&'static str>, Error> {
    let together: String = texts.iter().flat_map(|t| t.chars().chain([' '])).take(SAMPLE_CHARS).collect();
    let usual = whatlang::detect_lang(&together).map(code);
    for (i, text) in texts.iter().enumerate() {
        put(writer, i, text, language(text).or(usual))?;
    }
    Ok(usual)
}

fn put(writer: &mut Writer, i: usize, text: &str, lang: Option<&str>) -> Result<(), Error> {
    let key = (i as u128).to_be_bytes();
    writer.put(&Document { key, text, lang, fresh: true, ..Document::default() })
}

/// The language of a text, if that can be told for sure.
fn language(text: &str) -> Option<&'static str> {
    whatlang::detect(text).filter(whatlang::Info::is_reliable).map(|info| code(info.lang()))
}

/// A language's code: that of its stemmer if there is one.
fn code(lang: whatlang::Lang) -> &'static str {
    Language::of(lang.code()).map_or(lang.code(), Language::code)
}

/// Calls `each` with the id and the text of every line that is not empty.
fn each_line(input: impl Read, mut each: impl FnMut(&str, &str) -> Result<(), Error>) -> Result<(), Error> {
    let mut input = BufReader::new(input);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        if input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            continue;
        }
        match text.split_once('\t') {
            Some((id, text)) if !id.is_empty() => each(id, text)?,
            _ => return Err(Error::Line { line }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_ranked() {
        let docs = "d1\tthe ants crawl through all of the web that they have found\n\
            d2\tbees fly to the flower which they like\n\nd3\tspiders crawl too when they are hungry\r\n";
        let mut out = Vec::new();
        rank(docs.as_bytes(), &b"7\tWhat crawls?\n8\tflowers\n"[..], 10, &mut out).unwrap();
        let lines: Vec<Vec<String>> = String::from_utf8(out)
            .unwrap()
            .lines()
            .map(|l| l.split(' ').map(str::to_owned).collect())
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0][..4], ["7", "Q0", "d3", "1"]);
        assert_eq!(lines[2][..4], ["8", "Q0", "d2", "1"]);
        assert!(lines.iter().all(|l| l.len() == 6 && l[5] == "anthill" && l[4].parse::<f32>().is_ok()));
    }

    #[test]
    fn a_line_without_a_tab_is_refused() {
        let error = rank(&b"d1\tx\nno tab\n"[..], &b""[..], 10, Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Line { line: 2 }));
    }
}
