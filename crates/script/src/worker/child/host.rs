//! The hosts of scripts in a worker: one forwards every operation to the parent, the other only
//! output and progress reports.

use svc_protocol::jsonrpc::Progress;

use super::pipe::Pipe;
use crate::{
    Exception, Host, Raise, Source, SpaceHost, Stream,
    worker::protocol::{FromWorker, ToWorker},
};

/// The host of sandboxed scripts: forwards every operation to the parent.
pub(super) struct PipeHost<'a>(pub(super) &'a mut Pipe);

impl Host for PipeHost<'_> {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        let question = FromWorker::Library {
            module: module.to_owned(),
        };
        match self.0.ask(&question)? {
            ToWorker::LibraryAnswer(Ok(source)) => Ok(source),
            _ => Err(no_answer()),
        }
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        let question = FromWorker::Call {
            operation: operation.to_owned(),
            argument: argument.to_owned(),
        };
        match self.0.ask(&question)? {
            ToWorker::Answer(Ok(Some(answer))) => Ok(answer),
            _ => Err(no_answer()),
        }
    }

    fn print(&mut self, stream: Stream, text: &str) {
        self.0.print(stream, text);
    }
}

/// The host of a space, with output and progress reports sent to the parent.
pub(super) struct PrintingHost<'a> {
    pub(super) host: &'a mut SpaceHost,
    pub(super) pipe: &'a mut Pipe,
}

impl PrintingHost<'_> {
    fn progress(&mut self, argument: &str) -> Result<String, Raise> {
        let progress = Progress::parse(argument.as_bytes()).ok_or_else(|| {
            Raise::new(
                Exception::ValueError,
                "the argument of `progress` is invalid",
            )
        })?;
        self.pipe.send_or_end([FromWorker::Progress(progress)]);
        Ok("null".to_owned())
    }
}

impl Host for PrintingHost<'_> {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        self.host.library(module)
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        if operation == "progress" {
            return self.progress(argument);
        }
        let answer = self.host.call(operation, argument);
        // The output of the script's processes.
        for (stream, text) in self.host.take_printed() {
            self.print(stream, &text);
        }
        answer
    }

    fn print(&mut self, stream: Stream, text: &str) {
        self.pipe.print(stream, text);
    }
}

fn no_answer() -> Raise {
    Raise::runtime("the host did not answer")
}
