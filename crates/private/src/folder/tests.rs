use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

use tempfile::TempDir;

use super::*;

/// A user id that has no account.
const STRANGER: u32 = 54_321;

use FolderKind::{Chosen, Internal};

fn root() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

fn folder_with_mode(root: &TempDir, mode: u32) -> PathBuf {
    let path = root.path().join("folder");
    fs::create_dir(&path).expect("a folder");
    set_mode(&path, mode);
    path
}

fn refusal(path: &Path, kind: FolderKind) -> String {
    own_folder(path, kind).expect_err("refused").to_string()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("readable").flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_new_folder_is_for_its_owner_only() {
    let root = root();
    for (name, kind) in [("a", Internal), ("b/c", Chosen)] {
        let path = root.path().join(name);
        own_folder(&path, kind).expect("created");
        own_folder(&path, kind).expect("opened again");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
    }
}

#[test]
fn an_existing_folder_is_used_only_if_its_mode_permits() {
    for (kind, mode, change) in [
        (Internal, 0o700, None),
        (Internal, 0o755, Some("chmod 700")),
        (Internal, 0o777, Some("chmod 700")),
        (Internal, 0o1777, Some("chmod 700")),
        (Chosen, 0o700, None),
        (Chosen, 0o755, None),
        (Chosen, 0o775, Some("chmod go-w")),
        (Chosen, 0o777, Some("chmod go-w")),
        (Chosen, 0o1777, Some("chmod go-w")),
    ] {
        let root = root();
        let path = folder_with_mode(&root, mode);
        match change {
            None => drop(own_folder(&path, kind).expect("used")),
            Some(change) => {
                let refusal = refusal(&path, kind);
                let shown = path.display();
                assert!(refusal.contains(&format!("{change} {shown}")), "{refusal}");
                assert!(refusal.contains(&format!("{mode:04o}")), "{refusal}");
            }
        }
        let kept = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(kept & 0o7777, mode, "the mode is not changed");
    }
}

#[test]
fn a_link_is_refused_where_only_svc_creates_the_folder() {
    let root = root();
    let (target, link) = (root.path().join("target"), root.path().join("link"));
    fs::create_dir(&target).expect("a folder");
    symlink(&target, &link).expect("a link");
    own_folder(&link, Chosen).expect("a link of this user");
    assert!(refusal(&link, Internal).contains("symbolic link"));
    let file = root.path().join("file");
    fs::write(&file, "").expect("written");
    for kind in [Internal, Chosen] {
        assert!(refusal(&file, kind).contains("is not a folder"));
    }
    let dangling = root.path().join("dangling");
    symlink(root.path().join("nothing"), &dangling).expect("a link");
    for kind in [Internal, Chosen] {
        own_folder(&dangling, kind).expect_err("refused");
    }
}

/// Only root can give a folder away; another user sees a folder of root as a foreign one.
#[test]
fn a_folder_of_another_user_is_refused() {
    let root = root();
    let path = folder_with_mode(&root, 0o700);
    for kind in [Internal, Chosen] {
        let opened = OwnFolder::open_as(&path, kind, STRANGER);
        if kind == Chosen && own_uid() == 0 {
            opened.expect("a folder of root");
            continue;
        }
        let refusal = opened.expect_err("foreign").to_string();
        assert!(refusal.contains("belongs to user id"), "{refusal}");
        assert!(refusal.contains("you are 54321"), "{refusal}");
    }
    if own_uid() != 0 {
        return;
    }
    // Kubernetes gives a volume to a group with `fsGroup`, and root stays its owner.
    set_mode(&path, 0o2775);
    OwnFolder::open_as(&path, Chosen, STRANGER).expect("a folder of root for its group");
    set_mode(&path, 0o2777);
    let shared = OwnFolder::open_as(&path, Chosen, STRANGER).expect_err("everybody can write it");
    assert!(shared.to_string().contains("choose a new folder inside it"));
    set_mode(&path, 0o700);
    chown(&path, Some(STRANGER), None).expect("given away");
    for kind in [Internal, Chosen] {
        assert!(refusal(&path, kind).contains("belongs to user id 54321"));
    }
    chown(&path, Some(0), None).expect("taken back");
    let link = root.path().join("link");
    symlink(&path, &link).expect("a link");
    lchown(&link, Some(STRANGER), None).expect("given away");
    assert!(refusal(&link, Chosen).contains("belongs to user id 54321"));
}

#[test]
fn files_are_private_and_replaced_without_following_links() {
    let root = root();
    let folder = own_folder(&root.path().join("own"), Internal).expect("created");
    let precious = root.path().join("precious");
    fs::write(&precious, "precious").expect("written");
    symlink(&precious, folder.path().join("file")).expect("a link");
    assert!(folder.read("file").is_err(), "a link is not followed");
    assert!(folder.open_lock("file").is_err(), "a link is not followed");
    folder.write("file", b"one").expect("written");
    assert_eq!(folder.read("file").expect("readable"), b"one");
    folder.write_durably("file", b"two").expect("written");
    assert_eq!(folder.read("file").expect("readable"), b"two");
    assert_eq!(fs::read(&precious).expect("readable"), b"precious");
    let mode = fs::metadata(folder.path().join("file")).expect("there");
    assert_eq!(mode.permissions().mode() & 0o7777, 0o600);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_new_file_never_replaces_a_file() {
    let root = root();
    let folder = own_folder(&root.path().join("own"), Internal).expect("created");
    folder.write_new("file", b"one").expect("written");
    let error = folder.write_new("file", b"two").expect_err("it exists");
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(folder.read("file").expect("readable"), b"one");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_folder_that_is_exchanged_after_its_check_is_not_written() {
    let root = root();
    let (path, moved) = (root.path().join("own"), root.path().join("moved"));
    let folder = own_folder(&path, Internal).expect("created");
    fs::rename(&path, &moved).expect("moved away");
    fs::create_dir(&path).expect("another folder");
    folder.write("file", b"text").expect("written");
    assert_eq!(names(&moved), ["file"]);
    assert!(names(&path).is_empty());
    folder.remove("file").expect("removed");
    assert!(names(&moved).is_empty());
}

/// A folder with this mode, which holds a file with that mode.
fn file_in(root: &TempDir, folder_mode: u32, file_mode: u32) -> OwnFolder {
    let path = folder_with_mode(root, folder_mode);
    fs::write(path.join("file"), "text").expect("written");
    set_mode(&path.join("file"), file_mode);
    OwnFolder::open(&path, Chosen).expect("opened")
}

#[test]
fn a_file_that_other_users_can_write_is_refused() {
    for (folder_mode, file_mode, is_used) in [
        (0o755, 0o600, true),
        (0o755, 0o644, true),
        (0o755, 0o664, false),
        (0o755, 0o646, false),
        (0o750, 0o660, false),
        // No other user can enter the folder.
        (0o700, 0o666, true),
    ] {
        let root = root();
        let folder = file_in(&root, folder_mode, file_mode);
        let checked = folder.check_file("file").map_err(|error| error.to_string());
        assert_eq!(checked.is_ok(), is_used, "{folder_mode:o} {file_mode:o}");
        if let Err(refusal) = checked {
            let path = folder.path().join("file");
            let change = format!("chmod go-w {}", path.display());
            assert!(refusal.contains(&change), "{refusal}");
            assert!(refusal.contains(&format!("{file_mode:04o}")), "{refusal}");
            set_mode(&path, file_mode & !0o022);
            folder.check_file("file").expect("used after the change");
        }
        folder.check_file("none").expect("a missing file");
    }
}

#[test]
fn the_target_of_a_link_to_a_file_is_checked() {
    let root = root();
    let folder = file_in(&root, 0o700, 0o600);
    let target = root.path().join("target");
    symlink(&target, folder.path().join("link")).expect("a link");
    folder.check_file("link").expect("a missing target");
    fs::write(&target, "text").expect("written");
    set_mode(&target, 0o666);
    let refusal = folder.check_file("link").expect_err("refused");
    assert!(refusal.to_string().contains("(mode 0666)"), "{refusal}");
    set_mode(&target, 0o600);
    folder.check_file("link").expect("used");
}

#[test]
fn a_file_of_another_user_is_refused() {
    let root = root();
    let folder = file_in(&root, 0o755, 0o600);
    let checked = folder.check_file_as("file", STRANGER);
    if own_uid() != 0 {
        let refusal = checked.expect_err("foreign").to_string();
        assert!(refusal.contains("you are 54321"), "{refusal}");
        return;
    }
    checked.expect("a file of root");
    // Kubernetes makes the files of a volume writable for the group of the process.
    set_mode(&folder.path().join("file"), 0o660);
    let shared = folder.check_file_as("file", STRANGER);
    shared.expect("writable for the group that root chose");
    folder
        .check_file("file")
        .expect_err("root has no such group");
    let file = folder.path().join("file");
    chown(&file, Some(STRANGER), None).expect("given away");
    let refusal = folder.check_file("file").expect_err("foreign").to_string();
    assert!(refusal.contains("belongs to user id 54321"), "{refusal}");
    let link = folder.path().join("link");
    symlink("/dev/null", &link).expect("a link");
    lchown(&link, Some(STRANGER), None).expect("given away");
    folder
        .check_file("link")
        .expect_err("the owner of a link chooses its target");
}
