use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, proptest};

use super::*;

/// The result for these reads.
fn check_reads(request: RequestKind, reads: &[&[u8]]) -> Result<(), AnswerError> {
    let mut check = AnswerCheck::new(request);
    let checked = reads.iter().try_for_each(|bytes| check.check(bytes));
    checked.map_err(|refused| refused.error)
}

/// The result, which must not depend on how the bytes arrive.
fn check(bytes: &str) -> Result<(), AnswerError> {
    let whole = check_reads(RequestKind::Usual, &[bytes.as_bytes()]);
    let single: Vec<_> = bytes.as_bytes().chunks(1).collect();
    let by_byte = check_reads(RequestKind::Usual, &single);
    assert_eq!(whole.is_ok(), by_byte.is_ok(), "{bytes:?}: {by_byte:?}");
    whole
}

const OK: &str = "HTTP/1.1 200 OK\r\n";

/// Complete answers. Each may follow another on the same connection.
const VALID: &[&str] = &[
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length:\t3 \r\nX:\r\n\r\n{\n}",
    "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n\n",
    "HTTP/1.0 500 \r\nContent-Length: 4\r\n\r\n\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nab",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\n\n\r\n0A;name=\"value\"\r\n0123\r\n\n\n89\r\n0\r\nExpires: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n000000000000000000001\r\na\r\n0\r\n\r\n",
];

#[test]
fn valid_answers_are_accepted_alone_and_one_after_the_other() {
    for one in VALID {
        assert_eq!(check(one), Ok(()), "{one:?}");
        for other in VALID {
            assert_eq!(check(&format!("{one}{other}")), Ok(()), "{one:?} {other:?}");
            let both = format!("{one}{other}");
            let found = AnswerCheck::new(RequestKind::Usual).check(format!("{both}\n").as_bytes());
            let refused = Refused {
                error: AnswerError::BareLf,
                valid: both.len(),
            };
            assert_eq!(found, Err(refused), "{both:?}");
        }
    }
}

#[test]
fn an_ambiguous_head_is_refused() {
    let text = str::to_owned;
    for (head, error) in [
        // Bare LF at every place.
        ("HTTP/1.1 200 OK\nA: b\r\n\r\n", AnswerError::BareLf),
        ("HTTP/1.1 200 OK\r\nA: b\n\r\n", AnswerError::BareLf),
        ("HTTP/1.1 200 OK\r\nA: b\r\n\n", AnswerError::BareLf),
        ("\nHTTP/1.1 200 OK\r\n\r\n", AnswerError::BareLf),
        // Bare CR.
        ("HTTP/1.1 200 OK\rA: b\r\n\r\n", AnswerError::BareCr),
        ("HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n", AnswerError::BareCr),
        ("HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n", AnswerError::BareCr),
        ("HTTP/1.1 200 OK\r\nA: b\r\n\rC", AnswerError::BareCr),
        // A folded header, and white space before the colon.
        (
            "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
            AnswerError::FoldedHeader,
        ),
        (
            "HTTP/1.1 200 OK\r\n\tA: b\r\n\r\n",
            AnswerError::FoldedHeader,
        ),
        ("HTTP/1.1 200 OK\r\n \r\n\r\n", AnswerError::FoldedHeader),
        (
            "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n",
            AnswerError::SpaceBeforeColon(text("Content-Length")),
        ),
        (
            "HTTP/1.1 200 OK\r\nA\t: 1\r\n\r\n",
            AnswerError::SpaceBeforeColon(text("A")),
        ),
        (
            "HTTP/1.1 200 OK\r\nA\x1b[1m\r\n\r\n",
            AnswerError::NoHeader(text("A\\x1b[1m")),
        ),
        (
            "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
            AnswerError::NoHeader(text(": b")),
        ),
        // Lengths.
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\n",
            AnswerError::TwoLengths(1, 2),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
            AnswerError::TwoLengths(1, 2),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            AnswerError::Length(text("+1")),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n",
            AnswerError::Length(text("0x1")),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
            AnswerError::Length(text("")),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n\r\n",
            AnswerError::Length(text("1,")),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
            AnswerError::Length(text("18446744073709551616")),
        ),
        // Transfer codings.
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            AnswerError::LengthAndEncoding,
        ),
        (
            "HTTP/1.1 204 No\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
            AnswerError::LengthAndEncoding,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            AnswerError::TransferEncoding(text("gzip, chunked")),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n",
            AnswerError::TransferEncoding(text("identity")),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
            AnswerError::TransferEncoding(text("\\x0bchunked")),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            AnswerError::TransferEncoding(text("chunked")),
        ),
        (
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            AnswerError::TransferEncoding(text("chunked")),
        ),
        // Status lines.
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", AnswerError::StatusLine),
        ("HTTP/2 200 OK\r\n\r\n", AnswerError::StatusLine),
        ("HTTP/1.2 200 OK\r\n\r\n", AnswerError::StatusLine),
        ("HTTP/1.1  200 OK\r\n\r\n", AnswerError::StatusLine),
        ("HTTP/1.1 099 OK\r\n\r\n", AnswerError::StatusLine),
        ("HTTP/1.1 20\r\n\r\n", AnswerError::StatusLine),
        ("HTTP/1.1 2000\r\n\r\n", AnswerError::StatusLine),
        ("SSH-2.0-OpenSSH\r\n", AnswerError::StatusLine),
    ] {
        assert_eq!(check(head), Err(error), "{head:?}");
    }
}

#[test]
fn an_ambiguous_chunk_is_refused() {
    let text = str::to_owned;
    for (chunks, error) in [
        ("1\na\r\n", AnswerError::BareLf),
        ("1\r\na\n", AnswerError::BareLf),
        ("1;a\n", AnswerError::BareLf),
        ("0\r\n\n", AnswerError::BareLf),
        ("0\r\nA: b\n", AnswerError::BareLf),
        ("1;\ra\r\n", AnswerError::BareCr),
        ("0\r\nA: b\rc\r\n", AnswerError::BareCr),
        ("1 \r\na\r\n", AnswerError::SpaceInChunkSize(text("1 "))),
        (" 1\r\na\r\n", AnswerError::SpaceInChunkSize(text(" 1"))),
        ("1\t;a\r\n", AnswerError::SpaceInChunkSize(text("1\\t"))),
        ("1 0\r\n", AnswerError::SpaceInChunkSize(text("1 0"))),
        ("\r\n", AnswerError::ChunkSize(text(""))),
        (";a\r\n", AnswerError::ChunkSize(text(""))),
        ("0x1\r\n", AnswerError::ChunkSize(text("0x1"))),
        ("-1\r\n", AnswerError::ChunkSize(text("-1"))),
        (
            "10000000000000000\r\n",
            AnswerError::ChunkSize(text("10000000000000000")),
        ),
        ("1\r\nab\r\n", AnswerError::LongChunk),
        ("1\r\na\r\r\n", AnswerError::BareCr),
        ("0\r\n a\r\n", AnswerError::FoldedHeader),
        ("0\r\nA : b\r\n", AnswerError::SpaceBeforeColon(text("A"))),
        ("0\r\nA\r\n", AnswerError::NoHeader(text("A"))),
    ] {
        let answer = format!("{OK}Transfer-Encoding: chunked\r\n\r\n{chunks}");
        assert_eq!(check(&answer), Err(error), "{chunks:?}");
    }
}

#[test]
fn chunk_extensions_are_limited_together() {
    let head = format!("{OK}Transfer-Encoding: chunked\r\n\r\n");
    let chunk = |bytes: usize| format!("1;{}\r\na\r\n", "x".repeat(bytes - 1));
    let half = EXTENSION_BYTES_MAX / 2;
    let two = head.clone() + &chunk(half).repeat(2);
    assert_eq!(check(&two), Ok(()));
    assert_eq!(check(&(two + "1;\r\n")), Err(AnswerError::Extensions));
    let endless = head.clone() + "1;" + &"x".repeat(EXTENSION_BYTES_MAX + SIZE_BYTES_MAX);
    assert_eq!(check(&endless), Err(AnswerError::Extensions));
    let answer = head + &chunk(half) + "0\r\n\r\n";
    assert_eq!(
        check(&answer.repeat(3)),
        Ok(()),
        "each answer has its own limit"
    );
}

#[test]
fn a_line_has_a_limit() {
    let mut check = AnswerCheck::new(RequestKind::Usual);
    let part = [b'x'; 1024];
    let reads = std::iter::repeat_n(&part, LINE_BYTES_MAX / part.len());
    for bytes in reads {
        assert_eq!(check.check(bytes), Ok(()));
    }
    let refused = check.check(b"x").expect_err("too long");
    assert_eq!(refused.error, AnswerError::LongLine);
}

#[test]
fn bytes_of_another_protocol_and_bodies_without_a_length_are_not_checked() {
    for (request, start) in [
        (
            RequestKind::Usual,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
        ),
        (RequestKind::Usual, "HTTP/1.1 200 OK\r\n\r\n"),
        (
            RequestKind::Connect,
            "HTTP/1.1 200 Connection established\r\nContent-Length: 1\r\n\r\n",
        ),
    ] {
        let bytes = format!("{start}\n\r\n\0\n");
        assert_eq!(
            check_reads(request, &[bytes.as_bytes()]),
            Ok(()),
            "{start:?}"
        );
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    let two = head.repeat(2) + "\n";
    let found = check_reads(RequestKind::Head, &[two.as_bytes()]);
    assert_eq!(found, Err(AnswerError::BareLf));
    let refused = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 1\r\n\r\n\n\n";
    let found = check_reads(RequestKind::Connect, &[refused.as_bytes()]);
    assert_eq!(found, Err(AnswerError::BareLf), "after the body");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn bodies_may_have_any_bytes(body in prop::collection::vec(any::<u8>(), 0..200), sizes in prop::collection::vec(1_usize..40, 1..20)) {
        let mut chunked = format!("{OK}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
        let mut rest = &body[..];
        for size in sizes {
            let (chunk, after) = rest.split_at(size.min(rest.len()));
            if chunk.is_empty() {
                break;
            }
            chunked.extend(format!("{:x}\r\n", chunk.len()).bytes().chain(chunk.iter().copied()).chain(*b"\r\n"));
            rest = after;
        }
        chunked.extend(b"0\r\n\r\n");
        let mut sized = format!("{OK}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        sized.extend(&body);
        for bytes in [chunked, sized] {
            let twice = bytes.repeat(2);
            prop_assert_eq!(check_reads(RequestKind::Usual, &[&twice]), Ok(()));
            let single: Vec<_> = twice.chunks(1).collect();
            prop_assert_eq!(check_reads(RequestKind::Usual, &single), Ok(()));
        }
    }
}
