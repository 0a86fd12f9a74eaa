use super::*;
use crate::settings::{Environment, NodeFlags, Settings, load};
use proptest::prelude::*;

const TEXT: &str = "seeds = [\"http://a.test/\"]\nhost_delay = \"2s\"\nreplicas = 2\nprefer = [\"es\"]\n\n[limits]\nper_host = 9\n";

fn identity(dir: &Path) -> Identity {
    Identity::load_or_create(&dir.join("peer.key")).expect("a key")
}

fn parse(text: &str) -> Result<Profile, ProfileError> {
    Profile::parse(text, Path::new("p.toml"))
}

/// Settings of a peer with these words of its own, and this profile.
fn settings(dir: &Path, own: &str, profile: &Profile) -> Result<Settings, SettingsError> {
    let file = dir.join("given.toml");
    std::fs::write(&file, profile.text()).expect("written");
    std::fs::write(dir.join("anthill.toml"), own).expect("written");
    let flags = NodeFlags { data: Some(dir.to_owned()), profile: Some(file), ..NodeFlags::default() };
    load(&flags, &Environment::default()).map(|resolved| resolved.settings)
}

#[test]
fn what_is_signed_is_read_by_all_and_changed_by_nobody() {
    let dir = tempfile::tempdir().expect("a folder");
    let signed = parse(TEXT).expect("a profile").sign(&identity(dir.path()), 1_700_000_000);
    let read = Profile::unpack(&signed.pack().expect("short")).expect("whole");
    assert_eq!(read, signed);
    assert_eq!(read.mark().expect("signed").issued_at(), "2023-11-14T22:13:20Z");
    let text = signed.text();
    for changed in [
        text.replace("2s", "1s"),
        text.replace("2023-11", "2023-12"),
        text.replace("[limits]", "[filters]"),
        format!("fetchers = 1\n{text}"),
    ] {
        assert_ne!(parse(&changed).map(drop), Ok(()), "{changed}");
    }
    assert_eq!(parse(&format!("{MARK}me")), Err(ProfileError::NoMark));
    assert_eq!(Profile::unpack(b"nothing"), Err(ProfileError::NoPack));
    // A bomb of a link.
    let bomb = zstd::bulk::compress(&vec![b'#'; 100 << 20], 1).expect("compressed");
    assert_eq!(Profile::unpack(&bomb), Err(ProfileError::NoPack));
}

#[test]
fn a_peer_keeps_to_the_profile_where_all_have_to_do_alike() {
    let dir = tempfile::tempdir().expect("a folder");
    let founder = identity(dir.path());
    let profile = parse(TEXT).expect("a profile").sign(&founder, 1);
    let name = founder.peer_id().to_string();
    let got = settings(dir.path(), "", &profile).expect("fine");
    assert_eq!((got.replicas, got.limits.per_host, got.host_delay.as_secs()), (2, 9, 2));
    assert_eq!(got.moderators, [name]);
    assert_eq!(got.origins.of("host_delay").to_string(), "the swarm's profile, line 2");
    // Longer, and what is a default.
    let own = "host_delay = \"3s\"\n[limits]\nper_host = 10";
    let got = settings(dir.path(), own, &profile).expect("fine");
    assert_eq!((got.limits.per_host, got.host_delay.as_secs()), (10, 3));
    for (own, says) in [
        ("host_delay = \"1s\"", "at least"),
        ("replicas = 3", "all peers of the swarm have 2"),
        ("moderators = []", "`follow`"),
        ("prefer = [\"en\"]", "all peers of the swarm have"),
    ] {
        let error = settings(dir.path(), own, &profile).expect_err(own).to_string();
        assert!(error.contains(says) && error.contains("anthill.toml line 1"), "{error}");
    }
}

#[test]
fn what_is_each_peers_own_is_in_no_profile() {
    for (text, says) in [
        ("fetchers = 1", "line 1: `fetchers` is each peer's own"),
        ("\ncontact = \"a@b.test\"", "line 2: `contact` is"),
        ("seeds = 1", "seeds"),
        ("sedes = []", "did you mean `seeds`?"),
        ("scope = \"web\"", "\"site\", \"host\""),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(says), "{error}");
    }
    assert_eq!(parse(&"#".repeat(MAX_PROFILE + 1)), Err(ProfileError::Long));
    let blank = parse(&new_profile()).expect("a profile");
    assert_eq!(blank.settings().count(), 0);
    let set = new_profile().replace("\n# host_delay = ", "\nhost_delay = ");
    assert_eq!(parse(&set).expect("a profile").settings().count(), 1);
}

#[test]
fn the_first_peer_signs_once_and_no_other_does() {
    let dir = tempfile::tempdir().expect("a folder");
    let founder = identity(dir.path());
    let start = |text: &str, now_s| {
        let mut settings = settings(dir.path(), "", &parse(text).expect("a profile")).expect("fine");
        settings.adopt_profile(&founder, now_s).map(|()| settings)
    };
    let first = start(TEXT, 10).expect("it founds");
    assert_eq!(first.moderators, [founder.peer_id().to_string()]);
    let issued = |settings: &Settings| settings.profile.as_ref().and_then(|p| p.mark()).map(|m| m.issued_s);
    assert_eq!(issued(&first), Some(10));
    assert_eq!(issued(&start(TEXT, 20).expect("the same")), Some(10));
    assert_eq!(issued(&start("replicas = 3", 30).expect("changed")), Some(30));
    // It is found without the flag, and its seeds are begun by who signed it.
    std::fs::write(dir.path().join("given.toml"), TEXT).expect("written");
    let flags = NodeFlags { data: Some(dir.path().to_owned()), ..NodeFlags::default() };
    let found = load(&flags, &Environment::default()).expect("fine").settings;
    assert_eq!((found.replicas, issued(&found)), (3, Some(30)));

    let other = tempfile::tempdir().expect("a folder");
    let signed = parse(TEXT).expect("a profile").sign(&founder, 40);
    let mut joined = settings(other.path(), "", &signed).expect("fine");
    joined.adopt_profile(&identity(other.path()), 50).expect("a member");
    assert!(!joined.begins_seeds(&identity(other.path()).key()) && joined.begins_seeds(&founder.key()));
    for (profile, says) in [
        (parse(TEXT).expect("a profile"), "founds no swarm"),
        (signed.sign(&founder, 39), "is later"),
        (signed.sign(&identity(other.path()), 60), "another swarm"),
    ] {
        let mut settings = settings(other.path(), "", &profile).expect("fine");
        let error = settings.adopt_profile(&identity(other.path()), 50).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    }
}

proptest! {
    #[test]
    fn hostile_texts_and_packs_never_panic(text in "\\PC{0,300}", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&text);
        let _ = parse(&format!("seeds = []\n{MARK}{text}"));
        let _ = Profile::unpack(&bytes);
    }
}
