//! Recorded params and answers of calls, and version 1 of the format of their blocks.

use uuid::Uuid;

use super::{
    BlockError,
    bytes::{Reader, put_number, put_text},
};
use crate::{id::Id, text_enum::text_enum};

const VERSION: u8 = 1;
/// A block is closed when it has this many bytes.
pub const PAYLOAD_BLOCK_BYTES: usize = 256 * 1024;
/// When blocks to merge are chosen, this many bytes of payloads count as one row.
pub const PAYLOAD_ROW_BYTES: usize = 64;
/// The minimum size of an entry, in bytes: the id and the states.
const ENTRY_BYTES_MIN: usize = 17;

text_enum! {
    /// Why a payload is not recorded.
    PayloadOmission {
        /// The payload is larger than the server records.
        TooLarge = "too_large",
        /// The payload is not valid JSON, nests too deep, or has an object with the same member
        /// twice.
        Unreadable = "unreadable",
        /// Too many bytes of payloads came in a short time.
        Dropped = "dropped",
    }
}

/// What is recorded of the params or of the answer of a call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Payload {
    /// The call had no params, or no answer.
    #[default]
    Absent,
    Omitted(PayloadOmission),
    /// JSON, redacted.
    Text(Box<str>),
}

/// The params and the answer of one call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallPayload {
    /// The id of the call.
    pub id: Id,
    pub params: Payload,
    /// The result or the error, as the row of the call says.
    pub answer: Payload,
}

impl Payload {
    fn state(&self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::Text(_) => 1,
            Self::Omitted(why) => 2 + *why as u8,
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        if let Self::Text(text) = self {
            put_text(out, text);
        }
    }

    fn read(state: u8, reader: &mut Reader<'_>) -> Result<Self, BlockError> {
        let omission = match state {
            0 => return Ok(Self::Absent),
            1 => return Ok(Self::Text(reader.text()?.into())),
            other => PayloadOmission::ALL.get(usize::from(other - 2)),
        };
        Ok(Self::Omitted(*omission.ok_or(BlockError::Index)?))
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len() + 3,
            Self::Absent | Self::Omitted(_) => 0,
        }
    }
}

impl CallPayload {
    /// The approximate size in a block.
    pub fn bytes(&self) -> usize {
        ENTRY_BYTES_MIN + self.params.bytes() + self.answer.bytes()
    }
}

/// Packs payloads.
pub fn encode_payloads(payloads: &[CallPayload]) -> Vec<u8> {
    let bytes: usize = payloads.iter().map(CallPayload::bytes).sum();
    let mut block = Vec::with_capacity(bytes + 8);
    block.push(VERSION);
    put_number(&mut block, payloads.len() as u64);
    for payload in payloads {
        block.extend_from_slice(payload.id.0.as_bytes());
        block.push(payload.params.state() | payload.answer.state() << 4);
        payload.params.put(&mut block);
        payload.answer.put(&mut block);
    }
    block
}

/// Unpacks payloads. Any bytes are safe to read.
pub fn decode_payloads(block: &[u8]) -> Result<Vec<CallPayload>, BlockError> {
    let mut reader = Reader::open(block, VERSION)?;
    let count = reader.count(ENTRY_BYTES_MIN)?;
    let mut payloads = Vec::with_capacity(count);
    for _ in 0..count {
        let id = Id(Uuid::from_bytes(reader.array()?));
        let states = reader.byte()?;
        payloads.push(CallPayload {
            id,
            params: Payload::read(states & 0x0f, &mut reader)?,
            answer: Payload::read(states >> 4, &mut reader)?,
        });
    }
    reader.end()?;
    Ok(payloads)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn payload() -> impl Strategy<Value = Payload> {
        prop_oneof![
            Just(Payload::Absent),
            (0..PayloadOmission::ALL.len())
                .prop_map(|index| Payload::Omitted(PayloadOmission::ALL[index])),
            ".{0,300}".prop_map(|text| Payload::Text(text.into())),
        ]
    }

    fn payloads() -> impl Strategy<Value = Vec<CallPayload>> {
        let one = (any::<u128>(), payload(), payload());
        let one = one.prop_map(|(id, params, answer)| CallPayload {
            id: Id(Uuid::from_u128(id)),
            params,
            answer,
        });
        vec(one, 0..20)
    }

    fn text(text: &str) -> Payload {
        Payload::Text(text.into())
    }

    #[test]
    fn version_1_of_a_block_has_fixed_bytes() {
        let call = |byte, params, answer| CallPayload {
            id: Id(Uuid::from_bytes([byte; 16])),
            params,
            answer,
        };
        let payloads = [
            call(
                0x11,
                text("[1]"),
                Payload::Omitted(PayloadOmission::Dropped),
            ),
            call(
                0x22,
                Payload::Omitted(PayloadOmission::Unreadable),
                text("{}"),
            ),
            call(
                0x33,
                Payload::Omitted(PayloadOmission::TooLarge),
                Payload::Absent,
            ),
        ];
        let mut block = [
            &[1, 3][..],
            &[0x11; 16],
            &[0x41, 3],
            b"[1]",
            &[0x22; 16],
            &[0x13, 2],
            b"{}",
            &[0x33; 16],
            &[0x02],
        ]
        .concat();
        assert_eq!(encode_payloads(&payloads), block);
        assert_eq!(decode_payloads(&block).as_deref(), Ok(&payloads[..]));
        block.push(0);
        assert_eq!(decode_payloads(&block), Err(BlockError::TooLong));
    }

    #[test]
    fn only_recorded_texts_add_to_the_size_of_a_payload() {
        let check = |params, answer, expected| {
            let id = Id::NIL;
            let payload = CallPayload { id, params, answer };
            assert_eq!(payload.bytes(), expected, "{payload:?}");
        };
        let omitted = Payload::Omitted(PayloadOmission::TooLarge);
        check(Payload::Absent, Payload::Absent, 17);
        check(omitted.clone(), omitted, 17);
        check(text(""), Payload::Absent, 20);
        check(text("[1]"), Payload::Absent, 23);
        check(Payload::Absent, text("\"ü\""), 24);
        check(text("[1]"), text("{}"), 28);
    }

    #[test]
    fn a_block_is_closed_at_256_kib() {
        assert_eq!(PAYLOAD_BLOCK_BYTES, 262_144);
    }

    proptest! {
        #[test]
        fn a_block_keeps_its_payloads(payloads in payloads()) {
            prop_assert_eq!(decode_payloads(&encode_payloads(&payloads)), Ok(payloads));
        }

        #[test]
        fn a_damaged_block_never_panics(payloads in payloads(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut block = encode_payloads(&payloads);
            let at = at.index(block.len());
            block[at] = byte;
            let _ = decode_payloads(&block);
            block.truncate(at);
            prop_assert!(decode_payloads(&block).is_err());
        }

        #[test]
        fn any_bytes_are_safe_to_read(bytes in vec(any::<u8>(), 0..400)) {
            let _ = decode_payloads(&[&[1], bytes.as_slice()].concat());
        }
    }
}
