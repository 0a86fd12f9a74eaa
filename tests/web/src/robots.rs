//! What hosts answer to `/robots.txt`, and what that allows.

use crate::settings::RobotsKind;

/// The product token whose group [`RobotsKind::Groups`] has.
pub(crate) const AGENT: &str = "anthill";

/// What a parser must read of the file (RFC 9309, 2.5).
const PARSED: usize = 500 * 1_024;

const PREFIX: &str = "User-agent: *\nDisallow: /private/\nAllow: /private/open/\n";

/// Whether `path`, written canonically, may be fetched from a host of this kind: worked out by what the kind means,
/// not by reading the file.
pub(crate) fn allows(kind: RobotsKind, path: &str) -> bool {
    let private = path.starts_with("/private/") && !path.starts_with("/private/open/");
    match kind {
        RobotsKind::Missing | RobotsKind::Forbidden | RobotsKind::Open => true,
        RobotsKind::Wildcards => !private && !path.ends_with("/print"),
        RobotsKind::Prefix
        | RobotsKind::Groups
        | RobotsKind::CrawlDelay
        | RobotsKind::Slow
        | RobotsKind::Moved
        | RobotsKind::MovedAway
        | RobotsKind::Huge
        | RobotsKind::Messy => !private,
        RobotsKind::Error | RobotsKind::Closed => false,
    }
}

/// The file of a kind that has one: without its sitemap line.
pub(crate) fn file(kind: RobotsKind, crawl_delay_s: f32) -> String {
    match kind {
        RobotsKind::Missing | RobotsKind::Forbidden | RobotsKind::Error => String::new(),
        RobotsKind::Open => "User-agent: *\nDisallow:\n".into(),
        RobotsKind::Prefix | RobotsKind::Slow | RobotsKind::Moved | RobotsKind::MovedAway => PREFIX.into(),
        RobotsKind::Wildcards => {
            "User-agent: *\nDisallow: /*private/\nAllow: /private/open/\nDisallow: /*/print$\n".into()
        }
        RobotsKind::Groups => format!(
            "User-agent: otherbot\nUser-agent: {AGENT}-images\nDisallow: /\n\n\
             User-agent: *\nDisallow: /\n\n\
             User-agent: {AGENT}\nDisallow: /private/\n\nUser-agent: {AGENT}/9.9\nAllow: /private/open/\n"
        ),
        RobotsKind::CrawlDelay => format!("{PREFIX}Crawl-delay: {crawl_delay_s}\n"),
        RobotsKind::Huge => {
            let mut text = String::from(PREFIX);
            while text.len() < PARSED + 1_024 {
                text.push_str("# nothing in this line matters, nor in the many others like it that follow\n");
            }
            text.push_str("Disallow: /\n");
            text
        }
        RobotsKind::Messy => "\u{feff}# our rules\r\rUSER-AGENT :  * # everyone\rIndex: /nothing\r\
             disallow:/private/ # not this\rAllow : \t/private/open/\rHost: elsewhere\r<p>Disallow: /</p>\r"
            .into(),
        RobotsKind::Closed => "User-agent: *\nDisallow: /\n".into(),
    }
}

/// The file behind the redirects of [`RobotsKind::Moved`] and [`RobotsKind::MovedAway`].
pub(crate) fn moved() -> &'static str {
    PREFIX
}

/// Whether the file of a kind is read, so that a sitemap it names is found.
pub(crate) fn names_sitemap(kind: RobotsKind) -> bool {
    !matches!(
        kind,
        RobotsKind::Missing
            | RobotsKind::Forbidden
            | RobotsKind::Error
            | RobotsKind::Closed
            | RobotsKind::Moved
            | RobotsKind::MovedAway
            | RobotsKind::Huge
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_file_forbids_everything_only_beyond_what_is_read() {
        let text = file(RobotsKind::Huge, 0.0);
        assert!(!text[..PARSED].contains("Disallow: /\n"));
        assert!(text[PARSED..].contains("Disallow: /\n"));
    }

    #[test]
    fn private_paths_are_refused_and_open_ones_are_not() {
        assert!(!allows(RobotsKind::Prefix, "/private/x"));
        assert!(allows(RobotsKind::Prefix, "/private/open/x"));
        assert!(allows(RobotsKind::Prefix, "/volume-1/x/print"));
        assert!(!allows(RobotsKind::Wildcards, "/volume-1/x/print"));
        assert!(!allows(RobotsKind::Closed, "/"));
    }
}
