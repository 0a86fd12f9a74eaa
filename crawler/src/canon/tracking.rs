//! Which parameters of a URL say who came from where, and not what is asked for?

/// The parameters dropped by default. `name` is that name, `name*` every name that begins so, and `name?` that
/// name if its value is a long hexadecimal number, as sessions have; upper and lower case are the same.
#[rustfmt::skip]
pub const DEFAULT: &[&str] = &[
    // Campaigns.
    "utm_*", "mtm_*", "pk_*", "piwik_*", "matomo_*", "hsa_*", "cmpid", "ncid", "mkt_tok", "spm", "wt_mc",
    "wt.mc_id", "xtor", "trk_contact", "trk_msg", "trk_module", "trk_sid", "vero_conv", "vero_id",
    "oly_anon_id", "oly_enc_id", "wickedid", "_openstat", "ref_src", "ref_url",
    // Clicks on advertisements and in mails.
    "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "fbclid",
    "fb_action_ids", "fb_action_types", "fb_source", "msclkid", "yclid", "ysclid", "twclid", "ttclid",
    "li_fat_id", "igshid", "igsh", "mc_cid", "mc_eid", "ml_subscriber", "ml_subscriber_hash", "srsltid",
    "epik", "rdt_cid", "s_kwcid", "ef_id",
    // Visitors.
    "_ga", "_gl", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "_ke",
    "_branch_match_id",
    // Sessions.
    "jsessionid", "phpsessid", "phpsessionid", "aspsessionid*", "asp.net_sessionid", "cfid", "cftoken",
    "oscsid", "zenid", "xtcsid", "sid?", "s?", "session?", "sessionid?", "session_id?", "sessid?",
];

/// The shortest value that `name?` takes for a session's: MD5 has 32 digits, older generators 16.
const MIN_SESSION: usize = 16;

/// A list of parameters to drop, ready for use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tracking {
    /// Lower case.
    names: Vec<Name>,
    /// Bit n: some name begins with ASCII character n.
    first: u128,
    /// A lone `*` is in the list.
    all: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Name {
    text: Box<[u8]>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Exact,
    Prefix,
    Session,
}

impl Tracking {
    pub(crate) fn new<S: AsRef<str>>(list: impl IntoIterator<Item = S>) -> Tracking {
        let mut tracking = Tracking { names: Vec::new(), first: 0, all: false };
        for entry in list {
            let entry = entry.as_ref().trim().to_ascii_lowercase();
            let (text, kind) = match entry.as_bytes() {
                [text @ .., b'*'] => (text, Kind::Prefix),
                [text @ .., b'?'] => (text, Kind::Session),
                text => (text, Kind::Exact),
            };
            match text.first() {
                None => tracking.all |= kind == Kind::Prefix,
                Some(&first) => {
                    tracking.first |= bit(first);
                    tracking.names.push(Name { text: text.into(), kind });
                }
            }
        }
        tracking
    }

    /// Whether the parameter `name=value` (or just `name`) is to be dropped.
    pub(crate) fn drops(&self, parameter: &[u8]) -> bool {
        if self.all {
            return true;
        }
        let Some(&first) = parameter.first() else { return false };
        if self.first & bit(first.to_ascii_lowercase()) == 0 {
            return false;
        }
        let equals = memchr::memchr(b'=', parameter);
        let name = &parameter[..equals.unwrap_or(parameter.len())];
        let value = equals.map_or(&[][..], |at| &parameter[at + 1..]);
        self.names.iter().any(|one| match one.kind {
            Kind::Exact => one.text.eq_ignore_ascii_case(name),
            Kind::Prefix => {
                name.get(..one.text.len()).is_some_and(|head| one.text.eq_ignore_ascii_case(head))
            }
            Kind::Session => one.text.eq_ignore_ascii_case(name) && looks_like_session(value),
        })
    }
}

impl Default for Tracking {
    fn default() -> Tracking {
        Tracking::new(DEFAULT)
    }
}

/// Bit of a character in [`Tracking::first`]; none for what is not ASCII.
fn bit(octet: u8) -> u128 {
    if octet < 128 { 1 << octet } else { 0 }
}

/// Whether a value is the kind made up anew for each visitor: a long hexadecimal number with both letters and
/// digits in it. `sid=3141` names a story, `sid=9f86d081884c7d659a2feaa0c55ad015` a session.
pub(crate) fn looks_like_session(value: &[u8]) -> bool {
    value.len() >= MIN_SESSION
        && value.iter().all(u8::is_ascii_hexdigit)
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracking_and_session_parameters_are_known_whatever_their_case() {
        let list = Tracking::default();
        for parameter in [
            "utm_source=x",
            "UTM_Medium=y",
            "utm_",
            "gclid",
            "fbclid=1",
            "PHPSESSID=1",
            "ASPSESSIONIDQQ=1",
            "sid=9f86d081884c7d659a2feaa0c55ad015",
            "s=9f86d081884c7d65",
            "mc_eid=1",
        ] {
            assert!(list.drops(parameter.as_bytes()), "{parameter}");
        }
    }

    #[test]
    fn parameters_that_say_what_is_asked_for_stay() {
        let list = Tracking::default();
        for parameter in
            ["", "=", "q=utm_source", "ut", "sid=3141", "s=rust", "page=2", "id=9f86d081884c7d65", "é"]
        {
            assert!(!list.drops(parameter.as_bytes()), "{parameter}");
        }
    }

    #[test]
    fn the_list_can_be_changed() {
        let list = Tracking::new(["Ref", "x_*", " ", "?"]);
        assert!(list.drops(b"ref=1") && list.drops(b"X_y"));
        assert!(!list.drops(b"utm_source=1") && !list.drops(b"reference=1"));
        assert!(Tracking::new(["*"]).drops(b"anything") && !Tracking::new([""; 0]).drops(b"utm_source"));
    }
}
