//! The messages of OTLP in the encoding of protobuf: only the fields that the server writes, and
//! the one field of an answer that it reads.
//!
//! Field numbers are those of the files in `opentelemetry/proto`, which are stable.

use svc_core::ServerId;

use super::span::{Attribute, AttributeValue, Process, Span};

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

/// Flags of a span: the trace is sampled; it is known whether the parent is remote; the parent is
/// remote.
const SAMPLED: u32 = 0x001;
const KNOWS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;
/// The status code of a span that failed.
const STATUS_ERROR: u64 = 2;

/// An `ExportTraceServiceRequest` with these spans.
pub(super) fn export_request(server: ServerId, spans: &[Span]) -> Vec<u8> {
    let mut out = Vec::with_capacity(spans.len() * 400 + 512);
    for process in [Process::Server, Process::Agent] {
        if spans.iter().any(|span| span.process == process) {
            put_message(&mut out, 1, |out| {
                resource_spans(out, process, server, spans)
            });
        }
    }
    out
}

fn resource_spans(out: &mut Vec<u8>, process: Process, server: ServerId, spans: &[Span]) {
    put_message(out, 1, |resource| {
        let name = match process {
            Process::Server => "svc",
            Process::Agent => "svc-agent",
        };
        put_attribute(resource, 1, &Attribute::text("service.name", name));
        if process == Process::Server {
            let (version, id) = (env!("CARGO_PKG_VERSION"), server.to_string());
            put_attribute(resource, 1, &Attribute::text("service.version", version));
            put_attribute(resource, 1, &Attribute::text("service.instance.id", id));
        }
    });
    put_message(out, 2, |scope_spans| {
        put_message(scope_spans, 1, |scope| put_bytes(scope, 1, b"svc"));
        for span in spans.iter().filter(|span| span.process == process) {
            put_message(scope_spans, 2, |out| put_span(out, span));
        }
    });
}

fn put_span(out: &mut Vec<u8>, span: &Span) {
    put_bytes(out, 1, &span.trace.to_be_bytes());
    put_bytes(out, 2, &span.id.to_be_bytes());
    if let Some(state) = &span.state {
        put_bytes(out, 3, state.as_bytes());
    }
    if span.parent != 0 {
        put_bytes(out, 4, &span.parent.to_be_bytes());
    }
    put_bytes(out, 5, span.name.as_bytes());
    put_number(out, 6, span.kind as u64);
    put_fixed_64(out, 7, span.start);
    put_fixed_64(out, 8, span.end);
    for attribute in &span.attributes {
        put_attribute(out, 9, attribute);
    }
    if let Some(error) = &span.error {
        put_attribute(out, 9, &Attribute::text("error.type", error.clone()));
        put_message(out, 15, |status| put_number(status, 3, STATUS_ERROR));
    }
    let remote = if span.has_remote_parent { IS_REMOTE } else { 0 };
    put_key(out, 16, FIXED_32);
    out.extend_from_slice(&(SAMPLED | KNOWS_REMOTE | remote).to_le_bytes());
}

fn put_attribute(out: &mut Vec<u8>, field: u64, attribute: &Attribute) {
    put_message(out, field, |pair| {
        put_bytes(pair, 1, attribute.key.as_bytes());
        put_message(pair, 2, |value| match &attribute.value {
            AttributeValue::Text(text) => put_bytes(value, 1, text.as_bytes()),
            // Protobuf writes a negative `int64` as its two's complement.
            AttributeValue::Number(number) => put_number(value, 3, number.cast_unsigned()),
        });
    });
}

fn put_message(out: &mut Vec<u8>, field: u64, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    put_bytes(out, field, &inner);
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_key(out, field, BYTES);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_number(out: &mut Vec<u8>, field: u64, number: u64) {
    put_key(out, field, VARINT);
    put_varint(out, number);
}

fn put_fixed_64(out: &mut Vec<u8>, field: u64, number: u64) {
    put_key(out, field, FIXED_64);
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_key(out: &mut Vec<u8>, field: u64, wire: u64) {
    put_varint(out, field << 3 | wire);
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number of spans that the receiver rejected: `partial_success.rejected_spans` of an
/// `ExportTraceServiceResponse`. 0 if the answer cannot be read.
pub(super) fn rejected_spans(answer: &[u8]) -> u64 {
    let partial = find_field(answer, 1).and_then(Field::bytes);
    let rejected = partial.and_then(|partial| find_field(partial, 1));
    rejected.and_then(Field::number).unwrap_or_default()
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Bytes(_) => None,
        }
    }

    fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Number(_) => None,
        }
    }
}

/// The first field with this number.
fn find_field(mut message: &[u8], wanted: u64) -> Option<Field<'_>> {
    while !message.is_empty() {
        let key = take_varint(&mut message)?;
        let field = match key & 7 {
            VARINT => Field::Number(take_varint(&mut message)?),
            FIXED_64 => Field::Bytes(message.split_off(..8)?),
            FIXED_32 => Field::Bytes(message.split_off(..4)?),
            BYTES => {
                let length = usize::try_from(take_varint(&mut message)?).ok()?;
                Field::Bytes(message.split_off(..length)?)
            }
            _ => return None,
        };
        if key >> 3 == wanted {
            return Some(field);
        }
    }
    None
}

fn take_varint(message: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *message.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rejected_spans_of_an_answer_are_read() {
        let answer = |rejected| {
            let mut out = Vec::new();
            put_message(&mut out, 1, |partial| {
                put_bytes(partial, 2, b"too old");
                put_number(partial, 1, rejected);
            });
            out
        };
        for rejected in [0, 1, 127, 128, 1_024, u64::MAX] {
            assert_eq!(rejected_spans(&answer(rejected)), rejected);
        }
        assert_eq!(rejected_spans(b""), 0);
        let whole = answer(300);
        for cut in 0..whole.len() {
            assert_eq!(rejected_spans(&whole[..cut]), 0, "{cut}");
        }
        assert_eq!(rejected_spans(b"<html>404</html>"), 0);
        assert_eq!(rejected_spans(&[0xff; 40]), 0);
    }
}
