//! Params and answers of calls that wait to be written to the journal. A call only copies its
//! texts. The writer of the journal checks and redacts them later.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use svc_core::{
    Id, UserId,
    journal::{CallPayload, JsonPointer, Payload, PayloadOmission, redact, redact_error},
    json_text::JsonText,
};

/// The maximum number of bytes of payloads, of all owners together, that are accepted in one
/// period.
const ACCEPTED_MAX: usize = 16 * 1024 * 1024;
const PERIOD: Duration = Duration::from_secs(1);
/// Memory of a waiting payload besides its texts.
const ENTRY_BYTES: usize = 128;

/// The params and the answer of a call whose method has `journal = "payloads"`.
#[derive(Clone, Copy)]
pub struct CallPayloads<'a> {
    pub params: Option<&'a str>,
    /// The result, or the error of the method.
    pub answer: Option<&'a [u8]>,
    pub is_error: bool,
    /// The values that are not recorded.
    pub redact: &'a Arc<[JsonPointer]>,
}

/// Not `Debug`: the texts are not redacted yet.
pub(super) struct WaitingPayload {
    params: WaitingText,
    answer: WaitingText,
    is_error: bool,
    redact: Arc<[JsonPointer]>,
}

enum WaitingText {
    Absent,
    Omitted(PayloadOmission),
    Text(Box<[u8]>),
}

impl WaitingPayload {
    /// Copies payloads of at most `bytes_max` bytes each.
    pub(super) fn copy(payloads: CallPayloads<'_>, bytes_max: usize) -> Self {
        let copy = |text: Option<&[u8]>| match text {
            None => WaitingText::Absent,
            Some(text) if text.len() > bytes_max => WaitingText::Omitted(PayloadOmission::TooLarge),
            Some(text) => WaitingText::Text(text.into()),
        };
        Self {
            params: copy(payloads.params.map(str::as_bytes)),
            answer: copy(payloads.answer),
            is_error: payloads.is_error,
            redact: Arc::clone(payloads.redact),
        }
    }

    /// The bytes that count against [`ACCEPTED_MAX`]: 0 if there is no text.
    pub(super) fn bytes(&self) -> usize {
        match self.params.len() + self.answer.len() {
            0 => 0,
            bytes => bytes + ENTRY_BYTES,
        }
    }

    /// Replaces the texts by the note that they were dropped.
    pub(super) fn omit(&mut self) {
        for text in [&mut self.params, &mut self.answer] {
            if matches!(text, WaitingText::Text(_)) {
                *text = WaitingText::Omitted(PayloadOmission::Dropped);
            }
        }
    }

    /// Checks and redacts the texts. A text that cannot be redacted is omitted.
    pub(super) fn finish(self, id: Id, bytes_max: usize) -> CallPayload {
        let redact_answer = if self.is_error { redact_error } else { redact };
        CallPayload {
            id,
            params: self.params.finish(&self.redact, redact, bytes_max),
            answer: self.answer.finish(&self.redact, redact_answer, bytes_max),
        }
    }
}

impl WaitingText {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Absent | Self::Omitted(_) => 0,
        }
    }

    fn finish(
        self,
        pointers: &[JsonPointer],
        redact: fn(JsonText, &[JsonPointer]) -> Option<JsonText>,
        bytes_max: usize,
    ) -> Payload {
        let text = match self {
            Self::Absent => return Payload::Absent,
            Self::Omitted(why) => return Payload::Omitted(why),
            Self::Text(text) => text,
        };
        let text = std::str::from_utf8(&text).ok();
        let text = text.and_then(|text| JsonText::parse(text).ok());
        match text.and_then(|text| redact(text, pointers)) {
            None => Payload::Omitted(PayloadOmission::Unreadable),
            // `[redacted]` may be longer than the value that it replaces.
            Some(text) if text.as_str().len() > bytes_max => {
                Payload::Omitted(PayloadOmission::TooLarge)
            }
            Some(text) => Payload::Text(text.as_str().into()),
        }
    }
}

/// Counts the bytes of payloads that were accepted in the current period. [`ACCEPTED_MAX`] limits
/// the memory of waiting payloads and the bytes that are written to the journal.
#[derive(Default)]
pub(super) struct AcceptedBytes {
    since: Option<Instant>,
    total: usize,
    by_owner: HashMap<UserId, usize>,
    /// By owner and caller.
    by_caller: HashMap<(UserId, UserId), usize>,
}

impl AcceptedBytes {
    /// Counts bytes of an owner's caller. Returns false, and counts nothing, if the owner would have
    /// more than half of the bytes that the other owners leave free, or the caller more than half of
    /// the bytes that the owner's other callers leave free. So no caller or owner takes all bytes, and
    /// bytes are almost always free for an owner or a caller who sends little.
    pub(super) fn accept(&mut self, (owner, caller): (UserId, UserId), bytes: usize) -> bool {
        let of_owner = self.by_owner.entry(owner).or_default();
        let of_caller = self.by_caller.entry((owner, caller)).or_default();
        let owner_max = (ACCEPTED_MAX - (self.total - *of_owner)) / 2;
        let caller_max = owner_max.saturating_sub(*of_owner - *of_caller) / 2;
        if *of_owner + bytes > owner_max || *of_caller + bytes > caller_max {
            return false;
        }
        *of_owner += bytes;
        *of_caller += bytes;
        self.total += bytes;
        true
    }

    /// Begins a new period if the last one is over. The writer calls this when it takes all waiting
    /// payloads.
    pub(super) fn renew(&mut self, now: Instant) {
        if self.since.is_none_or(|since| now - since >= PERIOD) {
            *self = Self {
                since: Some(now),
                ..Self::default()
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn owners_that_flood_leave_bytes_for_the_next_owner() {
        let payload = 32 * 1024;
        let mut accepted = AcceptedBytes::default();
        let owner = |number: u128| UserId(Uuid::from_u128(number));
        let mut flood = |number: u128| {
            let accept = |_: &usize| accepted.accept((owner(number), owner(99)), payload);
            (0..1_000).take_while(accept).count()
        };
        let counts: Vec<_> = (1..=4).map(&mut flood).collect();
        assert_eq!(counts, [128, 96, 72, 54]);
        assert!(accepted.accept((owner(9), owner(9)), 16 * 1024));
        assert!(!accepted.accept((owner(1), owner(99)), 64 * 1024));
    }

    #[test]
    fn callers_that_flood_leave_bytes_for_the_owners_next_caller() {
        let payload = 32 * 1024;
        let mut accepted = AcceptedBytes::default();
        let user = |number: u128| UserId(Uuid::from_u128(number));
        let mut flood = |caller: u128| {
            let accept = |_: &usize| accepted.accept((user(1), user(caller)), payload);
            (0..1_000).take_while(accept).count()
        };
        let counts: Vec<_> = (2..=7).map(&mut flood).collect();
        assert_eq!(counts, [128, 64, 32, 16, 8, 4]);
        assert!(accepted.accept((user(1), user(8)), payload));
    }

    #[test]
    fn a_new_period_begins_only_after_the_last_one() {
        let owner = UserId(Uuid::from_u128(1));
        let (mut accepted, now) = (AcceptedBytes::default(), Instant::now());
        let mut accept_after = |millis: u64| {
            accepted.renew(now + Duration::from_millis(millis));
            accepted.accept((owner, owner), ACCEPTED_MAX / 4)
        };
        let found = [0, 999, 1_000, 1_999, 2_100].map(&mut accept_after);
        assert_eq!(found, [true, false, true, false, true]);
    }

    fn finish(params: &str, answer: &[u8], pointers: &[&str], bytes_max: usize) -> CallPayload {
        let pointers = pointers.iter().map(|text| JsonPointer::parse(text));
        let pointers: Result<Arc<[_]>, _> = pointers.collect();
        let payloads = CallPayloads {
            params: Some(params),
            answer: Some(answer),
            is_error: false,
            redact: &pointers.expect("valid"),
        };
        WaitingPayload::copy(payloads, bytes_max).finish(Id::NIL, bytes_max)
    }

    #[test]
    fn a_payload_is_recorded_as_a_whole_or_omitted() {
        let text = |text: &str| Payload::Text(text.into());
        let found = finish("{ \"a\": 1 }", b"[1,2,3]", &["/a", "/0"], 25);
        assert_eq!(found.params, text(r#"{"a":"[redacted]"}"#));
        assert_eq!(found.answer, text(r#"["[redacted]",2,3]"#));
        let omitted = Payload::Omitted;
        let found = finish("[1,2,3,4]", b"[1,2,3]", &["/*"], 8);
        assert_eq!(found.params, omitted(PayloadOmission::TooLarge));
        // Too large after it was redacted.
        assert_eq!(found.answer, omitted(PayloadOmission::TooLarge));
        let deep = "[".repeat(200) + &"]".repeat(200);
        for unreadable in [
            b"\xff".as_slice(),
            b"{",
            br#"{"a":1,"a":2}"#,
            deep.as_bytes(),
        ] {
            let found = finish("[]", unreadable, &[], 1_000);
            assert_eq!(found.params, text("[]"));
            assert_eq!(found.answer, omitted(PayloadOmission::Unreadable));
        }
    }
}
