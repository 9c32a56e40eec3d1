//! Messages on the link between an agent and a server, from either end.

use bytes::{Bytes, BytesMut};
use svc_link::{Control, FrameKind, FrameReader, control_frame, put_frame};
use svc_protocol::jsonrpc::Progress;

pub fn frames(data: &[u8]) {
    let frames: Result<Vec<_>, _> = FrameReader::new(Bytes::copy_from_slice(data)).collect();
    let Ok(frames) = frames else { return };
    let mut written = BytesMut::new();
    for frame in &frames {
        put_frame(&mut written, frame);
        match frame.kind {
            FrameKind::Control => control(frame.id, &frame.payload),
            FrameKind::Progress => drop(Progress::parse(&frame.payload)),
            _ => {}
        }
    }
    assert_eq!(written, data, "frames are not written as they were read");
}

/// A control message that was read must be the same after writing and reading it again.
fn control(id: u64, payload: &[u8]) {
    if let Ok(message) = serde_json::from_slice::<Control>(payload) {
        let again = serde_json::from_slice(&control_frame(id, &message).payload);
        assert_eq!(Some(message), again.ok());
    }
}
