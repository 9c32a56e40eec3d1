//! The link: one WebSocket per agent that carries our own binary frames, many per message,
//! multiplexed by id.
//!
//! A frame is `u32 length of the rest | u64 id | u8 kind | payload`, little-endian. Calls and
//! their answers have a frame kind each, because they are the hot path; everything else is a
//! [`Control`] message in JSON. Ids belong to whoever sends the first frame of an exchange.

mod control;
mod frame;

pub use control::{
    Accepted, Control, Goodbye, Hello, LogLine, LogSource, MethodServerState, Refusal, Register,
    SpaceIdentity, Welcome,
};
pub use frame::{
    CALL_HEADER_BYTES, Frame, FrameError, FrameKind, FrameReader, HEADER_BYTES, USER_BYTES,
    put_frame,
};

/// Path of the WebSocket on the server.
pub const PATH: &str = "/agent/link";
/// WebSocket subprotocol: names the framing, so that a change of it is refused at once.
pub const SUBPROTOCOL: &str = "svc-link.1";
/// Version of the control messages, agreed on in hello and welcome.
pub const VERSION: u32 = 1;
/// Feature of a server that takes `Progress` frames. An unknown kind of frame ends a link, so
/// agents send none to a server that does not say so.
pub const FEATURE_PROGRESS: &str = "progress";

/// Feature of an agent that takes `UserCall` and `UserNotify` frames, and lets users take turns. A
/// server sends `Call` and `Notify` to an agent that does not name it in its hello.
pub const FEATURE_USERS: &str = "users";

/// Bytes one WebSocket message may have: a line of a method server (16 MiB) and room for headers.
pub const MESSAGE_BYTES_MAX: usize = 17 * 1024 * 1024;
/// Bytes of a line a method server may write.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of one report on how far a call is.
pub const PROGRESS_BYTES_MAX: usize = 4 * 1024;
/// Bytes gathered into one WebSocket message before it is sent; a larger frame goes alone.
pub const MESSAGE_BYTES_TARGET: usize = 64 * 1024;
