//! The programs under test, and runs of `svc`.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use tokio::io::AsyncWriteExt;

use crate::process::Process;

/// A command that takes longer counts as hanging.
const COMMAND_LIMIT: Duration = Duration::from_secs(180);

/// The environment variable that names another build of `svc` to run, for a comparison.
pub const PROGRAM_VARIABLE: &str = "SVC_TEST_PROGRAM";

/// The `svc` program that was built with these tests, unless the environment names another.
pub fn svc_program() -> PathBuf {
    match std::env::var_os(PROGRAM_VARIABLE) {
        Some(program) => program.into(),
        None => built("svc"),
    }
}

/// The method server of `crates/svc/examples`.
pub fn fixture_method_server() -> PathBuf {
    built("examples/fixture-method-server")
}

fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().expect("a program is in a folder");
    let folder = match folder.file_name().and_then(OsStr::to_str) {
        Some("deps" | "examples") => folder.parent().expect("deps is in the target folder"),
        _ => folder,
    };
    let path = folder.join(name);
    assert!(
        path.exists(),
        "`{}` is not built; run `cargo examples --bins` first",
        path.display()
    );
    path
}

/// A command that runs `svc` without the variables `SVC_*`, `XDG_*` and `*_PROXY` of this machine's
/// user.
pub(crate) fn bare_command(home: &Path) -> Command {
    bare(svc_program(), home)
}

pub(crate) fn bare(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
        if name.starts_with("SVC_") || name.starts_with("XDG_") || is_proxy {
            command.env_remove(name.as_ref());
        }
    }
    command
        .env("HOME", home)
        .env("NO_COLOR", "1")
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

/// The same command, run by another program such as a profiler.
pub fn under(tool: &[&str], command: &Command) -> Command {
    let (program, args) = tool.split_first().expect("a tool has a name");
    let mut whole = Command::new(program);
    whole
        .args(args)
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => whole.env(name, value),
            None => whole.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        whole.current_dir(folder);
    }
    whole
}

/// One run of `svc`.
pub struct Cli {
    command: Command,
    input: Option<String>,
}

#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Cli {
    /// Runs in `home`, with `home` as the home folder.
    pub fn new(home: &Path) -> Self {
        Self {
            command: bare_command(home),
            input: None,
        }
    }

    /// Another program instead of `svc`, with the same environment.
    pub fn of(program: &str, home: &Path) -> Self {
        Self {
            command: bare(program, home),
            input: None,
        }
    }

    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the text on stdin for [`run`](Self::run). Otherwise stdin is empty.
    pub fn input(mut self, text: &str) -> Self {
        self.input = Some(text.to_owned());
        self
    }

    /// Starts the command without waiting for its end.
    pub fn spawn(mut self, args: &[&str]) -> Process {
        self.command.args(args);
        Process::spawn("svc", self.command)
    }

    pub async fn run<S: AsRef<OsStr>>(mut self, args: &[S]) -> Output {
        self.command.args(args);
        let shown = format!("{:?}", self.command.get_args().collect::<Vec<_>>());
        let mut command = tokio::process::Command::from(self.command);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if self.input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().expect("svc starts");
        if let (Some(text), Some(mut stdin)) = (self.input, child.stdin.take()) {
            // A command that refuses its arguments may exit without reading stdin.
            let _ = stdin.write_all(text.as_bytes()).await;
        }
        let output = tokio::time::timeout(COMMAND_LIMIT, child.wait_with_output())
            .await
            .unwrap_or_else(|_| panic!("svc {shown} hangs"))
            .expect("svc can be waited for");
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Output {
    /// Panics with the whole output unless the exit code is `code`.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "svc ended with {}\nstdout: {}\nstderr: {}",
            self.code, self.stdout, self.stderr
        );
        self
    }

    /// stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {}", self.stdout))
    }
}
