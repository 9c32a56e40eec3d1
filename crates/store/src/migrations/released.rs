//! A released migration keeps its text. `released.txt` has the hash of each; the release adds lines.

use std::collections::BTreeMap;

use svc_crypto::sha256;

use super::STEPS;

const LIST: &str = include_str!("released.txt");

/// The released migrations of a list that are not in `steps` with the same text, one line each.
fn changed(list: &str, steps: &[(&str, &str)]) -> Vec<String> {
    let hashes: BTreeMap<_, _> = steps.iter().map(|(name, sql)| (*name, hex(sql))).collect();
    let lines = list.lines();
    let released = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong = released.filter_map(|line| {
        let [hash, name, version] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Some(format!("`{line}` is not a hash, a name and a version"));
        };
        let is_same = hashes.get(name).is_some_and(|found| found == hash);
        (!is_same).then(|| {
            format!(
                "migration `{name}` is in release {version}, but its text was changed or removed: restore the text, and write a new migration for the change"
            )
        })
    });
    wrong.collect()
}

fn hex(sql: &str) -> String {
    sha256(sql)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn no_released_migration_was_changed() {
    let changed = changed(LIST, STEPS);
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn a_changed_or_removed_migration_is_found() {
    let steps = [("0001_a", "CREATE TABLE a"), ("0002_b", "CREATE TABLE b")];
    let list = format!(
        "# A comment.\n\n{} 0001_a 1.0.0\n{} 0002_b 1.1.0\n",
        hex(steps[0].1),
        hex(steps[1].1)
    );
    assert_eq!(changed(&list, &steps), [""; 0]);
    let later = [steps[0], steps[1], ("0003_c", "CREATE TABLE c")];
    assert_eq!(changed(&list, &later), [""; 0]);
    let edited = [steps[0], ("0002_b", "CREATE TABLE b ")];
    assert_eq!(
        changed(&list, &edited),
        [
            "migration `0002_b` is in release 1.1.0, but its text was changed or removed: restore the text, and write a new migration for the change"
        ]
    );
    assert_eq!(changed(&list, &steps[1..]).len(), 1);
    assert_eq!(changed("abc 0001_a\n", &steps).len(), 1);
}
