//! Server-sent events: splits the body of a response into messages as it arrives.

use std::{collections::VecDeque, fmt};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::{
    error::Error,
    transport::{Connection, why_broken},
};

/// The maximum size of a message, unless the caller allows larger ones. An event with its envelope
/// is far smaller.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One message of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// Position in the stream, to resume after a lost connection.
    pub id: Option<String>,
    /// The message's type; absent means `message`.
    pub event: Option<String>,
    pub data: String,
}

/// One item read from a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    Message(Message),
    /// Bytes without a complete message: the connection is alive.
    KeepAlive,
    /// The server ended the stream.
    End,
}

/// An open stream. Dropping it closes its connection.
pub struct EventStream {
    body: Incoming,
    parser: Parser,
    target: String,
    _connection: Connection,
}

impl EventStream {
    /// A stream whose messages have at most `message_bytes_max` bytes.
    pub(crate) fn new(
        body: Incoming,
        connection: Connection,
        target: String,
        message_bytes_max: usize,
    ) -> Self {
        Self {
            body,
            parser: Parser::new(message_bytes_max),
            target,
            _connection: connection,
        }
    }

    /// The next item. Cancel safe: a cancelled call loses no bytes.
    pub async fn next(&mut self) -> Result<Received, Error> {
        loop {
            if let Some(message) = self.parser.done.pop_front() {
                return Ok(Received::Message(message));
            }
            let frame = match self.body.frame().await {
                None => return Ok(Received::End),
                Some(frame) => frame.map_err(|error| Error::Unreachable {
                    target: self.target.clone(),
                    why: why_broken(&error),
                    remedy: None,
                })?,
            };
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            self.parser.push(&bytes).map_err(|why| Error::Unexpected {
                target: self.target.clone(),
                why: why.to_owned(),
            })?;
            if self.parser.done.is_empty() {
                return Ok(Received::KeepAlive);
            }
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventStream({})", self.target)
    }
}

/// Splits bytes into messages. Messages and lines may arrive in parts of any size.
#[derive(Debug)]
struct Parser {
    message_bytes_max: usize,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    /// The incomplete message.
    message: Message,
    has_data: bool,
    done: VecDeque<Message>,
}

impl Parser {
    fn new(message_bytes_max: usize) -> Self {
        Self {
            message_bytes_max,
            rest: Vec::new(),
            message: Message::default(),
            has_data: false,
            done: VecDeque::new(),
        }
    }

    fn push(&mut self, bytes: &Bytes) -> Result<(), &'static str> {
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.rest);
                self.line(&String::from_utf8_lossy(&line));
            } else {
                self.rest.push(byte);
            }
            if self.rest.len() + self.message.data.len() > self.message_bytes_max {
                return Err("a message of the stream is too large");
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            // A block without data is not a message.
            if std::mem::take(&mut self.has_data) {
                self.done.push_back(message);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.message.id = Some(value.to_owned()),
            "event" => self.message.event = Some(value.to_owned()),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            // Comments and unknown fields.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(parts: &[&str]) -> Vec<Message> {
        let mut parser = Parser::new(MESSAGE_BYTES_MAX);
        for part in parts {
            parser
                .push(&Bytes::copy_from_slice(part.as_bytes()))
                .expect("small");
        }
        parser.done.into()
    }

    #[test]
    fn messages_are_found_however_the_bytes_are_split() {
        let text = ": hello\n\nid: 1\nevent: a\ndata: x\ndata: y\n\r\ndata:z\r\n\r\nid: 9\n\nretry: 5\ndata: é\n\nhalf";
        let expected = messages(&[text]);
        assert_eq!(expected.len(), 3);
        assert_eq!(
            expected[0],
            Message {
                id: Some("1".into()),
                event: Some("a".into()),
                data: "x\ny".into(),
            }
        );
        assert_eq!(expected[1].data, "z");
        assert_eq!(expected[2].data, "é");
        for at in (1..text.len()).filter(|&at| text.is_char_boundary(at)) {
            assert_eq!(messages(&[&text[..at], &text[at..]]), expected, "at {at}");
        }
    }

    #[test]
    fn a_message_that_is_too_large_is_rejected() {
        let mut parser = Parser::new(MESSAGE_BYTES_MAX);
        let bytes = Bytes::from(vec![b'x'; MESSAGE_BYTES_MAX + 1]);
        assert!(parser.push(&bytes).is_err());
    }
}
