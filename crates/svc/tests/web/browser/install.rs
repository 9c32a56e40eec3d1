//! Installs the npm packages that drive a browser. They are in the target folder, and are installed
//! again only when `package.json` or its lock file changes.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use svc_testkit::{find_browser, found_or_skipped, require};

pub struct Browser {
    pub program: PathBuf,
    /// The script that runs a flow (a scenario of `web/tests/browser/flows`).
    pub runner: PathBuf,
}

impl Browser {
    /// Returns `None` and prints the reason if the browser or its driver is missing. With
    /// `SVC_REQUIRE_BROWSER=1`, fails the test instead.
    pub fn find() -> Option<Self> {
        let found = find_browser().and_then(|program| {
            let runner = install()?;
            Ok(Self { program, runner })
        });
        found_or_skipped(found, "SVC_REQUIRE_BROWSER", "the browser tests cannot run")
    }
}

/// The folder `web` of this repository.
fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web")
}

/// Where packages, screenshots and logs go.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("browser")
}

/// Installs the packages and returns the path of the runner. Copies the flows into the folder of
/// the packages, because Node looks for packages in the folders above a module. A file lock makes
/// other tests and other runs wait.
fn install() -> Result<PathBuf, String> {
    for program in ["node", "npm"] {
        require(program)?;
    }
    let (from, to) = (web(), folder());
    let (tests, runner) = (to.join("tests"), to.join("tests/run.js"));
    fs::create_dir_all(&to).unwrap();
    let lock = File::create(to.join("install.lock")).unwrap();
    lock.lock().unwrap();
    copy_changed(&from.join("tests/browser"), &tests).unwrap();
    let mut locked = String::new();
    for file in ["package.json", "package-lock.json"] {
        locked += &fs::read_to_string(from.join(file)).unwrap();
    }
    let stamp = to.join("install.stamp");
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == locked) {
        return Ok(runner);
    }
    let _ = fs::remove_file(&stamp);
    for file in ["package.json", "package-lock.json"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let npm = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund"])
        .current_dir(&to)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm does not start: {error}"))?;
    if !npm.status.success() {
        let said = String::from_utf8_lossy(&npm.stderr);
        return Err(format!(
            "`npm ci` in {}: {}\n{said}",
            to.display(),
            npm.status
        ));
    }
    fs::write(&stamp, locked).unwrap();
    Ok(runner)
}

fn copy_changed(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_changed(&entry.path(), &copy)?;
            continue;
        }
        let text = fs::read(entry.path())?;
        if fs::read(&copy).ok().as_ref() != Some(&text) {
            fs::write(copy, text)?;
        }
    }
    Ok(())
}
