//! The payload of a `Times` frame: how long a call waited and ran at the agent.

use bytes::Bytes;
use svc_core::journal::CallTimes;

use crate::frame::{Frame, FrameKind};

/// The frame that reports the times of a call.
pub fn times_frame(id: u64, times: CallTimes) -> Frame {
    let mut payload = [0; 8];
    payload[..4].copy_from_slice(&times.queue_us.to_le_bytes());
    payload[4..].copy_from_slice(&times.method_us.to_le_bytes());
    Frame::new(id, FrameKind::Times, Bytes::copy_from_slice(&payload))
}

/// Reads the payload of a `Times` frame; `None` if it does not have 8 bytes.
pub fn read_times(payload: &[u8]) -> Option<CallTimes> {
    let (queue, method) = payload.split_first_chunk()?;
    Some(CallTimes {
        queue_us: u32::from_le_bytes(*queue),
        method_us: u32::from_le_bytes(method.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_were_written() {
        let times = CallTimes {
            queue_us: 7,
            method_us: u32::MAX,
        };
        let frame = times_frame(3, times);
        assert_eq!((frame.id, frame.kind), (3, FrameKind::Times));
        assert_eq!(read_times(&frame.payload), Some(times));
        for bad in [&[][..], &[0; 3], &[0; 7], &[0; 9]] {
            assert_eq!(read_times(bad), None);
        }
    }
}
