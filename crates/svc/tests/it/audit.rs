//! The entry of each action of the audit log: actor, target and detail.
//!
//! A test causes the actions of one area and compares their entries with a file in `audit`.
//! `UPDATE_EXPECT=1 cargo verify audit::` replaces the files. The actions of areas with helpers of
//! their own are caused in `oauth`, `oidc` and `second_factor`.

mod events;
mod people;
mod records;
mod spaces;

use std::{collections::BTreeSet, path::Path};

use expect_test::ExpectFile;
use serde_json::Value;
use svc_store::audit::ACTIONS;
use svc_testkit::{TestUser, eventually};

use crate::{SOON, snapshot::sorted};

/// The entries that were written since [`AuditLog::begin`].
pub struct AuditLog {
    reader: TestUser,
    skipped: usize,
}

impl AuditLog {
    /// The entries that exist already are left out. The user needs `view_audit`.
    pub async fn begin(reader: &TestUser) -> Self {
        Self {
            reader: reader.clone(),
            skipped: reader.list("/api/audit", "audit").await.len(),
        }
    }

    /// New entries, oldest first.
    pub async fn entries(&self) -> Vec<Value> {
        let mut entries = self.reader.list("/api/audit", "audit").await;
        entries.reverse();
        entries.split_off(self.skipped)
    }

    /// Waits for an entry that the server writes by itself.
    pub async fn wait_for(&self, action: &str) {
        let what = format!("an entry `{action}`");
        eventually(&what, SOON, || async {
            let entries = self.entries().await;
            entries.iter().any(|entry| entry["action"] == action)
        })
        .await;
    }

    pub async fn check(&self, expected: ExpectFile) {
        let lines = self.entries().await.iter().map(line_of).collect::<String>();
        expected.assert_eq(&stable(&lines));
    }
}

/// Two lines: the action, its actor and its target, then the detail.
fn line_of(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let head = format!(
        "{} by {}, {} {}",
        text("action"),
        text("actor"),
        text("target_type"),
        text("target_id")
    );
    // A login of a user who does not exist has no target.
    let head = head.trim_end();
    format!("{head}\n  {}\n", sorted(entry["detail"].clone()))
}

/// The shapes of values that differ between runs: `x` is a hexadecimal digit, `9` a decimal digit.
const ID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
const TIME: &str = "9999-99-99T99:99:99.999Z";

fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, shape): (u8, u8)| match shape {
        b'x' => byte.is_ascii_hexdigit(),
        b'9' => byte.is_ascii_digit(),
        literal => byte == literal,
    };
    text.len() >= shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

/// An address on this machine, whose port differs.
const LOCAL: &str = "127.0.0.1:";

/// The text with `#1` for the first id, `#2` for the second and so on, `TIME` for times and `PORT`
/// for ports.
fn stable(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    let mut ids: Vec<&str> = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = if has_shape(rest, ID) {
            let id = &rest[..ID.len()];
            let known = ids.iter().position(|known| *known == id);
            let number = known.unwrap_or_else(|| {
                ids.push(id);
                ids.len() - 1
            });
            out += &format!("#{}", number + 1);
            ID.len()
        } else if has_shape(rest, TIME) {
            out += "TIME";
            TIME.len()
        } else if let Some(port) = rest.strip_prefix(LOCAL) {
            out += LOCAL;
            out += "PORT";
            LOCAL.len() + port.bytes().take_while(u8::is_ascii_digit).count()
        } else {
            out.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    out
}

/// The actions of the entries in all files.
fn actions_of_files() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/audit");
    let mut actions = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "txt") {
            let text = std::fs::read_to_string(path).unwrap();
            let entries = text.lines().filter(|line| !line.starts_with(' '));
            let entries = entries.filter_map(|line| line.split_once(" by "));
            actions.extend(entries.map(|(action, _)| action.to_owned()));
        }
    }
    actions
}

/// Actions without an entry in a file, and the test that checks their entries.
const ELSEWHERE: [(&str, &str); 1] = [(
    // Needs more stored events than a test can emit.
    "event_sink.lost",
    "../server/src/events/lanes/tests/refill.rs",
)];

/// A new action needs a request here that causes it.
#[test]
fn every_action_has_an_entry_in_a_file() {
    let mut known = actions_of_files();
    for (action, test) in ELSEWHERE {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(test);
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(action), "{test} has no `{action}`");
        assert!(known.insert(action.to_owned()), "`{action}` has a file");
    }
    let actions: BTreeSet<_> = ACTIONS.iter().map(|action| (*action).to_owned()).collect();
    assert_eq!(known, actions);
}

/// The web interface suggests the actions.
#[test]
fn the_web_interface_knows_every_action() {
    let filters = include_str!("../../../../web/app/src/pages/audit/filters.js");
    for action in ACTIONS {
        assert!(filters.contains(&format!("'{action}'")), "{action}");
    }
}

#[test]
fn ids_are_numbered_and_times_are_left_out() {
    let (a, b) = (
        "01a1e1aa-cdac-77c7-97d2-9ed387e04faa",
        "01a1e1aa-cdac-77c7-97d2-9ed387e04fab",
    );
    let text = format!("x {b} {a} \"{b}\" 2026-11-16T00:03:52.794Z é 127.0.0.1:80/");
    assert_eq!(stable(&text), "x #1 #2 \"#1\" TIME é 127.0.0.1:PORT/");
}
