//! Under what name does this crawler go?

/// A contact that cannot be sent.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ContactError {
    /// Neither a web address nor a mail address.
    #[error(
        "the contact {0:?} is neither an http(s) URL nor a mail address: give one at which you can be reached"
    )]
    Unreachable(String),
    /// Longer than [`MAX_CONTACT`].
    #[error("the contact is longer than {MAX_CONTACT} characters: give a short URL or a mail address")]
    TooLong,
}

/// Longest contact, in bytes: it is sent with every request, and some servers refuse long user agents.
pub const MAX_CONTACT: usize = 200;

/// The version sent in the user agent: that of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The value of `User-Agent`: `anthill/VERSION (+CONTACT)`, or `anthill/VERSION` without a contact, which is for
/// crawls of one's own network only.
///
/// # Errors
/// The contact is no http(s) URL and no mail address, is too long, or has characters that a header may not have.
pub fn user_agent(contact: Option<&str>) -> Result<String, ContactError> {
    let Some(contact) = contact else { return Ok(format!("anthill/{VERSION}")) };
    let contact = contact.trim();
    if contact.len() > MAX_CONTACT {
        return Err(ContactError::TooLong);
    }
    if !is_web_address(contact) && !is_mail_address(contact) {
        return Err(ContactError::Unreachable(contact.to_owned()));
    }
    Ok(format!("anthill/{VERSION} (+{contact})"))
}

/// The value of `From` (RFC 9110 section 10.1.2), which robots ought to send: the contact, if it is a mail address.
pub fn from_header(contact: Option<&str>) -> Option<String> {
    contact.map(str::trim).filter(|contact| is_mail_address(contact)).map(str::to_owned)
}

fn is_web_address(contact: &str) -> bool {
    is_plain(contact)
        && url::Url::parse(contact).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|h| h.contains('.'))
        })
}

fn is_mail_address(contact: &str) -> bool {
    contact.strip_prefix("mailto:").unwrap_or(contact).split_once('@').is_some_and(|(local, domain)| {
        is_plain(contact)
            && !local.is_empty()
            && !domain.contains(['@', '/', ':'])
            && domain.split('.').count() > 1
            && domain.split('.').all(|label| !label.is_empty())
    })
}

/// Visible ASCII that does not end the comment it stands in (RFC 9110 section 5.6.5).
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_graphic() && !matches!(b, b'(' | b')' | b'\\' | b'"' | b'<' | b'>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_stands_in_the_comment() {
        assert_eq!(
            user_agent(Some("https://example.org/bot")).unwrap(),
            format!("anthill/{VERSION} (+https://example.org/bot)")
        );
        assert_eq!(
            user_agent(Some(" a@example.org ")).unwrap(),
            format!("anthill/{VERSION} (+a@example.org)")
        );
        assert_eq!(user_agent(None).unwrap(), format!("anthill/{VERSION}"));
    }

    #[test]
    fn a_contact_nobody_can_be_reached_at_is_refused() {
        for contact in [
            "",
            "me",
            "a@",
            "@b.c",
            "a@b",
            "a@b..c",
            "ftp://a.b/",
            "http://localhost/",
            "http://",
            "https://a.b/ x",
            "a@b.c\r\nX: y",
            "https://a.b/(",
            "https://é.org/",
            "a@b.c)",
            "javascript:alert(1)",
        ] {
            assert!(matches!(user_agent(Some(contact)), Err(ContactError::Unreachable(_))), "{contact:?}");
        }
        let long = format!("https://a.b/{}", "x".repeat(MAX_CONTACT));
        assert_eq!(user_agent(Some(&long)), Err(ContactError::TooLong));
    }

    #[test]
    fn from_is_a_mail_address_only() {
        assert_eq!(from_header(Some("a@example.org")).as_deref(), Some("a@example.org"));
        assert_eq!(from_header(Some("https://example.org/")), None);
        assert_eq!(from_header(None), None);
    }
}
