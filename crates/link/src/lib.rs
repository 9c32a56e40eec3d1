//! Both ends of a link: one WebSocket between an agent and a server. It carries binary frames, many
//! per message, multiplexed by id.
//!
//! A frame is `u32 length of the rest | u64 id | u8 kind | payload`, little-endian. Calls and their
//! answers are the most frequent frames, so they have frame kinds of their own; almost everything
//! else is a [`Control`] message in JSON. The end that sends the first frame of an exchange chooses
//! its id.
//!
//! `handshake` opens a link at either end, `outbox` queues frames, `writer` sends them and pings,
//! `socket` reads and writes WebSocket messages, `closing` holds the reason why a link ends. This
//! crate must never interpret a call or a registration.

mod closing;
mod control;
mod frame;
mod handshake;
mod heartbeat;
mod outbox;
mod refusal;
mod shared_buffer;
mod socket;
mod times;
mod upgrade;
mod writer;

pub use closing::Closing;
pub use control::{
    AcceptedRegistration, AnnouncedServer, AnnouncedServers, Control, Goodbye, Hello, Register,
    SideLink, SpaceIdentity, Ticket, Welcome, control_frame,
};
pub use frame::{
    CALL_HEADER_BYTES, Frame, FrameError, FrameKind, FrameReader, HEADER_BYTES, put_frame,
};
pub use handshake::{OpenError, OpenedLink, connect, open, read_hello, refuse};
pub use outbox::{Outbox, OutboxError, OutboxLimits, OutboxReader, outbox};
pub use refusal::{Refusal, RefusalCode};
pub use shared_buffer::SharedBuffer;
pub use socket::{FrameSink, FrameSource, LinkError, accept, split};
pub use times::{read_times, times_frame};
pub use upgrade::{UpgradeError, check_upgrade};
pub use writer::{WriteEnd, farewell, write};

/// An error of the WebSocket library.
pub use tokio_tungstenite::tungstenite::Error as WebSocketError;

use std::time::Duration;

/// Path of the WebSocket on the server.
pub const PATH: &str = "/agent/link";
/// WebSocket subprotocol: identifies the frame format, so that an incompatible end is rejected at
/// once.
pub const SUBPROTOCOL: &str = "svc-link.1";
/// Version of the control messages, agreed on in hello and welcome.
pub const VERSION: u32 = 1;
/// The maximum number of announced servers in a message.
pub const ANNOUNCED_MAX: usize = 64;

/// Largest WebSocket message: a line of a method server (16 MiB) and its headers.
pub const MESSAGE_BYTES_MAX: usize = 17 * 1024 * 1024;
/// Size up to which frames are gathered into one WebSocket message. A larger frame has a message of
/// its own.
pub const MESSAGE_BYTES_TARGET: usize = 64 * 1024;
/// Largest payload of a `Progress` frame.
pub const PROGRESS_BYTES_MAX: usize = 4 * 1024;

/// The maximum number of frames in one write.
pub const FRAMES_PER_WRITE: usize = 256;
/// Bytes after which no more frames are added to a write. Kept low, because later frames wait until
/// the write ends.
pub const BYTES_PER_WRITE: usize = 256 * 1024;
/// Longest duration of one write. After it the link counts as dead.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// Longest time to send the last frames and the goodbye of a link.
pub const FAREWELL_MAX: Duration = Duration::from_secs(2);
/// A link counts as dead if no frame has arrived for this number of heartbeats in a row.
pub const MISSED_HEARTBEATS_MAX: u32 = 3;
