//! The binary form of frames.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;

/// Bytes before the payload of a frame: 4 for the length, 8 for the id, 1 for the kind.
pub const HEADER_BYTES: usize = 13;
/// Bytes before the JSON of a `Call` or `Notify`: the generation, which is the number of the
/// registration, and the number of the user.
pub const CALL_HEADER_BYTES: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// Server to agent. Payload: `u32` generation, `u32` user, then a JSON-RPC request that ends in
    /// `"id":`; the agent appends its own id and `}`. `user` identifies the calling user on all links
    /// of this space, so that the agent can serve users in turn. The number is not the user's id, and
    /// means nothing in another space.
    Call = 1,
    /// Server to agent. Payload: `u32` generation, `u32` user as in `Call`, then a whole JSON-RPC
    /// notification.
    Notify = 2,
    /// Server to agent: the caller no longer waits for this call. The agent answers
    /// `CancelledUnsent` or `CancelledSent`, unless it has already answered the call.
    Cancel = 3,
    /// Agent to server: the `result` member, byte for byte.
    Result = 4,
    /// Agent to server: the `error` member, byte for byte.
    Error = 5,
    /// Agent to server: the call was not sent to the method server, and will not be sent.
    Unavailable = 6,
    /// Agent to server: the call was sent, but the method server exited before it answered.
    Interrupted = 7,
    /// Agent to server: the call was cancelled before it was sent to the method server.
    CancelledUnsent = 8,
    /// Agent to server: the call was cancelled after it was sent to the method server. If calls in
    /// flight are limited (serial mode, `max_in_flight`), the call still counts as in flight until
    /// its `Result`, `Error` or `Interrupted` follows.
    CancelledSent = 9,
    /// Both directions: a [`crate::Control`] message in JSON.
    Control = 10,
    /// Both directions, id 0: a heartbeat. Answered by `Pong`.
    Ping = 11,
    Pong = 12,
    /// Agent to server: the progress of the call. Payload: a JSON object of at most
    /// [`crate::PROGRESS_BYTES_MAX`].
    Progress = 13,
    /// Agent to server, before the answer of a call: how long the call waited and how long the
    /// method server worked, as two `u32` in microseconds.
    Times = 14,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Call,
            2 => Self::Notify,
            3 => Self::Cancel,
            4 => Self::Result,
            5 => Self::Error,
            6 => Self::Unavailable,
            7 => Self::Interrupted,
            8 => Self::CancelledUnsent,
            9 => Self::CancelledSent,
            10 => Self::Control,
            11 => Self::Ping,
            12 => Self::Pong,
            13 => Self::Progress,
            14 => Self::Times,
            _ => return None,
        })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub id: u64,
    pub kind: FrameKind,
    pub payload: Bytes,
}

impl Frame {
    pub fn new(id: u64, kind: FrameKind, payload: impl Into<Bytes>) -> Self {
        Self {
            id,
            kind,
            payload: payload.into(),
        }
    }

    pub fn empty(id: u64, kind: FrameKind) -> Self {
        Self::new(id, kind, Bytes::new())
    }

    /// Bytes on the wire.
    pub fn len(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    #[error("a frame is truncated: {missing} bytes are missing")]
    CutOff { missing: usize },
    #[error("a frame of {0} bytes is shorter than its header")]
    TooShort(usize),
    #[error("frame kind {0} does not exist")]
    UnknownKind(u8),
}

pub fn put_frame(out: &mut BytesMut, frame: &Frame) {
    out.reserve(frame.len());
    let rest = HEADER_BYTES - 4 + frame.payload.len();
    out.put_u32_le(u32::try_from(rest).expect("a frame is bounded by the message size"));
    out.put_u64_le(frame.id);
    out.put_u8(frame.kind as u8);
    out.put_slice(&frame.payload);
}

/// Iterates over the frames of one message. An incomplete frame at the end is an error.
///
/// A payload is a part of the message, and keeps the whole message in memory. So small payloads of a
/// large message are copied. An agent of ours does not send such messages.
pub struct FrameReader {
    rest: Bytes,
    message_bytes: usize,
}

/// No message with several frames is larger, unless the other end is hostile.
const SHARED_MESSAGE_BYTES_MAX: usize = 2 * crate::MESSAGE_BYTES_TARGET;

impl FrameReader {
    pub fn new(message: Bytes) -> Self {
        Self {
            message_bytes: message.len(),
            rest: message,
        }
    }

    fn detach(&self, payload: &mut Bytes) {
        if self.message_bytes > SHARED_MESSAGE_BYTES_MAX && payload.len() < self.message_bytes / 2 {
            *payload = Bytes::copy_from_slice(payload);
        }
    }
}

impl Iterator for FrameReader {
    type Item = Result<Frame, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let mut result = take_frame(&mut self.rest);
        match &mut result {
            Ok(frame) => self.detach(&mut frame.payload),
            Err(_) => self.rest.clear(),
        }
        Some(result)
    }
}

fn take_frame(bytes: &mut Bytes) -> Result<Frame, FrameError> {
    if bytes.len() < HEADER_BYTES {
        return Err(FrameError::CutOff {
            missing: HEADER_BYTES - bytes.len(),
        });
    }
    let rest = bytes.get_u32_le() as usize;
    if rest < HEADER_BYTES - 4 {
        return Err(FrameError::TooShort(rest));
    }
    if bytes.len() < rest {
        return Err(FrameError::CutOff {
            missing: rest - bytes.len(),
        });
    }
    let mut frame = bytes.split_to(rest);
    let id = frame.get_u64_le();
    let kind = frame.get_u8();
    let kind = FrameKind::from_byte(kind).ok_or(FrameError::UnknownKind(kind))?;
    Ok(Frame {
        id,
        kind,
        payload: frame,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &[u8]) -> Vec<Result<Frame, FrameError>> {
        FrameReader::new(Bytes::copy_from_slice(message)).collect()
    }

    #[test]
    fn the_frames_of_a_message_are_read_as_they_were_written() {
        let frames = [
            Frame::new(1, FrameKind::Call, "abc"),
            Frame::empty(u64::MAX, FrameKind::Ping),
            Frame::new(7, FrameKind::Control, vec![b'x'; 100_000]),
        ];
        let mut message = BytesMut::new();
        frames
            .iter()
            .for_each(|frame| put_frame(&mut message, frame));
        let back: Vec<_> = read(&message)
            .into_iter()
            .map(|frame| frame.expect("whole"))
            .collect();
        assert_eq!(back, frames);
    }

    #[test]
    fn a_small_payload_does_not_keep_a_large_message() {
        let frames = [
            Frame::new(
                1,
                FrameKind::Result,
                vec![b'1'; 3 * SHARED_MESSAGE_BYTES_MAX],
            ),
            Frame::new(2, FrameKind::Result, "2"),
        ];
        let mut message = BytesMut::new();
        frames
            .iter()
            .for_each(|frame| put_frame(&mut message, frame));
        let message = message.freeze();
        let within = message.as_ptr_range();
        let payloads = FrameReader::new(message.clone()).map(|frame| frame.expect("whole").payload);
        let shared = payloads.map(|payload| within.contains(&payload.as_ptr()));
        assert_eq!(shared.collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn invalid_bytes_are_errors_and_cause_no_panic() {
        let mut message = BytesMut::new();
        put_frame(&mut message, &Frame::new(1, FrameKind::Call, "abcdef"));
        for cut in 1..message.len() {
            assert!(
                matches!(read(&message[..cut])[..], [Err(FrameError::CutOff { .. })]),
                "{cut}"
            );
        }
        let mut huge = message.clone();
        huge[0..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(read(&huge)[..], [Err(FrameError::CutOff { .. })]));
        let mut short = message.clone();
        short[0..4].copy_from_slice(&3u32.to_le_bytes());
        assert_eq!(read(&short), [Err(FrameError::TooShort(3))]);
        message[12] = 99;
        assert_eq!(read(&message), [Err(FrameError::UnknownKind(99))]);
    }
}
