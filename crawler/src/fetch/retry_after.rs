//! How long does a server ask to be left alone?

use std::time::{Duration, UNIX_EPOCH};

/// Longest wait understood: ten years. What is longer (or does not fit) is this long; how much of it is honoured is
/// for the frontier to say.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The wait that the value of a `Retry-After` header asks for (RFC 9110 section 10.2.3): a number of seconds, or a
/// date, of which `now_unix_s`, the time of the response in Unix seconds, is taken away. None if it is neither.
pub fn retry_after(value: &str, now_unix_s: u64) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // What is too long to be a number is very long.
        return Some(value.parse().map_or(LONGEST, Duration::from_secs).min(LONGEST));
    }
    let until = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(until.saturating_sub(Duration::from_secs(now_unix_s)).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seconds_and_all_three_date_formats_are_understood() {
        for (value, seconds) in [
            ("0", 0),
            ("120", 120),
            (" 007\t", 7),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 60),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 60),
            ("Sun Nov  6 08:49:37 1994", 60),
        ] {
            assert_eq!(retry_after(value, 784_111_717), Some(Duration::from_secs(seconds)), "{value}");
        }
    }

    #[test]
    fn a_date_gone_by_means_at_once() {
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 800_000_000), Some(Duration::ZERO));
    }

    #[test]
    fn a_huge_number_is_the_longest_wait() {
        assert_eq!(retry_after("99999999999999999999999999", 0), Some(LONGEST));
        assert_eq!(retry_after("18446744073709551615", 0), Some(LONGEST));
    }

    #[test]
    fn what_is_neither_number_nor_date_is_nothing() {
        for value in ["", " ", "-1", "1.5", "+3", "soon", "12 34", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(retry_after(value, 0), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_answered(value: String, now: u64) {
            prop_assert!(retry_after(&value, now).is_none_or(|wait| wait <= LONGEST));
        }
    }
}
