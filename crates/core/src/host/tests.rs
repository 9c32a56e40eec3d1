use super::*;

/// How the URL standard writes the host: a name in lower case, or the address.
fn shown(host: Host<'_>) -> String {
    match host {
        Host::Name(name) => name.to_ascii_lowercase(),
        Host::Address(address) => address.to_string(),
    }
}

/// Each host, its form after parsing, and whether it is this machine.
const HOSTS: &[(&str, &str, bool)] = &[
    ("localhost", "localhost", true),
    ("LocalHost", "localhost", true),
    ("localhost.", "localhost", true),
    ("app.localhost", "app.localhost", true),
    ("a.b.LOCALHOST.", "a.b.localhost", true),
    ("127.0.0.1", "127.0.0.1", true),
    ("127.0.0.1.", "127.0.0.1", true),
    ("127.255.255.254", "127.255.255.254", true),
    ("127.1", "127.0.0.1", true),
    ("127.0.1", "127.0.0.1", true),
    ("127.65535", "127.0.255.255", true),
    ("0x7f.1", "127.0.0.1", true),
    ("0X7F.0x0.0.0x1", "127.0.0.1", true),
    ("0177.0.0.01", "127.0.0.1", true),
    ("017700000001", "127.0.0.1", true),
    ("2130706433", "127.0.0.1", true),
    ("0x7f000001", "127.0.0.1", true),
    ("::1", "::1", true),
    ("[::1]", "::1", true),
    ("[0:0:0:0:0:0:0:1]", "::1", true),
    ("::ffff:127.0.0.1", "::ffff:127.0.0.1", true),
    ("[::ffff:7f00:1]", "::ffff:127.0.0.1", true),
    ("example.org", "example.org", false),
    ("Example.ORG.", "example.org", false),
    ("localhost.example.org", "localhost.example.org", false),
    ("evillocalhost", "evillocalhost", false),
    ("evil-localhost", "evil-localhost", false),
    ("localhosts", "localhosts", false),
    ("localhost.localdomain", "localhost.localdomain", false),
    ("127.0.0.1.example.org", "127.0.0.1.example.org", false),
    ("127.0.0.1.nip.io", "127.0.0.1.nip.io", false),
    ("a_b", "a_b", false),
    ("7host", "7host", false),
    ("0xg", "0xg", false),
    ("128.0.0.1", "128.0.0.1", false),
    ("0", "0.0.0.0", false),
    ("0x", "0.0.0.0", false),
    ("4294967295", "255.255.255.255", false),
    ("10.0.258", "10.0.1.2", false),
    ("[::]", "::", false),
    ("[::2]", "::2", false),
    ("[::ffff:10.0.0.1]", "::ffff:10.0.0.1", false),
    ("[::127.0.0.1]", "::7f00:1", false),
    ("fd00::1", "fd00::1", false),
];

/// Texts that are no host.
const INVALID: &[&str] = &[
    "",
    ".",
    "..",
    ".localhost",
    "localhost..",
    "a..localhost",
    "local host",
    "localhost,evil.example",
    "user@localhost",
    "localhost/",
    "localhost#",
    "localhost?",
    "local\\host",
    "%6cocalhost",
    "ｌocalhost",
    "äocalhost",
    "localhost\0",
    "[::1",
    "::1]",
    "[::1]x",
    "[127.0.0.1]",
    "[localhost]",
    "[::1%lo]",
    "127.0.0.256",
    "127.0.0.0.1",
    "127.0x1000000",
    "127.0.0.09",
    "4294967296",
    "0x100000000",
    "1.2.3.0x100",
    "example.1",
    "256.1",
];

#[test]
fn names_and_addresses_are_read_as_the_url_standard_reads_them() {
    for (text, expected, is_loopback) in HOSTS {
        let host = Host::parse(text).expect(text);
        assert_eq!(shown(host), *expected, "{text}");
        assert_eq!(host.is_loopback(), *is_loopback, "{text}");
    }
    for text in INVALID {
        assert!(Host::parse(text).is_none(), "{text}");
    }
}

#[test]
fn an_authority_is_a_host_with_or_without_a_port() {
    for (text, expected, port) in [
        ("localhost", "localhost", None),
        ("localhost.:80", "localhost", Some(80)),
        ("127.1:0", "127.0.0.1", Some(0)),
        ("[::1]", "::1", None),
        ("[::1]:65535", "::1", Some(65_535)),
        ("example.org:0080", "example.org", Some(80)),
    ] {
        let (host, found) = Host::parse_authority(text).expect(text);
        assert_eq!((&*shown(host), found), (expected, port), "{text}");
    }
    for text in [
        "",
        ":80",
        "localhost:",
        "localhost:x",
        "localhost:+80",
        "localhost:65536",
        "localhost:80:80",
        "localhost@evil:80",
        "evil@localhost:80",
        "::1",
        "::1:80",
        "[::1]:",
        "[::1]80",
        "[::1]]:80",
    ] {
        assert!(Host::parse_authority(text).is_none(), "{text}");
        assert!(!is_loopback_authority(text), "{text}");
    }
    assert!(is_loopback_authority("app.localhost:1"));
    assert!(is_loopback_authority("[::ffff:127.0.0.1]:80"));
    assert!(!is_loopback_authority("example.org:80"));
}
