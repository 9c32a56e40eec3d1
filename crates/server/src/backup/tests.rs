use std::{
    os::unix::fs::{FileExt, PermissionsExt, chown, symlink},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use svc_store::{Store, meta, testing::execute_script};

use super::*;

async fn set(store: &Store, key: String, value: &'static str) {
    store
        .write(move |tx| meta::set(tx, &key, value))
        .await
        .expect("committed");
}

async fn find(store: &Store, key: &'static str) -> Option<String> {
    store
        .read(move |tx| meta::find(tx, key))
        .await
        .expect("the read succeeds")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_made_during_writes_restores_into_a_fresh_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (data, fresh) = (folder.path().join("data"), folder.path().join("fresh"));
    let out = folder.path().join("svc.backup");
    let store = Store::open(&data).expect("opens");
    fs::write(data.join("secret.key"), "the key").expect("written");
    set(&store, "before".into(), "v").await;
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (store, stop) = (store.clone(), stop.clone());
        async move {
            let mut written = 0;
            while !stop.load(Ordering::Relaxed) {
                set(&store, format!("k{written}"), "v").await;
                written += 1;
            }
            written
        }
    });
    let report = tokio::task::spawn_blocking({
        let (data, out) = (data.clone(), out.clone());
        move || create(&data, &out)
    })
    .await
    .expect("no panic")
    .expect("the backup is made");
    stop.store(true, Ordering::Relaxed);
    assert!(writing.await.expect("no panic") > 0);
    store.close().await;

    assert_eq!(verify(&out).expect("good"), report);
    assert!(report.tables["meta"] >= 1);
    assert_eq!(report.files, ["secret.key"]);
    let mode = fs::metadata(&out)
        .expect("the file exists")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 2, "only the data folder and the backup");

    fs::create_dir(&fresh).expect("made");
    fs::write(fresh.join("svc.db-wal"), "a log left behind").expect("written");
    assert_eq!(restore(&out, &fresh, false).expect("restored"), report);
    assert!(!fresh.join("svc.db-wal").exists());
    assert_eq!(
        fs::read_to_string(fresh.join("secret.key")).expect("carried"),
        "the key"
    );
    let store = Store::open(&fresh).expect("opens");
    assert_eq!(find(&store, "before").await.as_deref(), Some("v"));
    store.close().await;
}

#[tokio::test]
async fn restoring_over_a_database_needs_force_and_keeps_the_old_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let out = folder.path().join("svc.backup");
    let store = Store::open(&data).expect("opens");
    set(&store, "k".into(), "old").await;
    create(&data, &out).expect("made");
    set(&store, "k".into(), "new").await;

    let refused = restore(&out, &data, true).expect_err("a server runs");
    assert!(
        matches!(refused, BackupError::Folder(OpenError::Locked { .. })),
        "{refused:?}"
    );
    store.close().await;
    let refused = restore(&out, &data, false).expect_err("a database is there");
    assert!(refused.to_string().contains("--force"), "{refused}");

    restore(&out, &data, true).expect("restored");
    let store = Store::open(&data).expect("opens");
    assert_eq!(find(&store, "k").await.as_deref(), Some("old"));
    store.close().await;
    let aside: Vec<_> = fs::read_dir(&data)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().contains("svc.db.2"))
        .collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    let kept = folder.path().join("kept");
    fs::create_dir(&kept).expect("made");
    fs::copy(&aside[0], kept.join(DATABASE_FILE)).expect("copied");
    let store = Store::open(&kept).expect("opens");
    assert_eq!(find(&store, "k").await.as_deref(), Some("new"));
    store.close().await;
}

#[tokio::test]
async fn damaged_and_foreign_files_are_refused_and_change_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let out = folder.path().join("svc.backup");
    let fresh = folder.path().join("fresh");
    let store = Store::open(&data).expect("opens");
    for n in 0..200 {
        set(&store, format!("key {n}"), "a value of some length").await;
    }
    create(&data, &out).expect("made");
    store.close().await;

    let again = create(&data, &out).expect_err("exists");
    assert!(matches!(again, BackupError::OutExists(_)), "{again:?}");
    let nothing = create(&fresh, &folder.path().join("x")).expect_err("no database");
    assert!(matches!(nothing, BackupError::NoDatabase(_)), "{nothing:?}");

    let bytes = fs::metadata(&out).expect("the file exists").len();
    for place in [bytes / 3, bytes / 2, bytes - 4096] {
        let damaged = folder.path().join("damaged");
        fs::copy(&out, &damaged).expect("copied");
        OpenOptions::new()
            .write(true)
            .open(&damaged)
            .and_then(|file| file.write_all_at(&[0xA5; 2048], place))
            .expect("written");
        assert!(verify(&damaged).is_err(), "damage at {place} of {bytes}");
        assert!(restore(&damaged, &fresh, true).is_err());
    }
    let cut = folder.path().join("cut");
    let whole = fs::read(&out).expect("read");
    fs::write(&cut, &whole[..whole.len() / 2]).expect("written");
    assert!(verify(&cut).is_err());
    let database = verify(&data.join(DATABASE_FILE)).expect_err("not a backup");
    assert!(
        matches!(database, BackupError::Archive(ArchiveError::NotABackup(_))),
        "{database:?}"
    );
    assert!(verify(&folder.path().join("absent")).is_err());
    assert!(!fresh.join(DATABASE_FILE).exists());
}

#[tokio::test]
async fn damage_inside_stored_values_is_found_and_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (data, fresh) = (folder.path().join("data"), folder.path().join("fresh"));
    let out = folder.path().join("svc.backup");
    let store = Store::open(&data).expect("opens");
    fs::write(data.join("secret.key"), "the carried key").expect("written");
    let rename = "UPDATE schema_migrations SET name = 'the first migration'";
    let renamed = store.write(move |tx| execute_script(tx, rename)).await;
    renamed.expect("committed");
    for n in 0..50 {
        set(&store, format!("key {n}"), "a value to be damaged").await;
    }
    create(&data, &out).expect("made");
    store.close().await;

    let whole = fs::read(&out).expect("read");
    let version = env!("CARGO_PKG_VERSION");
    for (text, named) in [
        ("a value to be damaged", "`meta`"),
        ("the first migration", "`schema_migrations`"),
        ("the carried key", "damaged: the file was changed"),
        (version, "damaged: the file was changed"),
    ] {
        let places: Vec<_> = whole
            .windows(text.len())
            .enumerate()
            .filter(|(_, window)| *window == text.as_bytes())
            .map(|(place, _)| place)
            .collect();
        assert!(!places.is_empty(), "`{text}` is in the file");
        for place in places {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            let file = folder.path().join("damaged");
            fs::write(&file, &damaged).expect("written");
            let error = verify(&file).expect_err(text);
            assert!(error.to_string().contains(named), "{text}: {error}");
            assert!(restore(&file, &fresh, true).is_err());
        }
    }
    // A changed byte in unused space is reported too: it is a sign of a failing disk.
    for place in (0..whole.len()).step_by(997) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        let file = folder.path().join("damaged");
        fs::write(&file, &damaged).expect("written");
        assert!(verify(&file).is_err(), "a change at {place}");
    }
    assert!(!fresh.join(DATABASE_FILE).exists());
    verify(&out).expect("the undamaged backup is valid");
}

#[tokio::test]
async fn a_backup_of_a_folder_that_other_users_can_change_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (data, out) = (folder.path().join("data"), folder.path().join("svc.backup"));
    let elsewhere = folder.path().join("elsewhere");
    Store::open(&data).expect("opens").close().await;
    fs::write(data.join("secret.key"), "the key").expect("written");
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let refusal = || {
        let refused = create(&data, &out).expect_err("other users can change it");
        assert!(matches!(refused, BackupError::Folder(OpenError::Folder(_))));
        refused.to_string()
    };
    // Another user could put a link there. SQLite would create its target.
    let log = data.join("svc.db-wal");
    let _ = fs::remove_file(&log);
    symlink(&elsewhere, &log).expect("a link");
    set_mode(&data, 0o777);
    assert!(refusal().contains("chmod go-w"));
    assert!(!elsewhere.exists(), "the link was not followed");
    fs::remove_file(&log).expect("removed");

    set_mode(&data, 0o755);
    for name in [
        "svc.db",
        "svc.db-journal",
        "svc.db-wal",
        "svc.db-shm",
        "secret.key",
    ] {
        let file = data.join(name);
        let is_new = !file.exists();
        File::options()
            .create(true)
            .append(true)
            .open(&file)
            .expect("opens");
        set_mode(&file, 0o664);
        let refused = refusal();
        assert!(refused.contains(name), "{name}: {refused}");
        assert!(refused.contains("(mode 0664)"), "{name}: {refused}");
        set_mode(&file, 0o600);
        if is_new {
            fs::remove_file(&file).expect("removed");
        }
    }
    // Only root can give the folder to another user.
    if svc_private::own_uid() == 0 {
        chown(&data, Some(54_322), None).expect("given away");
        let refused = refusal();
        assert!(refused.contains("belongs to user id 54322"), "{refused}");
        assert!(refused.contains("as its owner"), "{refused}");
        chown(&data, Some(0), None).expect("taken back");
    }
    assert!(!out.exists());
    create(&data, &out).expect("made");
}

#[tokio::test]
async fn a_backup_changes_no_byte_of_a_database_that_was_not_closed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
    let store = Store::open(&data).expect("opens");
    set(&store, "k".into(), "v").await;
    // As after a crash: the row is only in the log.
    prepare_folder(&copy).expect("made");
    for name in [DATABASE_FILE, "svc.db-wal"] {
        fs::copy(data.join(name), copy.join(name)).expect("copied");
    }
    store.close().await;
    let read =
        || [DATABASE_FILE, "svc.db-wal"].map(|name| fs::read(copy.join(name)).expect("read"));
    let before = read();
    let out = folder.path().join("svc.backup");
    create(&copy, &out).expect("made");
    assert!(before == read(), "the backup wrote to the database");

    let fresh = folder.path().join("fresh");
    restore(&out, &fresh, false).expect("restored");
    let store = Store::open(&fresh).expect("opens");
    assert_eq!(find(&store, "k").await.as_deref(), Some("v"));
    store.close().await;
}
