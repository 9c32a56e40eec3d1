//! Params and answers that wait to be written. A call only copies them: they are checked and redacted
//! later, off the call path.

use std::sync::Arc;

use svc_core::{
    Id,
    journal::{CallPayload, JsonPointer, Payload, PayloadOmission, redact, redact_error},
    json_text::JsonText,
};

/// Bytes of payloads of all owners that may wait.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// If one owner has this many waiting bytes, they are written at once and not at the next second.
pub(super) const WRITE_AT_BYTES: usize = 1024 * 1024;
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

    /// The bytes that count against the limits; 0 without a text.
    pub(super) fn bytes(&self) -> usize {
        match self.params.len() + self.answer.len() {
            0 => 0,
            bytes => bytes + ENTRY_BYTES,
        }
    }

    /// Keeps only that the payloads were dropped.
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
            // A redacted value may be longer than the value.
            Some(text) if text.as_str().len() > bytes_max => {
                Payload::Omitted(PayloadOmission::TooLarge)
            }
            Some(text) => Payload::Text(text.as_str().into()),
        }
    }
}

/// Whether an owner with `own` of all `total` waiting bytes may add `new` bytes. An owner may have at
/// most half of the bytes that the other owners leave free. So no owner takes all, and an owner without
/// waiting payloads almost always finds free bytes.
pub(super) fn may_wait(total: usize, own: usize, new: usize) -> bool {
    let of_others = total - own;
    own + new <= WAITING_BYTES_MAX.saturating_sub(of_others) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_that_flood_leave_bytes_for_the_next_owner() {
        let payload = 32 * 1024;
        let mut total = 0;
        for flooding in 0..8 {
            let mut own = 0;
            while may_wait(total, own, payload) {
                own += payload;
                total += payload;
            }
            assert!(own > 0, "owner {flooding}");
        }
        assert!(total < WAITING_BYTES_MAX);
        assert!(may_wait(total, 0, 16 * 1024));
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
