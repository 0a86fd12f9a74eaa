//! How a command fails, and which exit code says so.

use std::fmt;
use std::process::ExitCode;

/// What an exit code means. Scripts rely on the numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// It was tried and did not work.
    Failed = 1,
    /// It was not understood.
    Usage = 2,
    /// No node answers at that address.
    NoNode = 3,
    /// Part of it was done.
    Partial = 4,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// A failure, in words for people, with the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    /// It was tried and did not work.
    pub fn failed(message: impl Into<String>) -> Failure {
        Failure { code: Code::Failed, message: message.into() }
    }

    /// It was not understood.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { code: Code::Usage, message: message.into() }
    }

    /// No node answers at `address`.
    pub fn no_node(address: &str, why: &str) -> Failure {
        let message = format!("no node answers at {address} ({why}); start one with: anthill node");
        Failure { code: Code::NoNode, message }
    }

    /// What it means.
    #[cfg(test)]
    pub fn code(&self) -> Code {
        self.code
    }

    /// For the system.
    pub fn exit_code(&self) -> ExitCode {
        self.code.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::failed(format!("{error:#}"))
    }
}
