//! The spans that wait for their export, and the work that they describe.

use std::{borrow::Cow, time::Duration};

/// The kind of a span; the numbers are those of OTLP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

/// The process that did the work. An agent reports the times of its work over the link. The server
/// exports the spans of both processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Process {
    Server,
    Agent,
}

/// An attribute of a span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    pub key: &'static str,
    pub value: AttributeValue,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeValue {
    Text(Cow<'static, str>),
    Number(i64),
}

impl Attribute {
    pub fn text(key: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        Self {
            key,
            value: AttributeValue::Text(value.into()),
        }
    }

    pub fn number(key: &'static str, value: i64) -> Self {
        Self {
            key,
            value: AttributeValue::Number(value),
        }
    }
}

/// Work that has just ended.
#[derive(Clone, Debug)]
pub struct TracedWork {
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub took: Duration,
    pub attributes: Vec<Attribute>,
    /// The `error.type` of work that failed.
    pub error: Option<Cow<'static, str>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub trace: u128,
    pub id: u64,
    /// 0 without a parent.
    pub parent: u64,
    /// Whether the parent is a span of another program.
    pub has_remote_parent: bool,
    pub state: Option<Box<str>>,
    pub process: Process,
    /// Nanoseconds since 1970.
    pub start: u64,
    pub end: u64,
    pub kind: SpanKind,
    pub name: Cow<'static, str>,
    pub attributes: Vec<Attribute>,
    pub error: Option<Cow<'static, str>>,
}
