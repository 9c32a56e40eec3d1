//! Judges: independent programs that test the answers of the server. Most are packages of npm and
//! PyPI. They are installed once into the target folder and kept until their lock files change. See
//! `tests/judges`.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use svc_testkit::{Process, TestServer, found_or_skipped, require};

/// Installing includes downloads.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// A judge that takes longer counts as hung. Long, because the machine may be busy.
const JUDGE_LIMIT: Duration = Duration::from_secs(600);

/// A program that tests the server.
pub enum Judge {
    /// A script of `judges/node`, and its arguments.
    Node(&'static str, &'static [&'static str]),
    /// A script of `judges/python`. Its requirements file has the same name.
    Python(&'static str),
    /// A script that uses the requirements of another script: first that other script, then the
    /// script itself.
    PythonOf(&'static str, &'static str),
}

impl Judge {
    /// Returns the command that runs the judge. If the judge cannot be installed, prints the reason
    /// and returns `None`; with `SVC_REQUIRE_JUDGES=1`, fails the test instead.
    pub fn install(&self) -> Option<Command> {
        let installed = require("python3").and_then(|()| match self {
            Self::Node(script, args) => install_node().map(|folder| {
                let mut command = Command::new(folder.join(NODE));
                command.arg(folder.join(script)).args(*args);
                command
            }),
            Self::Python(name) => python(name, name),
            Self::PythonOf(requirements, name) => python(requirements, name),
        });
        found_or_skipped(installed, "SVC_REQUIRE_JUDGES", "a judge is missing")
    }

    /// Runs the judge with these environment variables; returns its stdout. Fails the test unless
    /// the judge exits with 0.
    pub async fn ask(
        &self,
        server: &TestServer,
        variables: &[(&str, &str)],
    ) -> Option<Vec<String>> {
        let mut command = self.install()?;
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_proxy(name)) {
            command.env_remove(name);
        }
        command
            .envs(variables.iter().copied())
            .env("HOME", server.home())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NO_COLOR", "1")
            .current_dir(server.home());
        let mut process = Process::spawn("judge", command);
        let status = process.wait_for_exit(JUDGE_LIMIT).await;
        let said = process.stdout();
        assert!(
            status.success(),
            "the judge failed: {status}\n{}\n{}",
            said.join("\n"),
            process.stderr()
        );
        Some(said)
    }
}

/// The command of a script of `judges/python`.
fn python(requirements: &str, name: &str) -> Result<Command, String> {
    let folder = install_python(requirements)?;
    let mut command = Command::new(folder.join(PYTHON));
    command.arg(source("python").join(format!("{name}.py")));
    Ok(command)
}

/// A folder of the judges' own files.
pub fn source(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/judges")
        .join(folder)
}

const NODE: &str = "node_modules/.bin/node";
const PYTHON: &str = "bin/python";

/// The folder of the programs and packages that judge documents: OpenRPC, registration files.
pub fn install_documents() -> Option<PathBuf> {
    let installed = install_npm("documents", "node_modules/.bin/taplo");
    found_or_skipped(
        installed,
        "SVC_REQUIRE_JUDGES",
        "a judge of documents is missing",
    )
}

/// The command that runs a script of `judges/oidc`: a provider to sign in with.
pub fn install_provider(script: &str) -> Option<Command> {
    let installed = install_npm("oidc", NODE).map(|folder| {
        let mut command = Command::new(folder.join(NODE));
        command.arg(folder.join(script));
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_proxy(name)) {
            command.env_remove(name);
        }
        command
    });
    found_or_skipped(installed, "SVC_REQUIRE_JUDGES", "a provider is missing")
}

/// The command that runs Keycloak. Maven downloads Keycloak, which is large, so without
/// `SVC_TEST_KEYCLOAK=1` the test is skipped. With this variable, a missing program fails the test.
pub fn install_keycloak() -> Option<Command> {
    if std::env::var(KEYCLOAK).is_ok_and(|set| set == "1") {
        let folder = ["java", "mvn", "python3"]
            .into_iter()
            .try_for_each(require)
            .and_then(|()| download_keycloak());
        let folder = found_or_skipped(folder, KEYCLOAK, "Keycloak is missing")?;
        let mut command = Command::new("bash");
        command.arg(folder.join(KEYCLOAK_PROGRAM));
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_proxy(name)) {
            command.env_remove(name);
        }
        return Some(command);
    }
    eprintln!("SKIPPED: {KEYCLOAK}=1 runs the test with Keycloak");
    None
}

const KEYCLOAK: &str = "SVC_TEST_KEYCLOAK";
const KEYCLOAK_ARTIFACT: &str = "org.keycloak:keycloak-quarkus-dist:26.4.0:zip";
const KEYCLOAK_ARCHIVE: &str = "keycloak-quarkus-dist-26.4.0.zip";
const KEYCLOAK_PROGRAM: &str = "keycloak-26.4.0/bin/kc.sh";

fn download_keycloak() -> Result<PathBuf, String> {
    install(
        "keycloak",
        KEYCLOAK_PROGRAM,
        KEYCLOAK_ARTIFACT,
        None,
        |to| {
            let mut maven = Command::new("mvn");
            maven
                .args(["--quiet", "--batch-mode", "dependency:copy"])
                .arg(format!("-Dartifact={KEYCLOAK_ARTIFACT}"))
                .arg(format!("-DoutputDirectory={}", to.display()));
            let mut unpack = Command::new("python3");
            unpack
                .args(["-m", "zipfile", "-e", KEYCLOAK_ARCHIVE, "."])
                .current_dir(to);
            vec![maven, unpack]
        },
    )
}

fn install_node() -> Result<PathBuf, String> {
    install_npm("node", NODE)
}

/// Installs the packages of a folder of judges. One of the packages contains `program`.
fn install_npm(name: &str, program: &str) -> Result<PathBuf, String> {
    require("node")?;
    require("npm")?;
    let from = source(name);
    let locked = read(&from.join("package.json")) + &read(&from.join("package-lock.json"));
    install(name, program, &locked, Some(&from), |folder| {
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund"])
            .current_dir(folder);
        vec![npm]
    })
}

fn install_python(name: &str) -> Result<PathBuf, String> {
    let requirements = source("python").join(format!("{name}.requirements.txt"));
    install(name, PYTHON, &read(&requirements), None, |folder| {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(folder);
        let mut pip = Command::new(folder.join(PYTHON));
        pip.args(["-m", "pip", "install", "--quiet", "-r"])
            .arg(requirements);
        vec![venv, pip]
    })
}

/// Runs `commands` unless they ran before with the same `locked` text. Other tests and other runs
/// wait meanwhile.
fn install(
    name: &str,
    program: &str,
    locked: &str,
    scripts: Option<&Path>,
    commands: impl FnOnce(&Path) -> Vec<Command>,
) -> Result<PathBuf, String> {
    let judges = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("judges");
    let folder = judges.join(name);
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(judges.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    if let Some(from) = scripts {
        copy_changed(from, &folder).unwrap();
    }
    let stamp = judges.join(format!("{name}.stamp"));
    let is_fresh = fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == locked);
    if !(is_fresh && folder.join(program).exists()) {
        let _ = fs::remove_file(&stamp);
        let log = judges.join(format!("{name}.log"));
        for command in commands(&folder) {
            run(command, &log)?;
        }
        fs::write(&stamp, locked).unwrap();
    }
    Ok(folder)
}

/// Copies the scripts beside their packages, because a script searches for packages there.
fn copy_changed(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        let text = fs::read(&path)?;
        if fs::read(&copy).ok().as_ref() != Some(&text) {
            fs::write(copy, text)?;
        }
    }
    Ok(())
}

/// Runs a command to its end, and writes its output to `log`.
fn run(mut command: Command, log: &Path) -> Result<(), String> {
    let output = File::create(log).unwrap();
    let shown = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .map_err(|error| format!("{shown} does not start: {error}"))?;
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(status) if status.success() => return Ok(()),
            Some(status) => break status.to_string(),
            None if begun.elapsed() > INSTALL_LIMIT => {
                child.kill().unwrap();
                child.wait().unwrap();
                break format!("no end after {INSTALL_LIMIT:?}");
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    };
    let said = String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned();
    Err(format!("{shown}: {ended}\n{said}"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether an environment variable names a proxy, which would get the requests of a judge.
fn is_proxy(name: &OsStr) -> bool {
    name.to_string_lossy()
        .to_ascii_lowercase()
        .ends_with("_proxy")
}
