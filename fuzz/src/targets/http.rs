//! Answers of HTTP servers, and hosts.

use svc_core::host::{Host, is_loopback_authority};
use svc_protocol::http_answer::{AnswerCheck, RequestKind};

use super::text;

/// Answers are accepted or refused alike, whether they arrive in one read or byte by byte.
pub fn answer(data: &[u8]) {
    for request in [RequestKind::Usual, RequestKind::Head, RequestKind::Connect] {
        let whole = AnswerCheck::new(request).check(data);
        let mut check = AnswerCheck::new(request);
        let single = data.chunks(1).try_for_each(|byte| check.check(byte));
        assert_eq!(whole.is_ok(), single.is_ok(), "{whole:?} {single:?}");
        if let Err(refused) = whole {
            let valid = AnswerCheck::new(request).check(&data[..refused.valid]);
            assert_eq!(valid, Ok(()), "the answers before the refused one");
        }
    }
}

/// A host without a port is also an authority, and an address keeps its meaning when it is written
/// in its usual form.
pub fn host(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let _ = Host::parse_authority(text);
    let Some(host) = Host::parse(text) else {
        return;
    };
    match host {
        Host::Name(name) => assert!(name.parse::<std::net::IpAddr>().is_err()),
        Host::Address(address) => {
            let shown = address.to_string();
            let again = Host::parse(&shown).expect("an address");
            assert!(matches!(again, Host::Address(same) if same == address));
            assert_eq!(host.is_loopback(), again.is_loopback());
        }
    }
    if !text.contains(':') || text.starts_with('[') {
        assert_eq!(is_loopback_authority(text), host.is_loopback());
    }
}
