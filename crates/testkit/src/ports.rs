//! Ports of servers that a test may stop and start again on the same port.

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::atomic::{AtomicU32, Ordering},
};

/// Ports to try. Linux assigns none of them automatically, so the port of a stopped server stays
/// free until the server starts again.
const PORTS: std::ops::Range<u32> = 20_000..32_000;

/// Finds a free port. Test processes that run in parallel start their search at different ports.
pub fn free_port() -> u16 {
    static LOOKED: AtomicU32 = AtomicU32::new(0);
    let ports = PORTS.end - PORTS.start;
    let begin = std::process::id().wrapping_mul(97);
    (0..ports)
        .map(|_| begin.wrapping_add(LOOKED.fetch_add(1, Ordering::Relaxed)) % ports)
        .filter_map(|place| u16::try_from(PORTS.start + place).ok())
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .expect("one of thousands of ports is free")
}
