//! Does a URL name a date, as the pages of a calendar do?

/// A year and month, perhaps with a day, as a URL writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Date {
    pub(super) year: u16,
    /// Whether there is a day too, and it can hardly be anything else.
    pub(super) full: bool,
}

/// Words for the thing itself.
const CALENDARS: &[&str] = &["agenda", "cal", "calendar", "calendario", "calendrier", "kalender", "termine"];
/// Words for its pages.
const TIMES: &[&str] = &["date", "day", "month", "week", "year"];
/// Words for what is in it.
const EVENTS: &[&str] = &["event", "events", "schedule"];

fn has(words: &[&str], text: &str) -> bool {
    text.split(['-', '_', '.']).any(|part| words.iter().any(|word| word.eq_ignore_ascii_case(part)))
}

/// Whether a path segment or the name of a parameter says that this is a calendar.
pub(super) fn names_calendar(text: &str) -> bool {
    has(CALENDARS, text)
}

/// Whether the name of a parameter says that its value is a time.
pub(super) fn names_time(text: &str) -> bool {
    has(TIMES, text)
}

/// Whether it has to do with calendars at all.
pub(super) fn smells_of_calendar(text: &str) -> bool {
    has(CALENDARS, text) || has(TIMES, text) || has(EVENTS, text)
}

/// A date written in one piece: `2031-07`, `2031-07-14`, `20310714`. The last may be any number, so it is not `full`.
pub(super) fn in_one(text: &str) -> Option<Date> {
    let mut parts = text.split('-');
    match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        (year, Some(month), day, None) => in_parts(year, month, day),
        (text, None, ..) if text.len() == 8 && text.is_ascii() => {
            let date = in_parts(&text[..4], &text[4..6], Some(&text[6..])).filter(|date| date.full)?;
            Some(Date { full: false, ..date })
        }
        _ => None,
    }
}

/// A date written in parts: year of four digits, month and day of two. A day that is none does not matter.
pub(super) fn in_parts(year: &str, month: &str, day: Option<&str>) -> Option<Date> {
    let year = number(year, 4).filter(|&year| year >= 1000)?;
    number(month, 2).filter(|month| (1..=12).contains(month))?;
    let full = day.and_then(|day| number(day, 2)).is_some_and(|day| (1..=31).contains(&day));
    Some(Date { year, full })
}

/// A number of exactly so many digits.
fn number(text: &str, digits: usize) -> Option<u16> {
    (text.len() == digits && text.bytes().all(|octet| octet.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_known_by_their_shape() {
        let date = |year, full| Some(Date { year, full });
        for (text, wanted) in [
            ("2031-07", date(2031, false)),
            ("2031-07-14", date(2031, true)),
            ("20310714", date(2031, false)),
            ("2031-13", None),
            ("2031", None),
            ("203107", None),
            ("2031-7", None),
            ("20311414", None),
            ("2031-07-14-15", None),
            ("v2031-07", None),
            ("", None),
            ("ééáá", None),
        ] {
            assert_eq!(in_one(text), wanted, "{text}");
        }
        assert_eq!(in_parts("2031", "07", Some("title")), date(2031, false));
        assert_eq!(in_parts("0031", "07", None), None);
    }

    #[test]
    fn calendars_are_known_by_their_words() {
        assert!(
            names_calendar("Calendar") && names_calendar("event-calendar.php") && names_time("start_date")
        );
        assert!(smells_of_calendar("events") && !names_calendar("events") && !names_time("calendar"));
        assert!(!smells_of_calendar("update") && !smells_of_calendar("scalar") && !smells_of_calendar(""));
    }
}
