mod documentation;

use super::*;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("svc-config-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn error_of(text: &str) -> String {
    match Layer::of_text("svc.toml", text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(failure) => failure.what,
    }
}

#[test]
fn the_default_file_contains_the_defaults() {
    let environment = Environment::of(Path::new("/nowhere"), &[]);
    let config = Config::load(None, &environment).expect("the defaults are valid");
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:12200");
    assert_eq!(config.server.max_body_bytes, 8 * 1024 * 1024);
    assert!(!config.spaces.allow_local);
    assert_eq!(config.server.calls_per_second, None);
    assert_eq!(config.events.emits_per_second, 1_000);
    assert!(config.webhooks.allow.is_empty());
    assert!((config.scripts.timeout_seconds - 5.0).abs() < f64::EPSILON);
    assert_eq!(config.scripts.memory_mb, 128);
    assert_eq!(config.hidden.workers, None);
    assert_eq!(config.agent.url, None);
    assert_eq!((config.quotas.spaces, config.quotas.sinks), (500, 100));
}

#[test]
fn the_environment_wins_over_the_file_and_the_file_over_the_default() {
    let folder = folder("layers");
    let file = folder.join("svc.toml");
    std::fs::write(
        &file,
        "[server]\nlisten = \"127.0.0.1:1\"\nlogin_limit = 3\ndata_dir = \"data\"\n",
    )
    .expect("writable");
    let variables = [
        ("SVC_LOGIN_LIMIT", "5"),
        ("SVC_GRACE_SECONDS", "2"),
        ("SVC_TRUSTED_PROXIES", "10.0.0.0/8, ::1/128"),
        ("SVC_SPACES_ALLOW_LOCAL", "true"),
        ("SVC_LOG_FORMAT", "json"),
        ("SVC_DRAIN_SECONDS", ""),
        ("SVC_WEBHOOK_ALLOW", "hooks.internal, 10.0.0.0/8"),
        ("SVC_METRICS_LABELS", "owner, space"),
    ];
    let environment = Environment::of(&folder, &variables);
    let config = Config::load(None, &environment).expect("valid");
    std::fs::remove_dir_all(&folder).expect("removable");
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:1");
    assert_eq!(config.server.login_limit, 5);
    assert!((config.server.grace_seconds - 2.0).abs() < f64::EPSILON);
    assert_eq!(config.server.trusted_proxies, ["10.0.0.0/8", "::1/128"]);
    assert!(config.spaces.allow_local);
    assert_eq!(config.server.log_format, LogFormat::Json);
    assert!((config.server.drain_seconds - 10.0).abs() < f64::EPSILON);
    assert_eq!(config.server.data_dir, Some(folder.join("data")));
    assert_eq!(config.webhooks.allow, ["hooks.internal", "10.0.0.0/8"]);
    let labels = [MetricsLabel::Owner, MetricsLabel::Space];
    assert_eq!(config.metrics.labels, labels);
}

#[test]
fn an_agents_servers_are_text_or_a_list() {
    let of_file = |value: &str| {
        let layer = Layer::of_text("svc.toml", &format!("[agent]\nurl = {value}\n"));
        let url = layer.expect("valid").agent.url;
        url.map(Addresses::into_text)
    };
    assert_eq!(of_file("\"http://a\"").as_deref(), Some("http://a"));
    let list = of_file("[\"http://a\", \"http://b\"]");
    assert_eq!(list.as_deref(), Some("http://a,http://b"));
    // The configuration accepts an empty entry; the agent rejects it.
    assert_eq!(
        of_file("[\"http://a\", \"\"]").as_deref(),
        Some("http://a,")
    );
    let variables = [("SVC_URL", "http://a, http://b")];
    let environment = Environment::of(Path::new("/nowhere"), &variables);
    let config = Config::load(None, &environment).expect("valid");
    let url = config.agent.url.map(Addresses::into_text);
    assert_eq!(url.as_deref(), Some("http://a, http://b"));
    let error = error_of("[agent]\nurl = 5\n");
    assert!(
        error.contains("an address or a list of addresses"),
        "{error}"
    );
}

#[test]
fn the_file_is_found_by_flag_then_variable_then_here_then_home() {
    let root = folder("find");
    for name in [
        "flag.toml",
        "variable.toml",
        "svc.toml",
        "home/svc/svc.toml",
    ] {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("has one")).expect("a folder");
        std::fs::write(path, "").expect("writable");
    }
    let found = |flag: Option<&Path>, environment: &Environment| {
        let file = find_file(flag, environment).expect("readable");
        file.map(|file| file.path)
    };
    let home = root.join("home").display().to_string();
    let with = [("SVC_CONFIG", "variable.toml"), ("XDG_CONFIG_HOME", &home)];
    let environment = Environment::of(&root, &with);
    let flag = Path::new("flag.toml");
    assert_eq!(
        found(Some(flag), &environment),
        Some(root.join("flag.toml"))
    );
    assert_eq!(found(None, &environment), Some(root.join("variable.toml")));
    let environment = Environment::of(&root, &with[1..]);
    assert_eq!(found(None, &environment), Some(root.join("svc.toml")));
    let elsewhere = root.join("home");
    let environment = Environment::of(&elsewhere, &with[1..]);
    assert_eq!(
        found(None, &environment),
        Some(root.join("home/svc/svc.toml"))
    );
    std::fs::remove_dir_all(&root).expect("removable");
}

#[test]
fn wrong_keys_and_values_are_reported_with_their_position() {
    let error = error_of("[server]\nlisten = \"127.0.0.1:1\"\nport = 5\n");
    assert!(
        error.starts_with("svc.toml:3:1: unknown field `port`"),
        "{error}"
    );
    let error = error_of("[serve]\n");
    assert!(
        error.starts_with("svc.toml:1:2: unknown field `serve`"),
        "{error}"
    );
    let error = error_of("[server]\nlisten = \"here\"\n");
    assert!(error.starts_with("svc.toml:2:10: "), "{error}");
    let error = error_of("[server\n");
    assert!(error.starts_with("svc.toml:1:8: "), "{error}");
}

#[test]
fn wrong_variables_and_combinations_are_usage_errors() {
    let check = |variables: &[(&str, &str)], part: &str| {
        let environment = Environment::of(Path::new("/nowhere"), variables);
        let failure = Config::load(None, &environment).expect_err(part);
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.to_string().contains(part), "{failure}");
    };
    check(
        &[("SVC_METRICS_LABELS", "user")],
        "SVC_METRICS_LABELS is `user`",
    );
    check(&[("SVC_LISTEN", "here")], "SVC_LISTEN is `here`");
    check(&[("SVC_DATABASE_READERS", "0")], "`database_readers` is 0");
    check(&[("SVC_TLS_CERT", "cert.pem")], "`tls_key`");
    check(&[("SVC_GRACE_SECONDS", "-1")], "`grace_seconds` is -1");
    check(&[("SVC_CALLS_PER_SECOND", "0")], "`calls_per_second` is 0");
    check(&[("SVC_EMITS_PER_SECOND", "0")], "`emits_per_second` is 0");
    check(
        &[("SVC_SCRIPT_TIMEOUT_SECONDS", "0")],
        "`timeout_seconds` of",
    );
    check(
        &[("SVC_SCRIPT_MEMORY_MB", "1")],
        "`memory_mb` of scripts is 1",
    );
    check(&[("SVC_CONFIG", "missing.toml")], "missing.toml");
}

#[test]
fn a_file_in_the_current_folder_that_others_can_write_is_ignored_unless_it_is_named() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder("untrusted");
    let file = folder.join(FILE_NAME);
    std::fs::write(&file, "[server]\nlisten = \"127.0.0.1:1\"\n").expect("written");
    let environment = Environment::of(&folder, &[]);
    let listen = |flag: Option<&Path>| {
        let config = Config::load(flag, &environment).expect("valid");
        config.server.listen.port()
    };
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    assert_eq!(listen(None), 1);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).expect("a mode");
    assert_eq!(listen(None), 12_200);
    assert_eq!(listen(Some(&file)), 1);
    std::fs::remove_dir_all(&folder).expect("removable");
}

/// A file at the bound of its depth and beyond. An overflow would end the test process; unoptimised
/// builds have the largest stack frames.
#[test]
fn a_deeply_nested_file_is_refused_on_a_small_stack() {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
        let reading = || {
            let key = "a.a.a.a";
            for head in ["", "[server]\n", "[quotas]\n", "[agent.a.a.a]\n", "server."] {
                for first in [key, "listen", "allow"] {
                    // 31 tables of four levels are 127 levels, the most that is parsed.
                    for tables in [31, 32, 5_000] {
                        let open = format!("{{ {key} = ").repeat(tables - 1);
                        let close = " }".repeat(tables - 1);
                        let _ =
                            error_of(&format!("{head}{first} = {open}{{ {key} = 1 }}{close}\n"));
                    }
                    let _ = error_of(&format!("{head}{first} = {}", "[".repeat(100_000)));
                }
            }
        };
        let running = thread.spawn_scoped(scope, reading).expect("a thread");
        running.join().expect("each file is refused");
    });
}
