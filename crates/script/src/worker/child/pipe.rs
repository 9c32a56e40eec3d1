//! Frames over stdin and stdout of a worker.

use std::{
    fs::File,
    io::{self, BufReader, Write},
    os::fd::AsFd,
};

use crate::{
    ErrorKind, Raise, ScriptError, Stream,
    worker::{
        output::Output,
        protocol::{self, FromWorker, ToWorker},
    },
};

const BUFFER_BYTES: usize = 64 * 1024;

pub(super) struct Pipe {
    input: BufReader<File>,
    /// Not `std::io::stdout`, which would flush at line ends.
    output: File,
    /// The maximum size of a frame.
    bytes_max: usize,
    /// What the running script prints.
    printed: Output,
}

impl Pipe {
    pub(super) fn open(bytes_max: usize) -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self {
            input: BufReader::with_capacity(BUFFER_BYTES, input.into()),
            output: output.into(),
            bytes_max,
            printed: Output::new(),
        })
    }

    pub(super) fn receive(&mut self) -> io::Result<Option<ToWorker>> {
        protocol::read(&mut self.input, self.bytes_max)
    }

    pub(super) fn send(&mut self, message: &FromWorker) -> io::Result<()> {
        self.output
            .write_all(&protocol::encode(message, self.bytes_max)?)
    }

    /// Ends a piece of work: sends the remaining output of the script, then the result.
    pub(super) fn send_done(
        &mut self,
        done: Result<Option<String>, ScriptError>,
    ) -> io::Result<()> {
        self.flush();
        self.printed = Output::new();
        let encode = |done| protocol::encode(&FromWorker::Done(done), self.bytes_max);
        let frame = encode(done).or_else(|error| {
            let text = format!("ValueError: the result is too large: {error}");
            encode(Err(ScriptError::bare(ErrorKind::Exception, text)))
        })?;
        self.output.write_all(&frame)
    }

    pub(super) fn print(&mut self, stream: Stream, text: &str) {
        let messages = self.printed.print(stream, text);
        self.send_or_end(messages.into_iter().flatten());
    }

    fn flush(&mut self) {
        let message = self.printed.take();
        self.send_or_end(message);
    }

    /// Sends messages in the middle of a script. Ends the process if a message cannot be sent.
    pub(super) fn send_or_end(&mut self, messages: impl IntoIterator<Item = FromWorker>) {
        for message in messages {
            or_end(self.send(&message));
        }
    }

    /// Sends a request to the parent and waits for the answer.
    pub(super) fn ask(&mut self, question: &FromWorker) -> Result<ToWorker, Raise> {
        self.flush();
        let frame = protocol::encode(question, self.bytes_max)
            .map_err(|error| Raise::runtime(format!("the argument is too large: {error}")))?;
        or_end(self.output.write_all(&frame));
        match or_end(self.receive()) {
            Some(ToWorker::Answer(Err(raise)) | ToWorker::LibraryAnswer(Err(raise))) => Err(raise),
            Some(answer) => Ok(answer),
            None => std::process::exit(0),
        }
    }
}

fn or_end<T>(done: io::Result<T>) -> T {
    done.unwrap_or_else(|_| std::process::exit(1))
}
