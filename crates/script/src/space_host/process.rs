//! Runs programs for a script, and kills programs that exceed their timeout.

use std::{
    collections::HashMap,
    io,
    os::fd::AsFd,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::unix::pipe::Receiver,
    process::{Child, Command},
};

use crate::{
    Exception, Raise,
    worker::{WORKER_VARIABLES, without_memory_limit},
};

/// The maximum size of each output stream that is read.
const STREAM_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The argument of the operation `process`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessRequest {
    args: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    /// Replaces the whole environment.
    #[serde(default)]
    env: Option<HashMap<String, String>>,
    #[serde(default)]
    input: Option<String>,
    /// The time limit in seconds.
    #[serde(default)]
    timeout: Option<f64>,
    /// Changes to the environment, if `env` is not given. `None` removes a variable.
    #[serde(default)]
    env_changes: HashMap<String, Option<String>>,
    #[serde(default)]
    pub(super) stdout: Output,
    #[serde(default)]
    pub(super) stderr: Output,
}

/// The destination of one stream of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Output {
    /// To the script's own stream.
    #[default]
    Inherit,
    /// To the script, as a part of the result.
    Pipe,
    Null,
    /// For stderr only: to the destination of stdout, so that both outputs stay in order.
    Stdout,
}

/// The result of a process. Holds the streams that were read.
#[derive(Debug, Serialize)]
pub(super) struct ProcessResult {
    /// The exit code, or the negative number of the signal that ended the program.
    pub(super) returncode: i32,
    pub(super) stdout: Option<String>,
    pub(super) stderr: Option<String>,
}

/// Runs a program to its end. In a worker, inherited output is read too, because a worker's stdout
/// carries frames.
pub(super) async fn run(request: &ProcessRequest, in_worker: bool) -> Result<ProcessResult, Raise> {
    let Some((program, args)) = request.args.split_first() else {
        let text = "a process needs a program: `args` is empty";
        return Err(Raise::new(Exception::ValueError, text));
    };
    let mut command = command(request, (program, args), in_worker);
    let merged =
        redirect(&mut command, request, in_worker).map_err(|error| start_error(program, &error))?;
    let spawned = if in_worker {
        without_memory_limit(|| command.spawn())
    } else {
        command.spawn()
    };
    let mut child = spawned.map_err(|error| start_error(program, &error))?;
    // Closes this process's copy of the pipe's write end. Otherwise the pipe would never end.
    drop(command);
    // Cancelled at the timeout. The child is then killed.
    let ended = finish(&mut child, merged, request.input.as_deref(), program);
    match request.timeout {
        None => ended.await,
        Some(seconds) => {
            let within = Duration::try_from_secs_f64(seconds).map_err(|_| {
                let text = format!("`{seconds}` is not a valid timeout in seconds");
                Raise::new(Exception::ValueError, text)
            })?;
            match tokio::time::timeout(within, ended).await {
                Ok(done) => done,
                Err(_) => {
                    let _ = child.kill().await;
                    let text = format!("`{program}` did not end within {seconds} s");
                    Err(Raise::new(Exception::TimeoutError, text))
                }
            }
        }
    }
}

/// The program with its folder, its environment and its input.
fn command(
    request: &ProcessRequest,
    (program, args): (&String, &[String]),
    in_worker: bool,
) -> Command {
    let mut command = Command::new(program);
    command.args(args).kill_on_drop(true);
    if let Some(folder) = &request.cwd {
        command.current_dir(folder);
    }
    match &request.env {
        Some(env) => {
            command.env_clear().envs(env);
        }
        None if in_worker => {
            for name in WORKER_VARIABLES {
                command.env_remove(name);
            }
        }
        None => {}
    }
    if request.env.is_none() {
        for (name, value) in &request.env_changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
    command.stdin(match request.input {
        Some(_) => Stdio::piped(),
        None if in_worker => Stdio::null(),
        None => Stdio::inherit(),
    });
    command
}

/// Redirects both output streams. If they share a pipe, returns its read end.
fn redirect(
    command: &mut Command,
    request: &ProcessRequest,
    in_worker: bool,
) -> io::Result<Option<Receiver>> {
    let one = |output: Output| match output {
        Output::Null => Stdio::null(),
        Output::Inherit if !in_worker => Stdio::inherit(),
        Output::Inherit | Output::Pipe | Output::Stdout => Stdio::piped(),
    };
    if request.stderr != Output::Stdout {
        command
            .stdout(one(request.stdout))
            .stderr(one(request.stderr));
        return Ok(None);
    }
    match request.stdout {
        Output::Null => {
            command.stdout(Stdio::null()).stderr(Stdio::null());
            Ok(None)
        }
        Output::Inherit if !in_worker => {
            let stdout = io::stdout().as_fd().try_clone_to_owned()?;
            command.stdout(Stdio::inherit()).stderr(stdout);
            Ok(None)
        }
        Output::Inherit | Output::Pipe | Output::Stdout => {
            let (reader, writer) = io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            Receiver::from_owned_fd(reader.into()).map(Some)
        }
    }
}

async fn finish(
    child: &mut Child,
    merged: Option<Receiver>,
    input: Option<&str>,
    program: &str,
) -> Result<ProcessResult, Raise> {
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let feed = async move {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // An error means that the program does not read its input, which is allowed.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        Ok(())
    };
    let failed = |error: io::Error| {
        let text = format!("the output of `{program}` cannot be read: {error}");
        Raise::new(Exception::OSError, text)
    };
    let ((), stdout, stderr, merged) =
        tokio::try_join!(feed, collect(stdout), collect(stderr), collect(merged))
            .map_err(failed)?;
    let status = child.wait().await.map_err(failed)?;
    Ok(ProcessResult {
        returncode: return_code(status),
        stdout: stdout.or(merged),
        stderr,
    })
}

/// Reads a stream to its end. Fails if it is too large.
async fn collect(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Option<String>> {
    let Some(stream) = stream else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let most = STREAM_BYTES_MAX as u64;
    stream.take(most + 1).read_to_end(&mut bytes).await?;
    if bytes.len() > STREAM_BYTES_MAX {
        let text = format!("it is larger than {STREAM_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The return code that `subprocess` of CPython would report.
fn return_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;

    status
        .code()
        .or_else(|| status.signal().map(|signal| -signal))
        .unwrap_or(-1)
}

/// The exception for a program that cannot be started. If the program is missing or not executable,
/// the text is that of CPython.
fn start_error(program: &str, error: &io::Error) -> Raise {
    let text = match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::NotFound, Some(code)) => {
            format!("[Errno {code}] No such file or directory: '{program}'")
        }
        (io::ErrorKind::PermissionDenied, Some(code)) => {
            format!("[Errno {code}] Permission denied: '{program}'")
        }
        _ => format!("cannot start `{program}`: {error}"),
    };
    let exception = match error.kind() {
        io::ErrorKind::PermissionDenied => Exception::PermissionError,
        _ => Exception::OSError,
    };
    Raise::new(exception, text)
}
