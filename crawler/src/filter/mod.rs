//! Is a URL worth asking for, as far as its own text tells?
//!
//! One table, [`ROWS`], holds every filter with its name. A URL is dropped by the first row that drops it, else doubtful
//! by the first that doubts; doubtful ones are served last, not refused. What cannot be seen on one URL, that a
//! part of a host never ends, is left to [`Budgets`] and [`Directories`].

mod date;
mod directories;
mod settings;

pub use directories::{DIRECTORIES, Directories};
pub use settings::{Budgets, DEFAULT_DROP, FilterSettings};

use crate::canon::{Canon, looks_like_session};
use crate::map::Set;
use date::Date;

/// Segments and parameters that are looked at; longer paths are dropped for their length unless that limit was
/// raised beyond this one.
const MAX_PARTS: usize = 64;

/// What a URL is found to be. The text is the name of the row that says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// An ordinary URL.
    Pass,
    /// Perhaps worth it: to be asked for after all others.
    Doubtful(&'static str),
    /// Not to be asked for.
    Drop(&'static str),
}

/// One filter.
pub struct Row {
    /// Its name, for logs and for explaining.
    pub name: &'static str,
    /// What it is about, for people.
    pub about: &'static str,
    test: fn(&Shape<'_>, &Filters) -> Finding,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finding {
    Pass,
    Doubt,
    Drop,
}

/// Every filter, in the order they are asked.
pub const ROWS: &[Row] = &[
    Row { name: "url-length", about: "the URL is very long", test: url_length },
    Row { name: "path-depth", about: "the path has very many segments", test: path_depth },
    Row { name: "file-type", about: "the extension is that of a file without text to read", test: file_type },
    Row {
        name: "repeated-segments",
        about: "the path repeats itself, as loops of relative links do",
        test: repeats,
    },
    Row { name: "parameters", about: "the query has very many parameters", test: parameters },
    Row { name: "query-length", about: "the query is very long", test: query_length },
    Row { name: "far-date", about: "a date far from today, as endless calendars have", test: far_date },
    Row { name: "calendar", about: "a page of a calendar", test: calendar },
    Row { name: "session", about: "a long hexadecimal number, as sessions have", test: session },
];

/// The filters with their settings, ready for use.
#[derive(Clone, Debug)]
pub struct Filters {
    settings: FilterSettings,
    drop: Set<Box<str>>,
}

impl Default for Filters {
    fn default() -> Filters {
        Filters::new(FilterSettings::default())
    }
}

impl Filters {
    /// Filters that go by these settings.
    pub fn new(settings: FilterSettings) -> Filters {
        let drop = settings.drop_extensions.iter();
        let drop = drop
            .map(|one| one.trim().trim_start_matches('.').to_ascii_lowercase().into_boxed_str())
            .collect();
        Filters { settings, drop }
    }

    /// The settings they were made with.
    pub fn settings(&self) -> &FilterSettings {
        &self.settings
    }

    /// What the filters say of a URL. Sitemaps are not asked about.
    pub fn check(&self, url: &Canon) -> Verdict {
        let shape = Shape::of(url);
        let mut verdict = Verdict::Pass;
        for row in ROWS {
            match (row.test)(&shape, self) {
                Finding::Drop => return Verdict::Drop(row.name),
                Finding::Doubt if verdict == Verdict::Pass => verdict = Verdict::Doubtful(row.name),
                Finding::Doubt | Finding::Pass => {}
            }
        }
        verdict
    }
}

/// A URL taken apart once, for all rows.
struct Shape<'a> {
    bytes: usize,
    /// At most [`MAX_PARTS`], without the empty one before the first slash.
    segments: Vec<&'a str>,
    /// All of them.
    segment_count: usize,
    query: &'a str,
    /// Names and values, at most [`MAX_PARTS`].
    parameters: Vec<(&'a str, &'a str)>,
    /// All of them.
    parameter_count: usize,
}

impl<'a> Shape<'a> {
    fn of(url: &'a Canon) -> Shape<'a> {
        let (path, query) = (&url.path()[1..], url.query().unwrap_or_default());
        let pair = |parameter: &'a str| parameter.split_once('=').unwrap_or((parameter, ""));
        let parts = query.split('&').filter(|part| !part.is_empty());
        Shape {
            bytes: url.url().len(),
            segments: path.split('/').take(MAX_PARTS).collect(),
            segment_count: 1 + memchr::memchr_iter(b'/', path.as_bytes()).count(),
            query,
            parameters: parts.clone().take(MAX_PARTS).map(pair).collect(),
            parameter_count: parts.count(),
        }
    }

    /// The last segment: the name of a file, or empty.
    fn file(&self) -> &'a str {
        if self.segment_count > MAX_PARTS { "" } else { self.segments.last().copied().unwrap_or_default() }
    }
}

fn bounds(value: usize, doubtful: usize, max: usize) -> Finding {
    if value > max {
        Finding::Drop
    } else if value > doubtful {
        Finding::Doubt
    } else {
        Finding::Pass
    }
}

fn drop_if(it: bool) -> Finding {
    if it { Finding::Drop } else { Finding::Pass }
}

fn doubt_if(it: bool) -> Finding {
    if it { Finding::Doubt } else { Finding::Pass }
}

fn url_length(shape: &Shape<'_>, filters: &Filters) -> Finding {
    drop_if(shape.bytes > filters.settings.max_url_bytes)
}

fn path_depth(shape: &Shape<'_>, filters: &Filters) -> Finding {
    drop_if(shape.segment_count > filters.settings.max_segments)
}

/// By the extension of the last segment. `File:Ants.jpg` and what lies under `/wiki/` are pages about something, and
/// `sitemap.xml.gz` is read.
fn file_type(shape: &Shape<'_>, filters: &Filters) -> Finding {
    let Some((stem, extension)) = shape.file().rsplit_once('.') else { return Finding::Pass };
    // The longest extension in use has 10 letters; a sentence in a path may have any.
    if stem.is_empty() || extension.len() > 10 || stem.contains(':') {
        return Finding::Pass;
    }
    let lower = extension.to_ascii_lowercase();
    if !filters.drop.contains(&*lower) {
        return Finding::Pass;
    }
    let readable = lower == "gz" && (stem.ends_with(".xml") || stem.ends_with(".txt"));
    drop_if(!readable && !shape.segments.contains(&"wiki"))
}

fn repeats(shape: &Shape<'_>, filters: &Filters) -> Finding {
    let segments = &shape.segments;
    let often = |segment: &&str| segments.iter().filter(|other| *other == segment).count();
    if segments.iter().any(|segment| often(segment) > filters.settings.max_same_segment) {
        return Finding::Drop;
    }
    // Runs of one segment are counted above: `/2001/01/01/01` is a day's first page.
    let times = filters.settings.max_run.max(2);
    let run = |length: usize| {
        let equal = |start: &usize| segments[*start] == segments[start + length];
        let mut in_row = 0;
        (0..segments.len().saturating_sub(length)).any(|start| {
            in_row = if equal(&start) { in_row + 1 } else { 0 };
            in_row >= length * (times - 1)
        })
    };
    drop_if((2..=segments.len() / times).any(run))
}

fn parameters(shape: &Shape<'_>, filters: &Filters) -> Finding {
    bounds(shape.parameter_count, filters.settings.doubtful_parameters, filters.settings.max_parameters)
}

fn query_length(shape: &Shape<'_>, filters: &Filters) -> Finding {
    bounds(shape.query.len(), filters.settings.doubtful_query_bytes, filters.settings.max_query_bytes)
}

/// Dates a calendar has and its keeper has not. In the future any full date will do, since nothing is filed there yet; in
/// the past only what says that it is a calendar, since newspapers file their archives by day.
fn far_date(shape: &Shape<'_>, filters: &Filters) -> Finding {
    let settings = &filters.settings;
    let last = if settings.year == 0 { u16::MAX } else { settings.year.saturating_add(settings.years_ahead) };
    let far = |date: &Date| date.year < settings.first_year || date.year > last;
    let Some(found) = path_dates(shape).chain(query_dates(shape)).find(far) else { return Finding::Pass };
    let (segments, mut names) = (&shape.segments, shape.parameters.iter().map(|(name, _)| name));
    let sure = if found.year > last {
        found.full || segments.iter().chain(names).any(|word| date::smells_of_calendar(word))
    } else {
        segments.iter().any(|segment| date::names_calendar(segment))
            || names.any(|name| date::names_calendar(name) || date::names_time(name))
    };
    if sure { Finding::Drop } else { Finding::Doubt }
}

/// Pages of calendars near today: there is one for every month, most of them empty.
fn calendar(shape: &Shape<'_>, _: &Filters) -> Finding {
    let by_path =
        path_dates(shape).next().is_some() && shape.segments.iter().any(|word| date::names_calendar(word));
    let by_query = shape.parameters.iter().any(|(name, value)| date::names_time(name) && is_numeric(value));
    doubt_if(by_path || by_query)
}

fn session(shape: &Shape<'_>, _: &Filters) -> Finding {
    let long = |text: &str| text.len() >= 24 && looks_like_session(text.as_bytes());
    let in_path = shape.segments.iter().any(|segment| segment.split(['.', ';', '=']).any(long));
    doubt_if(in_path || shape.parameters.iter().any(|(_, value)| long(value)))
}

/// Dates in one segment or in two or three that follow each other.
fn path_dates<'a>(shape: &'a Shape<'_>) -> impl Iterator<Item = Date> + 'a {
    let at = |number: usize| {
        shape.segments.get(number).map(|segment| segment.split('.').next().unwrap_or_default())
    };
    (0..shape.segments.len()).filter_map(move |first| {
        let here = at(first)?;
        date::in_one(here).or_else(|| date::in_parts(here, at(first + 1)?, at(first + 2)))
    })
}

/// Dates in one parameter, or in two named year and month.
fn query_dates<'a>(shape: &'a Shape<'_>) -> impl Iterator<Item = Date> + 'a {
    let named = |wanted: &'static str| {
        let mut found = shape.parameters.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        found.next().map(|(_, value)| *value)
    };
    let months = named("month").is_some_and(|month| matches!(month.parse(), Ok(1..=12u8)));
    let in_two = if months { named("year").and_then(|year| date::in_parts(year, "01", None)) } else { None };
    shape.parameters.iter().filter_map(|(_, value)| date::in_one(value)).chain(in_two)
}

fn is_numeric(value: &str) -> bool {
    !value.is_empty()
        && value.bytes().all(|octet| octet.is_ascii_digit() || matches!(octet, b'-' | b'/' | b'.'))
}

#[cfg(test)]
mod tests;
