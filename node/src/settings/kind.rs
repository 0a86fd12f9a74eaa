//! What values of settings have to be, and whether they are.

use super::units::{parse_duration, parse_size};
use super::values::Network;
use anthill_crawler::fetch::Override;
use std::net::SocketAddr;
use toml::Value;

/// What a value has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A text.
    Text,
    /// `true` or `false`.
    Truth,
    /// A whole number, not negative.
    Whole,
    /// A number, not negative.
    Number,
    /// A text that is a duration.
    Duration,
    /// A text that is a size.
    Size,
    /// A text that is `IP:PORT`.
    Address,
    /// `site`, `host`, `prefix` or `any`.
    Scope,
    /// A list of texts.
    Texts,
    /// A list of `PATTERN=IP:PORT`.
    Overrides,
    /// A list of addresses or networks.
    Networks,
}

impl Kind {
    /// Whether the value is one of this kind.
    ///
    /// # Errors
    /// What it would have to be.
    pub fn check(self, value: &Value) -> Result<(), String> {
        let text = || value.as_str().ok_or_else(|| format!("{}, not {}", self.expected(), name_of(value)));
        let texts = || -> Result<Vec<&str>, String> {
            let list =
                value.as_array().ok_or_else(|| format!("{}, not {}", self.expected(), name_of(value)))?;
            list.iter().map(|item| item.as_str().ok_or_else(|| self.expected().to_owned())).collect()
        };
        let wrong = || Err(format!("{}, not {}", self.expected(), name_of(value)));
        match self {
            Kind::Text => text().map(drop),
            Kind::Scope if matches!(value.as_str(), Some("site" | "host" | "prefix" | "any")) => Ok(()),
            Kind::Scope => wrong(),
            Kind::Texts => texts().map(drop),
            Kind::Truth if value.is_bool() => Ok(()),
            Kind::Whole if value.as_integer().is_some_and(|n| n >= 0) => Ok(()),
            Kind::Number if number(value).is_some_and(|n| n.is_finite() && n >= 0.0) => Ok(()),
            Kind::Truth | Kind::Whole | Kind::Number => wrong(),
            Kind::Duration => parse_duration(text()?).map(drop).map_err(|e| e.to_string()),
            Kind::Size => parse_size(text()?).map(drop).map_err(|e| e.to_string()),
            Kind::Address => {
                let text = text()?;
                let read: Result<SocketAddr, _> = text.parse();
                read.map(drop).map_err(|_| format!("{}, not `{text}`", self.expected()))
            }
            Kind::Overrides => texts()?
                .into_iter()
                .try_for_each(|t| t.parse::<Override>().map(drop).map_err(|e| e.to_string())),
            Kind::Networks => texts()?
                .into_iter()
                .try_for_each(|t| t.parse::<Network>().map(drop).map_err(|e| e.to_string())),
        }
    }

    /// Reads the text of an environment variable. Lists are separated by white space, or written as in TOML.
    ///
    /// # Errors
    /// What it would have to be.
    pub fn read(self, text: &str) -> Result<Value, String> {
        let expected = || format!("{}, not `{text}`", self.expected());
        let value = match self {
            Kind::Truth => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Value::Boolean(true),
                "false" | "0" | "no" | "off" => Value::Boolean(false),
                _ => return Err(expected()),
            },
            Kind::Whole => Value::Integer(text.trim().parse().map_err(|_| expected())?),
            Kind::Number => Value::Float(text.trim().parse().map_err(|_| expected())?),
            Kind::Text | Kind::Scope | Kind::Duration | Kind::Size | Kind::Address => Value::from(text),
            Kind::Texts | Kind::Overrides | Kind::Networks if text.trim_start().starts_with('[') => {
                let document: toml::Table = toml::from_str(&format!("v = {text}")).map_err(|_| expected())?;
                document.get("v").cloned().ok_or_else(expected)?
            }
            Kind::Texts | Kind::Overrides | Kind::Networks => {
                Value::Array(text.split_whitespace().map(Value::from).collect())
            }
        };
        self.check(&value).map(|()| value)
    }

    fn expected(self) -> &'static str {
        match self {
            Kind::Text => "a text in quotes",
            Kind::Truth => "true or false",
            Kind::Whole => "a whole number, 0 or more",
            Kind::Number => "a number, 0 or more",
            Kind::Duration => "a duration in quotes, as \"1s\" or \"200ms\"",
            Kind::Size => "a size in quotes, as \"10MiB\"",
            Kind::Address => "an address and port in quotes, as \"127.0.0.1:7070\"",
            Kind::Scope => "\"site\", \"host\", \"prefix\" or \"any\"",
            Kind::Texts => "a list of texts, as [\"a\", \"b\"]",
            Kind::Overrides => "a list of overrides, as [\"*.test=127.0.0.1:8080\"]",
            Kind::Networks => "a list of addresses or networks, as [\"203.0.113.0/24\"]",
        }
    }
}

/// A number, whole or not.
fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

fn name_of(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a section".to_owned(),
        other => format!("`{other}`"),
    }
}
