//! Collects the output of a script and passes it to the host in lines.

use std::borrow::Cow;

use monty_types::{MontyException, PrintWriter, PrintWriterCallback};

use super::watch::Watch;
use crate::{Host, Stream};

/// The maximum size of an unfinished line that is held back.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// The unfinished line of each stream.
pub struct Output {
    stdout: String,
    stderr: String,
    /// Checks the limits whenever the engine polls the output, which it does regularly.
    pub watch: Watch,
}

struct Printer<'a> {
    output: &'a mut Output,
    host: &'a mut dyn Host,
}

impl Output {
    pub fn new(watch: Watch) -> Self {
        Self {
            stdout: String::new(),
            stderr: String::new(),
            watch,
        }
    }

    pub fn with<T>(&mut self, host: &mut dyn Host, run: impl FnOnce(PrintWriter<'_>) -> T) -> T {
        let mut printer = Printer { output: self, host };
        run(PrintWriter::Callback(&mut printer))
    }

    pub fn flush(&mut self, host: &mut dyn Host) {
        for (stream, text) in [
            (Stream::Stdout, &mut self.stdout),
            (Stream::Stderr, &mut self.stderr),
        ] {
            if !text.is_empty() {
                host.print(stream, text);
                text.clear();
            }
        }
    }
}

impl Printer<'_> {
    /// Holds text back until it ends with a newline or is too long, and then passes it on. So a
    /// process that is killed loses little output: in most cases only an unfinished line.
    fn add(&mut self, stream: Stream, text: &str) {
        let line = match stream {
            Stream::Stdout => &mut self.output.stdout,
            Stream::Stderr => &mut self.output.stderr,
        };
        line.push_str(text);
        if line.ends_with('\n') || line.len() > LINE_BYTES_MAX {
            self.host.print(stream, line);
            line.clear();
        }
    }
}

impl PrintWriterCallback for Printer<'_> {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.add(Stream::Stdout, &output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.add(Stream::Stdout, end.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn stderr_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.add(Stream::Stderr, &output);
        Ok(())
    }

    fn stderr_push(&mut self, end: char) -> Result<(), MontyException> {
        self.add(Stream::Stderr, end.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn poll_flush(&mut self) -> Result<(), MontyException> {
        self.output.watch.check()
    }
}
