//! A script of the user, run in this process with all abilities of the user.
//!
//! Never run a script on a thread of an async runtime: the host blocks, and has its own runtime.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use svc_script::{
    Abilities, ErrorKind, Flavour, Host, Limits, Raise, SOURCE_BYTES_MAX, ScriptError, Setting,
    Source, SpaceHost, Stream,
};

use crate::{
    context,
    environment::Environment,
    exit::{Exit, Failure},
    prompt,
};

/// A Python script and its path.
pub struct OwnScript {
    pub source: Source,
    /// Absolute; libraries are searched in its folder.
    pub path: PathBuf,
}

impl OwnScript {
    /// Reads a file, or stdin for `-`.
    pub fn read(environment: &Environment, file: &Path) -> Result<Self, Failure> {
        let (file, text) = match file == Path::new("-") {
            true => (Path::new("<stdin>"), prompt::read_stdin()?),
            false => (file, read_bounded(environment, file)?),
        };
        let path = environment.absolute(file);
        let file = file.display().to_string();
        Ok(Self {
            source: Source { file, text },
            path,
        })
    }

    /// `args` are the script's arguments, without its name.
    pub fn setting(&self, environment: &Environment, args: &[String], limits: Limits) -> Setting {
        let name = match self.source.file.as_str() {
            "<stdin>" => "-",
            file => file,
        };
        let folder = environment.working_folder.clone();
        Setting {
            flavour: Flavour::Space,
            abilities: Abilities::Full { folder },
            limits,
            args: [&[name.to_owned()], args].concat(),
        }
    }

    /// The host that serves the script's operations: the agent of this space, else the server. With
    /// `--context` the script runs as if outside of a space.
    pub fn host(
        &self,
        context: Option<&str>,
        environment: &Environment,
    ) -> Result<SpaceHost, Failure> {
        let agent = find_agent_socket(context, environment);
        let mut host = SpaceHost::new(self.path.clone(), agent);
        match (context::to_server(context, environment), context) {
            (Ok(connection), _) => host = host.with_server(connection.client),
            // Most scripts need no server. An operation that needs a server raises an error.
            (Err(_), None) => {}
            (Err(failure), Some(_)) => return Err(failure),
        }
        host.set_trace(environment.trace());
        Ok(host)
    }
}

/// The socket of the agent that a script uses; `None` with `--context`.
pub fn find_agent_socket(context: Option<&str>, environment: &Environment) -> Option<PathBuf> {
    match context {
        None => context::find_agent_socket(environment),
        Some(_) => None,
    }
}

/// Reads a script from a file, up to the allowed size.
pub fn read_bounded(environment: &Environment, file: &Path) -> Result<String, Failure> {
    let name = file.display();
    let unreadable = |why: String| {
        Failure::usage(format!("cannot read `{name}`"))
            .why(why)
            .hint("name a Python file, or `-` for standard input")
    };
    let mut text = String::new();
    let file = File::open(environment.absolute(file)).map_err(|e| unreadable(e.to_string()))?;
    let mut bounded = file.take(SOURCE_BYTES_MAX as u64 + 1);
    let read = bounded.read_to_string(&mut text);
    if read.map_err(|error| unreadable(error.to_string()))? > SOURCE_BYTES_MAX {
        let why = format!("it is larger than {} KiB", SOURCE_BYTES_MAX / 1024);
        return Err(unreadable(why).hint("split it into libraries"));
    }
    Ok(text)
}

/// Runs `work` on a new thread, outside of the async runtime, and waits for the result.
pub fn on_plain_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Prints the error on stderr as Python does. Returns the exit code of the process.
pub fn report(error: &ScriptError) -> Exit {
    if let ErrorKind::Exit(code) = error.kind {
        // The system keeps the lowest 8 bits of an exit code.
        return Exit::Script((code & 0xFF) as u8);
    }
    eprintln!("{error}");
    if let Some(hint) = &error.hint {
        eprintln!("hint: {hint}");
    }
    Exit::Failure
}

/// A host whose scripts print to stderr: stdout is for the command's data.
pub struct PrintToStderr<H>(pub H);

impl<H: Host> Host for PrintToStderr<H> {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        self.0.library(module)
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        self.0.call(operation, argument)
    }

    fn print(&mut self, _: Stream, text: &str) {
        print_to_stderr(text);
    }
}

/// Prints to stderr. A closed stderr is not an error.
pub fn print_to_stderr(text: &str) {
    let _ = io::Write::write_all(&mut io::stderr().lock(), text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_a_usage_error_with_a_hint() {
        let environment = Environment::of(Path::new("/nowhere"), &[]);
        let failure = OwnScript::read(&environment, Path::new("none.py"))
            .err()
            .expect("missing");
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.to_string().contains("`none.py`"), "{failure}");
        assert!(failure.hint.is_some());
    }

    #[test]
    fn a_file_over_the_size_limit_of_a_source_is_rejected() {
        let folder = svc_testkit::TempDir::new().expect("a folder");
        let environment = Environment::of(folder.path(), &[]);
        let read = |bytes: usize| {
            let file = folder.path().join("a.py");
            std::fs::write(&file, "#".repeat(bytes)).expect("written");
            read_bounded(&environment, &file)
        };
        assert!(read(SOURCE_BYTES_MAX).is_ok());
        let failure = read(SOURCE_BYTES_MAX + 1).expect_err("too large");
        assert_eq!(failure.why.as_deref(), Some("it is larger than 1024 KiB"));
    }

    #[test]
    fn the_exit_code_of_the_script_is_that_of_the_process() {
        let check = |code: i32, expected: u8| {
            let error = ScriptError::bare(ErrorKind::Exit(code), "SystemExit");
            assert_eq!(report(&error), Exit::Script(expected));
        };
        check(3, 3);
        check(256 + 7, 7);
        check(-1, 255);
    }
}
