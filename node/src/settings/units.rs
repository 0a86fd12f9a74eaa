//! How are durations and sizes written? `"1s"`, `"200ms"`, `"1h30m"`; `"10MiB"`, `"1.5GB"`, `"4096"`.

use std::time::Duration;
use thiserror::Error;

/// A duration or size that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum UnitError {
    /// Not a duration.
    #[error("`{0}` is no duration: write a number and ms, s, m, h or d, as in 200ms, 1s, 1h30m")]
    Duration(String),
    /// Not a size.
    #[error("`{0}` is no size: write a number and B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, as in 10MiB")]
    Size(String),
}

/// Longest text looked at: the longest sensible one (`365d23h59m59s999ms`) is under 20 bytes.
const MAX_TEXT: usize = 40;

/// Nanoseconds of each unit of time, the longest first so that formatting is greedy.
const TIME_UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Bytes of each unit of size.
const SIZE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Reads a duration: numbers with units, the longer before the shorter, or a plain `0`.
///
/// # Errors
/// When it is anything else, or longer than some 500 years.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let bad = || UnitError::Duration(excerpt(text));
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() || rest.len() > MAX_TEXT {
        return Err(bad());
    }
    let mut total: u64 = 0;
    let mut previous = u64::MAX;
    while !rest.is_empty() {
        let (number, unit, after) = number_and_unit(rest).ok_or_else(bad)?;
        let per = TIME_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?.1;
        if per >= previous {
            return Err(bad());
        }
        previous = per;
        total = total.checked_add(scaled(number, per).ok_or_else(bad)?).ok_or_else(bad)?;
        rest = after.trim_start();
    }
    Ok(Duration::from_nanos(total))
}

/// Writes a duration so that [`parse_duration`] reads it back.
pub fn format_duration(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    if left == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, per) in TIME_UNITS {
        if left >= per {
            text.push_str(&format!("{}{name}", left / per));
            left %= per;
        }
    }
    text
}

/// Reads a size in bytes; a number without unit is bytes, and letter case is of no account.
///
/// # Errors
/// When it is anything else, or above 2^64.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let bad = || UnitError::Size(excerpt(text));
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.len() > MAX_TEXT {
        return Err(bad());
    }
    if let Ok(bytes) = trimmed.parse() {
        return Ok(bytes);
    }
    let (number, unit, after) = number_and_unit(trimmed).ok_or_else(bad)?;
    if !after.is_empty() {
        return Err(bad());
    }
    let per = SIZE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(bad)?.1;
    scaled(number, per).ok_or_else(bad)
}

/// Writes a size so that [`parse_size`] reads back the same number: in the unit that makes the number smallest.
pub fn format_size(bytes: u64) -> String {
    let whole = SIZE_UNITS.iter().filter(|(_, per)| bytes >= *per && bytes.is_multiple_of(*per));
    let (name, per) = whole.min_by_key(|(_, per)| bytes / per).unwrap_or(&("B", 1));
    format!("{}{name}", bytes / per)
}

/// `12.5MiB rest` gives `12.5`, `MiB`, ` rest`.
fn number_and_unit(text: &str) -> Option<(&str, &str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let rest = rest.trim_start();
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(letters);
    (!number.is_empty() && !unit.is_empty()).then_some((number, unit, after))
}

/// `number` (decimal, with a fraction perhaps) times `per`, exactly, cut to a whole.
fn scaled(number: &str, per: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return None;
    }
    let value = u128::from(whole.parse::<u64>().ok()?) * u128::from(per);
    u64::try_from(value + fraction_of(fraction, per)?).ok()
}

/// `0.fraction` times `per`; digits beyond the 18th are of no account.
fn fraction_of(fraction: &str, per: u64) -> Option<u128> {
    if fraction.is_empty() {
        return Some(0);
    }
    let digits = &fraction[..fraction.len().min(18)];
    let scale = 10u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    Some(u128::from(digits.parse::<u64>().ok()?) * u128::from(per) / scale)
}

fn excerpt(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// For `#[serde(with = "units::duration")]`.
pub mod duration {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::time::Duration;

    /// Writes it as [`super::format_duration`] does.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format_duration(*value))
    }

    /// Reads it as [`super::parse_duration`] does.
    ///
    /// # Errors
    /// When it is no duration.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        super::parse_duration(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// For `#[serde(with = "units::size")]`.
pub mod size {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes it as [`super::format_size`] does.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format_size(*value))
    }

    /// Reads it as [`super::parse_size`] does.
    ///
    /// # Errors
    /// When it is no size.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        super::parse_size(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let ms = Duration::from_millis;
        for (text, expected) in [
            ("1s", ms(1000)),
            ("200ms", ms(200)),
            ("0", Duration::ZERO),
            ("0s", Duration::ZERO),
            ("1.5s", ms(1500)),
            ("1h30m", ms(5_400_000)),
            (" 2 s ", ms(2000)),
            ("30d", ms(30 * 86_400_000)),
            ("250us", Duration::from_micros(250)),
        ] {
            assert_eq!(parse_duration(text), Ok(expected), "{text}");
        }
        for text in
            ["", "1", "s", "1 apple", "-1s", "1s1h", "1s1s", "1.s", ".5s", "1..5s", "99999999999999d", "1e3s"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, expected) in [
            ("10MiB", 10 << 20),
            ("10mib", 10 << 20),
            ("1.5KiB", 1536),
            ("1.25 kB", 1250),
            ("4096", 4096),
            ("2GB", 2_000_000_000),
            ("0B", 0),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for text in ["", "MiB", "10 apples", "-1B", "10MiB20KiB", "99999999999TiB", "1,5MB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(nanos in any::<u64>(), bytes in any::<u64>()) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}") {
            let _ = parse_duration(&text);
            let _ = parse_size(&text);
        }
    }
}
