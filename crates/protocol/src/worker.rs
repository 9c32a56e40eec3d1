//! The frames between a script worker and its parent: a length of 4 bytes (little endian), then
//! JSON.
//!
//! The parent sends work and the worker answers with `Done`. The *host* performs operations for a
//! script. For `Run`, the host is the parent: before `Done`, the worker may send it requests. For a
//! loaded snapshot, the host is in the worker. Each side rejects a length over the limit.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::jsonrpc::Progress;

mod error;
mod setting;

pub use error::{ErrorKind, Frame, RpcFault, ScriptError};
pub use setting::{Abilities, Flavour, Limits, Setting};

/// The maximum size of a frame of a worker for the user's own handlers. A snapshot is one frame.
pub const SPACE_FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The maximum size of a frame of a sandboxed worker. It is smaller, because the server holds a
/// whole frame of each worker in memory.
pub const SANDBOX_FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of the length in front of a frame.
pub const LENGTH_BYTES: usize = 4;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// Run a script. Then call its function, if one is named. The worker requests libraries and
    /// operations one by one.
    Run {
        setting: Setting,
        script: Source,
        function: Option<String>,
        params: String,
    },
    /// Check that this script can be compiled. The script does not run.
    Check {
        script: Source,
    },
    /// Use this snapshot (base64) for the following `Invoke`s. The worker has its own host.
    /// Answered by `Done`.
    Load {
        snapshot: String,
        /// Absolute path of the snapshot's script.
        script: String,
        agent_socket: Option<String>,
    },
    /// Call a handler in a fresh evaluator of the snapshot.
    Invoke {
        handler: String,
        params: String,
        /// The trace context of the request, as the text of [`svc_core::TraceContext`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<String>,
    },
    /// Try operations that must fail in a sandboxed worker. The result is a [`Probe`].
    Probe,
    /// The answer to a `Call`. Also the error for a `Library` whose answer is too large to send.
    Answer(Result<Option<String>, Raise>),
    LibraryAnswer(Result<Option<Source>, Raise>),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// The limits are set, and the worker accepts work.
    Ready {
        /// The part of the confinement that this machine does not support.
        warning: Option<String>,
    },
    Call {
        operation: String,
        argument: String,
    },
    Library {
        module: String,
    },
    Print {
        stream: Stream,
        text: String,
    },
    /// A progress report of an `Invoke`. Not answered.
    Progress(Progress),
    /// JSON text of the result; `None` if no function was called.
    Done(Result<Option<String>, ScriptError>),
}

/// Python text, and its file name in tracebacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Source {
    pub file: String,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// An exception that the host raises in the script. The script may catch it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Raise {
    pub exception: Exception,
    pub message: String,
}

impl Raise {
    pub fn new(exception: Exception, message: impl Into<String>) -> Self {
        Self {
            exception,
            message: message.into(),
        }
    }

    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(Exception::RuntimeError, message)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Exception {
    ModuleNotFoundError,
    OSError,
    PermissionError,
    RuntimeError,
    TimeoutError,
    TypeError,
    ValueError,
}

/// Which operations succeeded in a worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Probe {
    pub open_file: bool,
    pub open_socket: bool,
    pub start_process: bool,
}

impl ToWorker {
    /// The memory limit of the work, if it has one.
    pub fn memory_bytes(&self) -> Option<usize> {
        match self {
            Self::Run { setting, .. } => setting.limits.memory_bytes,
            _ => None,
        }
    }
}

/// Encodes a message as one frame.
pub fn encode(message: &impl Serialize, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut body = Body {
        frame: vec![0; LENGTH_BYTES],
        bytes_max,
    };
    serde_json::to_writer(&mut body, message)?;
    let mut frame = body.frame;
    let length = frame.len() - LENGTH_BYTES;
    let prefix = u32::try_from(length).map_err(|_| too_long(bytes_max))?;
    frame[..LENGTH_BYTES].copy_from_slice(&prefix.to_le_bytes());
    Ok(frame)
}

/// A frame that is being written. Writing fails at the limit, so a message that is too long is not
/// serialised completely.
struct Body {
    frame: Vec<u8>,
    bytes_max: usize,
}

impl Write for Body {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.frame.len() - LENGTH_BYTES + bytes.len() > self.bytes_max {
            return Err(too_long(self.bytes_max));
        }
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The number of bytes that follow the prefix.
pub fn decode_length(prefix: [u8; LENGTH_BYTES], bytes_max: usize) -> io::Result<usize> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length > bytes_max {
        return Err(too_long(bytes_max));
    }
    Ok(length)
}

pub fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    // `InvalidData`: serde would report an incomplete body as the end of the input.
    serde_json::from_slice(body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads one frame. `None` if the other side has closed the pipe.
pub fn read<T: DeserializeOwned>(input: &mut impl Read, bytes_max: usize) -> io::Result<Option<T>> {
    let mut prefix = [0; LENGTH_BYTES];
    match input.read_exact(&mut prefix) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut body = vec![0; decode_length(prefix, bytes_max)?];
    input.read_exact(&mut body)?;
    decode(&body).map(Some)
}

fn too_long(bytes_max: usize) -> io::Error {
    let mebibytes = bytes_max / (1024 * 1024);
    let text = format!("more than the {mebibytes} MiB that may be passed on at once");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_decoded_as_it_was_encoded() {
        let message = ToWorker::Invoke {
            handler: "notes.add".into(),
            params: r#"{"text":"é\n"}"#.into(),
            trace: None,
        };
        let mut bytes = encode(&message, SANDBOX_FRAME_BYTES_MAX).expect("encoded");
        bytes.extend(encode(&ToWorker::Probe, SANDBOX_FRAME_BYTES_MAX).expect("encoded"));
        let mut input = bytes.as_slice();
        assert_eq!(
            read(&mut input, SANDBOX_FRAME_BYTES_MAX).expect("read"),
            Some(message)
        );
        assert_eq!(
            read(&mut input, SANDBOX_FRAME_BYTES_MAX).expect("read"),
            Some(ToWorker::Probe)
        );
        assert_eq!(
            read::<ToWorker>(&mut input, SANDBOX_FRAME_BYTES_MAX).expect("read"),
            None
        );
    }

    #[test]
    fn invalid_lengths_and_bodies_are_errors() {
        let refused = |bytes: &[u8]| {
            let read = read::<ToWorker>(&mut { bytes }, SANDBOX_FRAME_BYTES_MAX);
            read.expect_err("refused").kind()
        };
        let over = u32::try_from(SANDBOX_FRAME_BYTES_MAX + 1).expect("it fits");
        assert_eq!(refused(&over.to_le_bytes()), io::ErrorKind::InvalidData);
        assert_eq!(refused(&u32::MAX.to_le_bytes()), io::ErrorKind::InvalidData);
        assert_eq!(refused(&[9, 0, 0, 0, b'{']), io::ErrorKind::UnexpectedEof);
        // A complete frame with incomplete JSON is invalid data, not the end of the input.
        assert_eq!(refused(&[1, 0, 0, 0, b'{']), io::ErrorKind::InvalidData);
        assert_eq!(
            refused(&[2, 0, 0, 0, b'{', b'}']),
            io::ErrorKind::InvalidData
        );
    }

    #[test]
    fn a_message_over_the_limit_is_an_error() {
        let message = FromWorker::Done(Ok(Some("x".repeat(2_000_000))));
        let error = encode(&message, 1024 * 1024).expect_err("too long");
        let text = "more than the 1 MiB that may be passed on at once";
        assert_eq!(error.to_string(), text);
        assert!(encode(&message, SANDBOX_FRAME_BYTES_MAX).is_ok());
    }
}
