//! What a page asks of robots, by `<meta name=robots>` and `X-Robots-Tag`.
//!
//! Neither is standardised; this is what the large search engines document. Where several directives
//! speak, the most restrictive holds.

use jiff::{Timestamp, civil, fmt::rfc2822, tz::TimeZone};
use serde::{Deserialize, Serialize};

/// Directives of a page for this robot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Directives {
    /// Do not show it in results.
    pub noindex: bool,
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not offer a stored copy.
    pub noarchive: bool,
    /// Show no text of it.
    pub nosnippet: bool,
    /// Not to be shown after this time, in Unix seconds; the earliest if several are named.
    pub unavailable_after: Option<i64>,
}

/// Longest header or meta value that is read: real ones have under a hundred bytes.
const MAX_VALUE: usize = 4096;

impl Directives {
    /// Applies a `<meta name=robots content>` (or `name=AGENT`).
    pub fn apply_meta(&mut self, content: &str) {
        for rule in Rules::new(content) {
            self.apply_rule(rule);
        }
    }

    /// Applies an `X-Robots-Tag` value. A rule may be preceded by the name of the robot it is for
    /// (`otherbot: noindex, nofollow`), which then holds for the rest of the value or until the next name.
    pub fn apply_header(&mut self, value: &str, agent: &str) {
        let mut ours = true;
        for mut rule in Rules::new(value) {
            if let Some((name, rest)) = rule.split_once(':') {
                let name = name.trim();
                if is_token(name) && !takes_value(name) {
                    ours = name.eq_ignore_ascii_case(agent) || name == "*";
                    rule = rest.trim();
                }
            }
            if ours {
                self.apply_rule(rule);
            }
        }
    }

    fn apply_rule(&mut self, rule: &str) {
        let (name, value) = rule.split_once(':').unwrap_or((rule, ""));
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        match name.as_str() {
            "noindex" => self.noindex = true,
            "nofollow" => self.nofollow = true,
            "none" => (self.noindex, self.nofollow) = (true, true),
            "noarchive" | "nocache" => self.noarchive = true,
            "nosnippet" => self.nosnippet = true,
            "max-snippet" if value == "0" => self.nosnippet = true,
            "unavailable_after" => {
                self.unavailable_after = match (self.unavailable_after, parse_date(value)) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            }
            _ => {}
        }
    }
}

fn takes_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|n| name.eq_ignore_ascii_case(n))
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.*+/".contains(&b))
}

/// Splits a value at its commas, but not at the comma in the date of `unavailable_after`.
struct Rules<'a> {
    rest: Option<&'a str>,
}

impl<'a> Rules<'a> {
    fn new(value: &'a str) -> Rules<'a> {
        let mut end = value.len().min(MAX_VALUE);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        Rules { rest: Some(&value[..end]) }
    }
}

impl<'a> Iterator for Rules<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        let mut end = rest.find(',').unwrap_or(rest.len());
        if let Some((_, date)) = rest[..end].rsplit_once(':')
            && rest[..end].to_ascii_lowercase().contains("unavailable_after")
            && is_weekday(date.trim())
            && let Some(next) = rest[end..].get(1..)
        {
            end += 1 + next.find(',').unwrap_or(next.len());
        }
        self.rest = rest.get(end + 1..);
        Some(rest[..end].trim())
    }
}

fn is_weekday(word: &str) -> bool {
    word.len() >= 3
        && word.bytes().all(|b| b.is_ascii_alphabetic())
        && ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].iter().any(|d| word[..3].eq_ignore_ascii_case(d))
}

/// Unix seconds of a date as RFC 822 and its successors, RFC 850 or ISO 8601 write it; UTC where it names no zone.
pub fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > 64 {
        return None;
    }
    if let Ok(t) = text.parse::<Timestamp>() {
        return Some(t.as_second());
    }
    if text.as_bytes().first().is_some_and(u8::is_ascii_digit) && text.as_bytes().get(4) == Some(&b'-') {
        let local = text.parse::<civil::DateTime>().ok()?;
        return Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second());
    }
    internet_date(text)
}

/// RFC 822, 1123, 2822, 5322 and 850: day, month by name, year, time, zone. The weekday says nothing new and
/// is often wrong, so it is dropped.
fn internet_date(text: &str) -> Option<i64> {
    let without_day = match text.split_once(',') {
        Some((day, rest)) if is_weekday(day.trim()) => rest,
        _ => text.split_once(' ').filter(|(day, _)| is_weekday(day)).map_or(text, |(_, rest)| rest),
    };
    let mut words = Vec::with_capacity(6);
    for word in without_day.split_ascii_whitespace() {
        // RFC 850 joins day, month and year by hyphens; a zone like -0700 has none inside.
        if words.is_empty() && word.contains('-') { words.extend(word.split('-')) } else { words.push(word) }
    }
    if words.len() < 3 || words.len() > 5 {
        return None;
    }
    let time = words.get(3).copied().unwrap_or("00:00:00");
    let zone = match words.get(4) {
        None | Some(&"UTC" | &"utc" | &"Z" | &"z") => "GMT",
        Some(zone) => zone,
    };
    let normal = format!("{} {} {} {time} {zone}", words[0], words[1], words[2]);
    Some(rfc2822::DateTimeParser::new().parse_timestamp(&normal).ok()?.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2027-06-25 15:00:00 UTC.
    const MOMENT: i64 = 1_813_935_600;

    fn header(value: &str) -> Directives {
        let mut d = Directives::default();
        d.apply_header(value, "anthill");
        d
    }

    #[test]
    fn directives_are_read_whatever_their_case_and_spacing() {
        let d = header(" NoIndex ,nofollow,noarchive , nosnippet");
        assert!(d.noindex && d.nofollow && d.noarchive && d.nosnippet);
        let d = header("none");
        assert!(d.noindex && d.nofollow && !d.noarchive);
        assert_eq!(header("all, index, follow, max-image-preview: large"), Directives::default());
        assert!(header("max-snippet:0").nosnippet);
        assert!(!header("max-snippet: 50").nosnippet);
    }

    #[test]
    fn rules_for_another_robot_do_not_apply() {
        assert_eq!(header("googlebot: noindex, nofollow"), Directives::default());
        assert!(header("anthill: noindex").noindex);
        assert!(header("Anthill: noindex").noindex);
        assert!(header("*: noindex").noindex);
        let d = header("otherbot: noindex, anthill: nofollow, noarchive");
        assert!(!d.noindex && d.nofollow && d.noarchive);
        let d = header("noindex, otherbot: nofollow");
        assert!(d.noindex && !d.nofollow);
    }

    #[test]
    fn unavailable_after_reads_every_usual_date() {
        for date in [
            "25 Jun 2027 15:00:00 GMT",
            "25 Jun 2027 15:00:00 UTC",
            "25 Jun 2027 08:00:00 PDT",
            "25 Jun 2027 10:00:00 EST",
            "Fri, 25 Jun 2027 15:00:00 GMT",
            "Fri, 25 Jun 2027 17:00:00 +0200",
            "Friday, 25-Jun-27 15:00:00 GMT",
            "Fri 25 Jun 2027 15:00 GMT",
            "25 Jun 27 15:00:00 GMT",
            "2027-06-25T15:00:00Z",
            "2027-06-25T17:00:00+02:00",
            "2027-06-25T15:00:00",
            "2027-06-25 15:00:00",
        ] {
            assert_eq!(
                header(&format!("unavailable_after: {date}")).unavailable_after,
                Some(MOMENT),
                "{date}"
            );
            let d = header(&format!("noarchive, anthill: unavailable_after: {date}, noindex"));
            assert_eq!((d.unavailable_after, d.noindex), (Some(MOMENT), true), "{date}");
        }
        assert_eq!(header("unavailable_after: 2027-06-25").unavailable_after, Some(MOMENT - 15 * 3600));
        assert_eq!(header("unavailable_after: 25 Jun 2027").unavailable_after, Some(MOMENT - 15 * 3600));
        assert_eq!(header("otherbot: unavailable_after: 25 Jun 2027").unavailable_after, None);
        assert_eq!(header("unavailable_after: soon").unavailable_after, None);
    }

    #[test]
    fn the_earliest_of_several_dates_holds() {
        let mut d = header("unavailable_after: 2027-06-25T15:00:00Z");
        d.apply_meta("unavailable_after: 2030-01-01");
        assert_eq!(d.unavailable_after, Some(MOMENT));
    }

    proptest! {
        #[test]
        fn any_value_is_read_without_panic(v in "\\PC{0,80}", d in "(Fri|Sun)?,? ?[0-9A-Za-z:,+ -]{0,40}") {
            header(&v);
            header(&format!("unavailable_after:{d}"));
            parse_date(&v);
            parse_date(&d);
        }
    }
}
