//! The frames between a worker and its parent: a length of 4 bytes (little endian), then JSON.
//!
//! The parent speaks first and the worker answers; in between the worker may ask. Neither side
//! trusts a length of the other's beyond [`FRAME_BYTES_MAX`].

use std::io::{self, Read};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Raise, ScriptError, Setting, Source, Stream};

/// Bytes of one frame at most.
pub const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of the length in front of a frame.
pub const LENGTH_BYTES: usize = 4;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// Run a script and, if named, call this function of it; libraries and operations are asked
    /// for one by one.
    Run {
        setting: Setting,
        script: Source,
        function: Option<String>,
        params: String,
    },
    /// Take this snapshot (base64) for the calls that follow. Its host is the worker's own.
    /// Answered by `Done`.
    Load {
        snapshot: String,
        /// Absolute path of the script the snapshot is of.
        script: String,
        agent_socket: Option<String>,
    },
    /// Call a handler in a fresh evaluator of the snapshot.
    Invoke {
        handler: String,
        params: String,
    },
    /// Try what a sandboxed worker must not be able to. The result is a [`Probe`].
    Probe,
    /// To a `Call` or `Library`.
    Answer(Result<Option<String>, Raise>),
    LibraryAnswer(Result<Option<Source>, Raise>),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// Limits are set; work may come.
    Ready {
        /// What of the confinement this machine does not have.
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
    /// JSON text of the result; `None` without a function.
    Done(Result<Option<String>, ScriptError>),
}

/// What a worker could do when it tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Probe {
    pub open_file: bool,
    pub open_socket: bool,
    pub start_process: bool,
}

impl ToWorker {
    /// Memory the work may use, if it says so.
    pub(super) fn memory_bytes(&self) -> Option<usize> {
        match self {
            Self::Run { setting, .. } => setting.limits.memory_bytes,
            _ => None,
        }
    }
}

/// A whole frame.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; LENGTH_BYTES];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - LENGTH_BYTES;
    if length > FRAME_BYTES_MAX {
        return Err(too_long(length));
    }
    let prefix = u32::try_from(length).map_err(|_| too_long(length))?;
    frame[..LENGTH_BYTES].copy_from_slice(&prefix.to_le_bytes());
    Ok(frame)
}

/// How many bytes follow.
pub fn decode_length(prefix: [u8; LENGTH_BYTES]) -> io::Result<usize> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(too_long(length));
    }
    Ok(length)
}

pub fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(body)?)
}

/// Reads one frame; `None` when the other side is gone.
pub fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let mut prefix = [0; LENGTH_BYTES];
    match input.read_exact(&mut prefix) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut body = vec![0; decode_length(prefix)?];
    input.read_exact(&mut body)?;
    decode(&body).map(Some)
}

fn too_long(length: usize) -> io::Error {
    let text = format!("a message of {length} bytes is over the limit of {FRAME_BYTES_MAX}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_went() {
        let message = ToWorker::Invoke {
            handler: "notes.add".into(),
            params: r#"{"text":"é\n"}"#.into(),
        };
        let mut bytes = encode(&message).expect("encoded");
        bytes.extend(encode(&ToWorker::Probe).expect("encoded"));
        let mut input = bytes.as_slice();
        assert_eq!(read(&mut input).expect("read"), Some(message));
        assert_eq!(read(&mut input).expect("read"), Some(ToWorker::Probe));
        assert_eq!(read::<ToWorker>(&mut input).expect("read"), None);
    }

    #[test]
    fn lengths_and_bodies_from_outside_are_not_believed() {
        let huge = u32::MAX.to_le_bytes();
        assert!(read::<ToWorker>(&mut huge.as_slice()).is_err());
        assert!(read::<ToWorker>(&mut [9, 0, 0, 0, b'{'].as_slice()).is_err());
        assert!(read::<ToWorker>(&mut [2, 0, 0, 0, b'{', b'}'].as_slice()).is_err());
    }
}
