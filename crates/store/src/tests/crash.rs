//! kill -9: a second process writes and reports each acknowledged write. After it is killed, every
//! reported write must be stored.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use super::{Folder, Store, meta};

/// The environment variable that passes the data folder to the child process.
const CHILD_FOLDER: &str = "SVC_TEST_STORE_FOLDER";
const REPORTED: usize = 60;

/// The test runs itself as a child process, with a folder to write to.
#[tokio::test]
async fn kill_nine_loses_no_acknowledged_write() {
    if let Some(folder) = env::var_os(CHILD_FOLDER) {
        return write_until_killed(Path::new(&folder)).await;
    }
    let folder = Folder::new();
    let mut child = Command::new(env::current_exe().expect("a test binary"))
        .args(["--exact", "--nocapture"])
        .arg(
            concat!(module_path!(), "::kill_nine_loses_no_acknowledged_write")
                .split_once("::")
                .expect("a crate")
                .1,
        )
        .env(CHILD_FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let reported: Vec<String> = lines
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("acknowledged ").map(str::to_owned))
        .take(REPORTED)
        .collect();
    child.kill().expect("SIGKILL");
    child.wait().expect("the child is gone");
    assert_eq!(reported.len(), REPORTED);

    let store = folder.open();
    for key in reported {
        let value = store
            .read({
                let key = key.clone();
                move |tx| meta::find(tx, &key)
            })
            .await
            .expect("the read succeeds");
        assert_eq!(value.as_deref(), Some("v"), "{key}");
    }
}

async fn write_until_killed(folder: &Path) {
    let store = Store::open(folder).expect("the store opens");
    for n in 0.. {
        // Several writes at once, so that some commits contain more than one write.
        let keys: Vec<String> = (0..4).map(|part| format!("{n}.{part}")).collect();
        let writes: Vec<_> = keys
            .iter()
            .cloned()
            .map(|key| super::spawn_write(&store, move |tx| meta::set(tx, &key, "v")))
            .collect();
        for (key, write) in keys.iter().zip(writes) {
            write.await.expect("no panic").expect("committed");
            let mut out = std::io::stdout().lock();
            writeln!(out, "\nacknowledged {key}").expect("the parent reads");
        }
    }
}
