use super::*;
use crate::exclusion::record::{Draft, Scope};
use crate::exclusion::signed::Verified;
use crate::exclusion::witness::{WITNESS_LIFE_S, Witness};
use crate::peer::{Keys, testing::Keyring};

const NOW: u64 = 100 * 86_400;
const OWN: u64 = 1;
const MODERATOR: u64 = 2;
const OWNER: u64 = 3;
const OTHER: u64 = 4;
const FOLLOWED: u64 = 5;

fn key(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn keys(numbers: &[u64]) -> BTreeSet<PeerKey> {
    numbers.iter().map(|&n| key(n)).collect()
}

fn rules() -> Rules {
    Rules {
        own: keys(&[OWN]),
        moderators: keys(&[MODERATOR]),
        followed: keys(&[FOLLOWED]),
        set_aside: BTreeSet::new(),
    }
}

fn covers(pattern: &str, site: &str) -> bool {
    pattern == site || pattern.ends_with(&format!(".{site}"))
}

/// Peers 10 to 19 are members, each pair of them (10 and 11, 12 and 13, ...) in one network.
fn network(peer: &PeerKey) -> Option<u64> {
    (10..20).find(|&n| key(n) == *peer).map(|n| n / 2)
}

fn judge() -> Judge<'static> {
    Judge { covers: &covers, network: &network }
}

fn add(set: &mut ExclusionSet, issuer: u64, pattern: &str, expires_s: Option<u64>) -> RuleKey {
    let keys = Keyring::numbered(issuer);
    let draft = Draft { pattern: pattern.into(), scope: Scope::Crawl, reason: String::new(), expires_s };
    let exclusion = set.draft(keys.own(), draft, NOW).unwrap();
    let key = exclusion.key;
    set.merge(NOW, Verified::sign(exclusion, &keys).unwrap());
    key
}

fn witnesses(seen: &[(u64, &str, Proof, u64)]) -> Witnesses {
    let mut witnesses = Witnesses::new(100, 100);
    witnesses.set_members(keys(&[10, 11, 12, 13, 14, 20, 21]));
    for &(by, site, how, seen_s) in seen {
        let witness = Witness { by: key(by), site: site.into(), issuer: key(OWNER), how, seen_s };
        let _ = witnesses.merge(NOW, Verified::sign(witness, &Keyring::numbered(by)).unwrap());
    }
    witnesses
}

fn owners(seen: &[(u64, &str, Proof, u64)]) -> Owners {
    Rules::owners(&witnesses(seen), &judge(), NOW)
}

#[test]
fn only_those_who_may_bind_this_peer() {
    let mut set = ExclusionSet::new(100);
    for issuer in [OWN, MODERATOR, OWNER, OTHER, FOLLOWED] {
        add(&mut set, issuer, "a.test", None);
    }
    add(&mut set, OWNER, "b.test", None);
    let owners = owners(&[(10, "a.test", Proof::Dns, NOW), (12, "a.test", Proof::WellKnown, NOW)]);
    let mut effective: Vec<_> = rules()
        .effective(&set, &owners, &judge(), NOW)
        .into_iter()
        .map(|one| (one.exclusion.key.issuer, one.exclusion.pattern.clone(), one.authority))
        .collect();
    let mut expected = vec![
        (key(OWN), "a.test".to_owned(), Authority::Own),
        (key(MODERATOR), "a.test".to_owned(), Authority::Moderator),
        (
            key(OWNER),
            "a.test".to_owned(),
            Authority::SiteOwner { site: "a.test".into(), witnesses: two_sorted(key(10), key(12)) },
        ),
        (key(FOLLOWED), "a.test".to_owned(), Authority::Followed),
    ];
    effective.sort_by_key(|one| one.0);
    expected.sort_by_key(|one| one.0);
    assert_eq!(effective, expected);
}

fn two_sorted(a: PeerKey, b: PeerKey) -> [PeerKey; 2] {
    if a < b { [a, b] } else { [b, a] }
}

#[test]
fn an_owner_needs_two_witnesses_of_two_networks_that_count_now() {
    use Proof::{Dns, Gone, WellKnown};
    let proves = |seen: &[(u64, &str, Proof, u64)]| owners(seen).contains_key(&key(OWNER));
    assert!(proves(&[(10, "a.test", Dns, NOW), (12, "a.test", Dns, NOW)]));
    assert!(!proves(&[(10, "a.test", Dns, NOW)]), "one witness");
    assert!(!proves(&[(10, "a.test", Dns, NOW), (10, "a.test", WellKnown, NOW - 1)]), "one witness twice");
    assert!(!proves(&[(10, "a.test", Dns, NOW), (11, "a.test", Dns, NOW)]), "of one network");
    assert!(!proves(&[(10, "a.test", Dns, NOW), (20, "a.test", Dns, NOW)]), "whose word does not count");
    assert!(!proves(&[(10, "a.test", Dns, NOW), (12, "b.test", Dns, NOW)]), "of two sites");
    assert!(!proves(&[(10, "a.test", Dns, NOW - WITNESS_LIFE_S), (12, "a.test", Dns, NOW)]), "too long ago");
    assert!(
        !proves(&[(10, "a.test", Dns, NOW), (12, "a.test", Dns, NOW - 9), (12, "a.test", Gone, NOW)]),
        "the proof was taken away"
    );
}

#[test]
fn a_witness_stops_to_count_when_its_time_is_over() {
    let witnesses = witnesses(&[(10, "a.test", Proof::Dns, NOW), (12, "a.test", Proof::Dns, NOW)]);
    assert_eq!(Rules::owners(&witnesses, &judge(), NOW + WITNESS_LIFE_S - 1).len(), 1);
    assert_eq!(Rules::owners(&witnesses, &judge(), NOW + WITNESS_LIFE_S).len(), 0);
}

#[test]
fn what_is_expired_or_taken_back_binds_nobody() {
    let mut set = ExclusionSet::new(100);
    add(&mut set, MODERATOR, "a.test", Some(NOW + 10));
    let taken_back = add(&mut set, OWN, "b.test", None);
    let count = |set: &ExclusionSet, now| rules().effective(set, &Owners::new(), &judge(), now).len();
    assert_eq!(count(&set, NOW), 2);
    assert_eq!(count(&set, NOW + 10), 1);
    let tombstone = set.get(&taken_back).unwrap().statement().tombstone(NOW);
    set.merge(NOW, Verified::sign(tombstone, &Keyring::numbered(OWN)).unwrap());
    assert_eq!(count(&set, NOW), 1);
}

#[test]
fn the_operator_sets_aside_rules_of_those_it_follows_and_no_others() {
    let mut set = ExclusionSet::new(100);
    let followed = add(&mut set, FOLLOWED, "a.test", None);
    let moderated = add(&mut set, MODERATOR, "a.test", None);
    let rules = Rules { set_aside: [followed, moderated].into(), ..rules() };
    let effective = rules.effective(&set, &Owners::new(), &judge(), NOW);
    assert_eq!(effective.iter().map(|one| one.exclusion.key).collect::<Vec<_>>(), [moderated]);
}

#[test]
fn moderators_and_proven_owners_come_first_when_there_is_no_room() {
    let owners = owners(&[(10, "a.test", Proof::Dns, NOW), (12, "a.test", Proof::Dns, NOW)]);
    assert_eq!(rules().binding_issuers(&owners), keys(&[MODERATOR, OWNER]));
    assert_eq!(rules().kept_issuers(), keys(&[OWN, FOLLOWED]));
}
