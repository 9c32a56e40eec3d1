//! Frames between script workers and their parents. A worker runs code of users, so its parent must
//! handle any bytes.

use svc_protocol::worker::{FromWorker, SANDBOX_FRAME_BYTES_MAX, ToWorker, encode, read};

/// Smaller than in the product, so that the fuzzer also makes frames over the limit.
const BYTES_MAX: usize = 64 * 1024;
const _: () = assert!(BYTES_MAX < SANDBOX_FRAME_BYTES_MAX);

pub fn frames(data: &[u8]) {
    let mut input = data;
    while let Ok(Some(message)) = read::<FromWorker>(&mut input, BYTES_MAX) {
        if let FromWorker::Done(Err(error)) = &message {
            assert!(error.to_string().ends_with(&error.message));
        }
        let frame = encode(&message, SANDBOX_FRAME_BYTES_MAX).expect("a small frame");
        let again = read(&mut frame.as_slice(), SANDBOX_FRAME_BYTES_MAX);
        assert_eq!(again.expect("readable"), Some(message));
    }
    let mut input = data;
    while let Ok(Some(message)) = read::<ToWorker>(&mut input, BYTES_MAX) {
        let _ = message.memory_bytes();
    }
}
