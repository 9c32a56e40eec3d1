//! Both ends of the link: one WebSocket per agent that carries our own binary frames, many per
//! message, multiplexed by id.
//!
//! A frame is `u32 length of the rest | u64 id | u8 kind | payload`, little-endian. Calls and
//! their answers have a frame kind each, because they are the hot path; everything else is a
//! [`Control`] message in JSON. The end that sends the first frame of an exchange chooses its id.
//!
//! `handshake` opens a link at either end, `outbox` queues frames, `writer` sends them and pings,
//! `socket` reads and writes WebSocket messages, `closing` says why a link ends. This crate does
//! not know what a call or a registration does.

mod closing;
mod control;
mod frame;
mod handshake;
mod heartbeat;
mod outbox;
mod refusal;
mod shared_buffer;
mod socket;
mod upgrade;
mod writer;

pub use closing::Closing;
pub use control::{
    Accepted, Control, Goodbye, Hello, Register, SpaceIdentity, Welcome, control_frame,
};
pub use frame::{
    CALL_HEADER_BYTES, Frame, FrameError, FrameKind, FrameReader, HEADER_BYTES, USER_BYTES,
    put_frame,
};
pub use handshake::{OpenError, Opened, connect, open, read_hello, refuse};
pub use outbox::{NotQueued, Outbox, OutboxLimits, Outgoing, outbox};
pub use refusal::{Refusal, RefusalCode};
pub use shared_buffer::SharedBuffer;
pub use socket::{FrameSink, FrameSource, LinkError, accept, split};
pub use upgrade::{UpgradeError, check_upgrade};
pub use writer::{WriteEnd, farewell, write};

/// An error of the WebSocket library.
pub use tokio_tungstenite::tungstenite::Error as WebSocketError;

use std::time::Duration;

/// Path of the WebSocket on the server.
pub const PATH: &str = "/agent/link";
/// WebSocket subprotocol: names the framing, so that a change of it is refused at once.
pub const SUBPROTOCOL: &str = "svc-link.1";
/// Version of the control messages, agreed on in hello and welcome.
pub const VERSION: u32 = 1;
/// Feature of a server that takes `Progress` frames. An unknown kind of frame ends a link, so
/// agents send none to a server that does not name the feature in its welcome.
pub const FEATURE_PROGRESS: &str = "progress";
/// Feature of an agent that takes `UserCall` and `UserNotify` frames, and lets users take turns. A
/// server sends `Call` and `Notify` to an agent that does not name it in its hello.
pub const FEATURE_USERS: &str = "users";

/// Bytes one WebSocket message may have: a line of a method server (16 MiB) and its headers.
pub const MESSAGE_BYTES_MAX: usize = 17 * 1024 * 1024;
/// Bytes gathered into one WebSocket message before it is sent; a larger frame goes alone.
pub const MESSAGE_BYTES_TARGET: usize = 64 * 1024;
/// Bytes of one report on the progress of a call.
pub const PROGRESS_BYTES_MAX: usize = 4 * 1024;

/// Frames gathered into one write.
pub const FRAMES_PER_WRITE: usize = 256;
/// Bytes gathered into one write; a larger frame goes alone. The frames of one write delay every
/// later frame.
pub const BYTES_PER_WRITE: usize = 256 * 1024;
/// Duration of one write after which the other end counts as gone.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// Time for the last frames and the goodbye of a link that ends.
pub const FAREWELL_MAX: Duration = Duration::from_secs(2);
/// Heartbeats without a frame after which a link is dead.
pub const MISSED_HEARTBEATS_MAX: u32 = 3;
