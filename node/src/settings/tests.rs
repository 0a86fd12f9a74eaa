//! Which value holds, where it came from, and what is refused.

use super::*;
use std::path::Path;
use std::time::Duration;

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        Home { dir: tempfile::tempdir().expect("temporary folder") }
    }

    fn write(&self, path: &str, text: &str) -> std::path::PathBuf {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("create folder");
        std::fs::write(&path, text).expect("write");
        path
    }

    fn load(&self, flags: &NodeFlags, variables: &[(&str, &str)]) -> Result<Resolved, SettingsError> {
        let home = self.dir.path().to_string_lossy().into_owned();
        let variables = variables.iter().copied().chain([("HOME", home.as_str())]);
        load(flags, &Environment::of(variables))
    }
}

#[test]
fn without_anything_given_the_defaults_hold() {
    let home = Home::new();
    let resolved = home.load(&NodeFlags::default(), &[]).expect("valid");
    let settings = resolved.settings;
    assert_eq!(settings.data, home.dir.path().join(".local/share/anthill"));
    assert_eq!(settings.api.to_string(), "127.0.0.1:7070");
    assert_eq!(settings.host_delay, Duration::from_secs(1));
    assert_eq!(settings.ip_delay, Duration::from_millis(200));
    assert_eq!(settings.contact, None);
    assert_eq!(settings.limits.max_body, 10 << 20);
    assert_eq!(settings.origins.of("host_delay"), Origin::Default);
    assert_eq!(resolved.file, None);
    assert!(resolved.warnings.is_empty());
}

#[test]
fn a_flag_comes_before_the_environment_before_the_file_before_the_default() {
    let home = Home::new();
    let file =
        home.write(".config/anthill/anthill.toml", "host_delay = \"3s\"\nfetchers = 3\nip_delay = \"3s\"\n");
    let flags = NodeFlags { fetchers: Some(1), ..NodeFlags::default() };
    let variables =
        [("ANTHILL_FETCHERS", "2"), ("ANTHILL_HOST_DELAY", "2s"), ("ANTHILL_LIMITS__PER_HOST", "9")];
    let resolved = home.load(&flags, &variables).expect("valid");
    let s = &resolved.settings;
    assert_eq!((s.fetchers, s.origins.of("fetchers")), (1, Origin::Flag("--fetchers")));
    let environment = |name: &str| Origin::Environment(name.to_owned());
    assert_eq!(
        (s.host_delay, s.origins.of("host_delay")),
        (Duration::from_secs(2), environment("ANTHILL_HOST_DELAY"))
    );
    assert_eq!(
        (s.limits.per_host, s.origins.of("limits.per_host")),
        (9, environment("ANTHILL_LIMITS__PER_HOST"))
    );
    assert_eq!(s.ip_delay, Duration::from_secs(3));
    assert_eq!(s.origins.of("ip_delay").to_string(), format!("{} line 3", file.display()));
    assert_eq!(resolved.file, Some(file));
}

#[test]
fn the_file_is_the_one_named_else_the_one_in_the_data_folder_else_the_one_of_the_user() {
    let home = Home::new();
    let named = home.write("named.toml", "name = \"named\"");
    home.write("data/anthill.toml", "name = \"in data\"");
    home.write("xdg/anthill/anthill.toml", "name = \"in xdg\"");
    let data = home.dir.path().join("data");
    let xdg = home.dir.path().join("xdg").to_string_lossy().into_owned();
    let name = |config: Option<&Path>, data: Option<&Path>, variables: &[(&str, &str)]| {
        let flags = NodeFlags {
            config: config.map(Path::to_owned),
            data: data.map(Path::to_owned),
            ..NodeFlags::default()
        };
        home.load(&flags, variables).expect("valid").settings.name
    };
    let xdg = [("XDG_CONFIG_HOME", xdg.as_str())];
    assert_eq!(name(Some(&named), Some(&data), &xdg).as_deref(), Some("named"));
    assert_eq!(name(None, Some(&data), &xdg).as_deref(), Some("in data"));
    assert_eq!(name(None, None, &xdg).as_deref(), Some("in xdg"));
    assert_eq!(name(None, None, &[]), None);
    let named = named.to_string_lossy().into_owned();
    assert_eq!(name(None, Some(&data), &[("ANTHILL_CONFIG", &named)]).as_deref(), Some("named"));
    let missing = NodeFlags { config: Some(home.dir.path().join("no.toml")), ..NodeFlags::default() };
    assert!(matches!(home.load(&missing, &[]), Err(SettingsError::Read { .. })));
}

#[test]
fn data_goes_where_the_flag_the_environment_or_the_system_says() {
    let env = Environment::of([("ANTHILL_DATA", "/e"), ("XDG_DATA_HOME", "/x")]);
    assert_eq!(data_folder(Some(Path::new("/f")), &env).expect("found"), Path::new("/f"));
    assert_eq!(data_folder(None, &env).expect("found"), Path::new("/e"));
    let xdg = Environment::of([("XDG_DATA_HOME", "/x"), ("HOME", "/h")]);
    assert_eq!(data_folder(None, &xdg).expect("found"), Path::new("/x/anthill"));
    let relative = Environment::of([("XDG_DATA_HOME", "x"), ("HOME", "/h")]);
    assert_eq!(data_folder(None, &relative).expect("found"), Path::new("/h/.local/share/anthill"));
}

#[test]
fn lists_in_the_environment_are_words_or_toml() {
    let home = Home::new();
    let seeds =
        |text| home.load(&NodeFlags::default(), &[("ANTHILL_SEEDS", text)]).expect("valid").settings.seeds;
    let both = ["http://a.test/?a,b", "http://b.test/"];
    assert_eq!(seeds("http://a.test/?a,b  http://b.test/"), both);
    assert_eq!(seeds("[\"http://a.test/?a,b\", \"http://b.test/\"]"), both);
    assert!(seeds("").is_empty());
}

#[test]
fn a_variable_that_is_no_setting_is_warned_of_and_one_of_ours_is_not() {
    let home = Home::new();
    let variables = [("ANTHILL_HOST_DEALY", "1s"), ("ANTHILL_NODE", "http://x"), ("ANTHILL_TOKEN", "t")];
    let warnings = home.load(&NodeFlags::default(), &variables).expect("valid").warnings;
    assert_eq!(
        warnings,
        [
            "environment variable ANTHILL_HOST_DEALY is no setting and was ignored; did you mean ANTHILL_HOST_DELAY?"
        ]
    );
}

#[test]
fn what_will_not_do_is_refused_with_its_key_origin_and_remedy() {
    let home = Home::new();
    for (variable, value, expected) in [
        ("ANTHILL_FETCHERS", "many", "`fetchers` (environment ANTHILL_FETCHERS): a whole number"),
        ("ANTHILL_FETCHERS", "0", "1 to 10000, not 0"),
        ("ANTHILL_LISTEN", "/x", "`/x` is no multiaddr"),
        ("ANTHILL_FOLLOW", "me", "`me` is no PeerId"),
        ("ANTHILL_SWARM", "a b", "letters, digits"),
        ("ANTHILL_TOKENS", "7", "32 to 256, not 7"),
        ("ANTHILL_PREFER", "spanish", "`spanish` is no language"),
        ("ANTHILL_INDEX_ONLY", "true", "name the languages with `prefer`"),
        ("ANTHILL_NETWORK__REACHABLE", "maybe", "yes, no or auto"),
        ("ANTHILL_HOST_DELAY", "soon", "`soon` is no duration"),
        (
            "ANTHILL_SEARCH_DEADLINE",
            "1ms",
            "`search_deadline` (environment ANTHILL_SEARCH_DEADLINE): 100ms to 30s",
        ),
        ("ANTHILL_HOST_DELAY", "2d", "`host_delay` (environment ANTHILL_HOST_DELAY): at most 24h"),
        ("ANTHILL_CONTACT", "me", "write a URL"),
        ("ANTHILL_CONTACT", "me@example.org\r\nX: y", "write a URL"),
        ("ANTHILL_SEEDS", "ftp://a.test/", "`ftp://a.test/` is no http or https URL"),
        ("ANTHILL_SUBSCRIPTIONS", "https://a.test/x.jsonl me", "is no list: write its URL"),
        ("ANTHILL_SUBSCRIPTIONS", "x.jsonl", "`x.jsonl` is no list"),
        ("ANTHILL_API_HOSTS", "http://a.test/", "is no host name"),
        ("ANTHILL_RESOLVE", "a.test", "write it as PATTERN=IP:PORT"),
        ("ANTHILL_NAME", "  ", "a name has 1 to 64"),
        ("ANTHILL_ALLOW_PRIVATE", "maybe", "true or false, not `maybe`"),
        ("ANTHILL_LIMITS__MAX_URL", "4KiB", "64B to 2KiB, not 4KiB"),
        ("ANTHILL_INDEX__WRITER_MEMORY", "1MiB", "15MB to 4GB, not 1MiB"),
        (
            "ANTHILL_REVISIT__MIN",
            "100d",
            "`revisit.min` (environment ANTHILL_REVISIT__MIN): 1s to 60d, not 100d",
        ),
        ("ANTHILL_TIMEOUTS__TOTAL", "0", "1ms to 1h, not 0s"),
    ] {
        let error = home.load(&NodeFlags::default(), &[(variable, value)]).expect_err(variable).to_string();
        assert!(error.contains(expected), "{variable}={value}: {error}");
    }
    home.write(".config/anthill/anthill.toml", "[extract.\"a/b\"]\ntitle = \"h1\"");
    let error = home.load(&NodeFlags::default(), &[]).expect_err("no site").to_string();
    assert!(error.contains("write a site"), "{error}");
}

#[test]
fn contacts_are_urls_or_mail_addresses() {
    let home = Home::new();
    for contact in ["you@example.org", "mailto:you@example.org", "https://example.org/crawler"] {
        let resolved = home.load(&NodeFlags::default(), &[("ANTHILL_CONTACT", contact)]).expect(contact);
        assert_eq!(resolved.settings.contact.as_deref(), Some(contact));
    }
}

#[test]
fn extraction_rules_are_kept_by_site() {
    let home = Home::new();
    home.write(
        ".config/anthill/anthill.toml",
        "[extract.\"example.org\"]\ntext = \"main\"\ndrop = [\"nav\", \".ad\"]\n",
    );
    let settings = home.load(&NodeFlags::default(), &[]).expect("valid").settings;
    let rule =
        Extract { text: Some("main".into()), drop: vec!["nav".into(), ".ad".into()], ..Extract::default() };
    assert_eq!(settings.extract.get("example.org"), Some(&rule));
}

#[test]
fn lists_are_changed_by_additions_and_exceptions() {
    let mut settings = Settings::with_data(Path::new("/d"));
    settings.filters.drop_extensions = vec![".ISO".into(), "png".into()];
    settings.filters.keep_extensions = vec!["Pdf".into()];
    assert_eq!(settings.filters.extensions(["png", "pdf"]), ["iso", "png"]);
    settings.canon.drop_parameters = vec!["ref_*".into()];
    settings.canon.keep_parameters = vec!["utm_*".into()];
    assert_eq!(settings.canon.parameters(["utm_*", "gclid"]), ["gclid", "ref_*"]);
}

#[test]
fn flags_are_read_as_the_interface_promises() {
    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        flags: NodeFlags,
    }
    use clap::{CommandFactory, Parser};
    Program::command().debug_assert();
    let line = "x --data /d --name n --api 127.0.0.1:0 --seed http://a.test/ --seed http://b.test/ --contact a@b.test \
                --resolve *.test=127.0.0.1:8080 --allow-private --host-delay 0s --ip-delay 50ms --fetchers 9 -v \
                --listen /ip4/127.0.0.1/tcp/0 --bootstrap /ip4/192.0.2.1/tcp/1/p2p/12D3KooWHMq5Y95sCBrpEu8ak4RD9RxHLDyaSYVF3PMTpefRXLVx \
                --swarm ants --swarm-key /k --offline";
    let flags = Program::try_parse_from(line.split_whitespace()).expect("valid").flags;
    let s = Home::new().load(&flags, &[]).expect("valid").settings;
    assert_eq!(s.data, Path::new("/d"));
    assert_eq!(s.api.port(), 0);
    assert_eq!(s.seeds, ["http://a.test/", "http://b.test/"]);
    assert_eq!(s.resolve[0].to_string(), "*.test=127.0.0.1:8080");
    assert!(s.allow_private);
    assert_eq!((s.host_delay, s.ip_delay, s.fetchers), (Duration::ZERO, Duration::from_millis(50), 9));
    assert_eq!(s.log, "debug");
    assert_eq!((s.listen.len(), s.bootstrap.len(), s.swarm.as_str(), s.offline), (1, 1, "ants", true));
    assert_eq!(s.swarm_key.as_deref(), Some(Path::new("/k")));
    for line in ["x --host-delay soon", "x --api localhost", "x --resolve a", "x --fetchers -1", "x -v -q"] {
        assert!(Program::try_parse_from(line.split_whitespace()).is_err(), "{line}");
    }
}

#[test]
fn the_commented_file_reads_back_as_the_defaults() {
    let text = default_file();
    let home = Home::new();
    let before = home.load(&NodeFlags::default(), &[]).expect("valid").settings;
    home.write(".config/anthill/anthill.toml", &text);
    let mut after = home.load(&NodeFlags::default(), &[]).expect("valid").settings;
    after.origins = before.origins.clone();
    assert_eq!(after, before);
    for key in table::KEYS.iter().chain(table::EXTRACT) {
        let name = key.path.rsplit('.').next().expect("has a name");
        assert!(text.contains(&format!("{name} =")), "{}", key.path);
    }
    assert!(text.lines().all(|line| line.chars().count() <= 120), "lines fit a page");
}

#[test]
fn table_and_tree_have_the_same_keys() {
    fn leaves(prefix: &str, table: &toml::Table, out: &mut Vec<String>) {
        for (name, value) in table {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match value {
                toml::Value::Table(inner) => leaves(&path, inner, out),
                _ => out.push(path),
            }
        }
    }
    let mut settings = Settings {
        name: Some("n".into()),
        contact: Some("a@b.test".into()),
        swarm_key: Some("/k".into()),
        ..Settings::with_data(Path::new("/d"))
    };
    settings.topic.model = Some("/m".into());
    settings.topic.digest = Some("0".repeat(64));
    settings.topic.query = Some("ants".into());
    let mut found = Vec::new();
    leaves("", &toml::Table::try_from(&settings).expect("serializes"), &mut found);
    let mut expected: Vec<_> = table::KEYS.iter().map(|key| key.path.to_owned()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn the_resolved_settings_tell_where_each_came_from() {
    let home = Home::new();
    let flags = NodeFlags { fetchers: Some(7), ..NodeFlags::default() };
    let settings = home.load(&flags, &[("ANTHILL_HOST_DELAY", "5s")]).expect("valid").settings;
    let text = resolved_text(&settings);
    let line = |key: &str| text.lines().find(|l| l.starts_with(key)).unwrap_or_default().to_owned();
    assert!(line("fetchers = 7 ").ends_with("# flag --fetchers"), "{text}");
    assert!(line("host_delay = \"5s\"").ends_with("# environment ANTHILL_HOST_DELAY"), "{text}");
    assert!(line("limits.max_body = \"10MiB\"").ends_with("# default"), "{text}");
    let report = settings.report();
    let value = report.settings.iter().find(|v| v.key == "fetchers").expect("is there");
    assert_eq!((value.value.as_u64(), value.origin.as_str()), (Some(7), "flag --fetchers"));
}
