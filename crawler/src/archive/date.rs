//! How are dates of archives written and read?
//!
//! WARC dates are W3C date-times in UTC (WARC 1.1 section 5.4): down to the microsecond when written here, and
//! of any precision, a lone year included, when read. ARC files and CDX indexes have 14 digits instead.

use crate::time::Instant;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The longest date anybody writes, with nanoseconds and an offset, is 35 characters.
const MAX_DATE: usize = 40;

/// The date as a WARC has it: `2017-03-06T04:02:06Z`, with a fraction where there is one.
pub fn warc_date(at: Instant) -> String {
    timestamp(at).to_string()
}

/// The 14 digits of ARC and CDX: `20170306040206`, fractions cut off.
pub fn digits14(at: Instant) -> String {
    timestamp(at).strftime("%Y%m%d%H%M%S").to_string()
}

/// Instants beyond the year 9999 are clamped to its end.
fn timestamp(at: Instant) -> Timestamp {
    i64::try_from(at.0).ok().and_then(|us| Timestamp::from_microsecond(us).ok()).unwrap_or(Timestamp::MAX)
}

/// Reads a W3C date-time of any precision, or 14 (or fewer, even) digits. `None` for anything else and for
/// dates before 1970.
pub fn parse_date(text: &str) -> Option<Instant> {
    let text = text.trim();
    if text.len() > MAX_DATE || !text.is_ascii() {
        return None;
    }
    let timestamp = text.parse::<Timestamp>().ok().or_else(|| parse_partial(text))?;
    u64::try_from(timestamp.as_microsecond()).ok().map(Instant)
}

/// Year, month, day, hour, minute and second, as far as they are given.
fn parse_partial(text: &str) -> Option<Timestamp> {
    let mut numbers = [1i16, 1, 1, 0, 0, 0];
    numbers[0] = 0;
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if !matches!(text.len(), 4 | 6 | 8 | 10 | 12 | 14) {
            return None;
        }
        numbers[0] = text.get(..4)?.parse().ok()?;
        for (slot, at) in (4..text.len()).step_by(2).enumerate() {
            numbers[slot + 1] = text.get(at..at + 2)?.parse().ok()?;
        }
    } else {
        let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
        let mut parts = text.split(['-', 'T', 't', ':', ' ']);
        for (slot, width) in [4, 2, 2, 2, 2, 2].into_iter().enumerate() {
            let Some(part) = parts.next() else { break };
            if part.len() != width || !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            numbers[slot] = part.parse().ok()?;
        }
        if parts.next().is_some() {
            return None;
        }
    }
    let small = |slot: usize| i8::try_from(numbers[slot]).ok();
    let civil = DateTime::new(numbers[0], small(1)?, small(2)?, small(3)?, small(4)?, small(5)?, 0).ok()?;
    TimeZone::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: Instant = Instant(1_488_772_926_000_000);

    #[test]
    fn a_whole_second_is_written_without_a_fraction_and_others_with_one() {
        assert_eq!(warc_date(WHOLE), "2017-03-06T04:02:06Z");
        assert_eq!(warc_date(Instant(WHOLE.0 + 120_000)), "2017-03-06T04:02:06.12Z");
        assert_eq!(digits14(Instant(WHOLE.0 + 999_999)), "20170306040206");
    }

    #[test]
    fn every_precision_of_a_date_is_read() {
        let day = Instant(1_488_758_400_000_000);
        for (text, expected) in [
            ("2017-03-06T04:02:06Z", WHOLE),
            ("2017-03-06T04:02:06.5Z", Instant(WHOLE.0 + 500_000)),
            ("2017-03-06T04:02:06.500000000Z", Instant(WHOLE.0 + 500_000)),
            ("2017-03-06T05:02:06+01:00", WHOLE),
            ("2017-03-06T04:02:06", WHOLE),
            ("2017-03-06T04:02Z", Instant(WHOLE.0 - 6_000_000)),
            ("2017-03-06", day),
            ("20170306", day),
            ("2017-03", Instant(1_488_326_400_000_000)),
            ("2017", Instant(1_483_228_800_000_000)),
            ("20170306040206", WHOLE),
        ] {
            assert_eq!(parse_date(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "yesterday",
            "2017-13-01",
            "2017-02-30T00:00:00Z",
            "20170",
            "1969",
            "2017-3-6",
            "2017-03-06T04:02:06Z!",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_date_written_is_read_back(us in 0u64..253_000_000_000_000_000) {
            prop_assert_eq!(parse_date(&warc_date(Instant(us))), Some(Instant(us)));
            prop_assert_eq!(parse_date(&digits14(Instant(us))), Some(Instant(us / 1_000_000 * 1_000_000)));
        }

        #[test]
        fn no_text_panics(text in ".{0,60}") {
            parse_date(&text);
        }

        #[test]
        fn no_instant_panics(us: u64) {
            prop_assert_eq!(digits14(Instant(us)).len(), 14);
        }
    }
}
