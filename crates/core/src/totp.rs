//! Time-based one-time passwords of authenticator apps (RFC 6238), and the text form of recovery
//! codes.
//!
//! The parameters are those that every app supports: SHA-1, 6 digits, 30 seconds. The current time
//! and random bytes are arguments.

use std::fmt;

use data_encoding::BASE32_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use svc_crypto::{HmacHash, HmacKey, is_equal};

use crate::Timestamp;

/// Bytes of a secret: the length of a SHA-1 hash, as RFC 4226 recommends.
pub const TOTP_SECRET_BYTES: usize = 20;
/// Random bytes of a recovery code: 80 bits.
pub const RECOVERY_CODE_BYTES: usize = 10;

/// Time is divided into steps of this length. Each step has one code.
const STEP_MILLIS: i64 = 30_000;
const DIGITS: usize = 6;
/// How many steps before and after the current step are accepted, because clocks differ and typing
/// a code takes time.
const TOLERANCE: i64 = 1;
/// All characters except the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The number of the step that contains a time.
pub fn step_at(at: Timestamp) -> i64 {
    at.0.div_euclid(STEP_MILLIS)
}

/// The code of a step.
pub fn code_of(secret: &[u8], step: i64) -> String {
    let tag = HmacKey::new(HmacHash::Sha1, secret).sign(&step.to_be_bytes());
    let tag = tag.as_ref();
    // Dynamic truncation of RFC 4226: the last half byte says where the four-byte number begins.
    let offset = usize::from(tag[tag.len() - 1] & 0x0f);
    let number = tag[offset..offset + 4]
        .iter()
        .fold(0, |number, &byte| number << 8 | u32::from(byte));
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}

/// Finds the step of a typed code: the current step, the step before it or the step after it. The
/// step must be later than `last_step`, so that a code is accepted only once.
pub fn find_step(secret: &[u8], typed: &str, now: Timestamp, last_step: i64) -> Option<i64> {
    let current = step_at(now);
    let mut found = None;
    for step in current - TOLERANCE..=current + TOLERANCE {
        // All steps and digits are compared, so that the duration does not depend on the digits.
        if is_equal(code_of(secret, step), typed) && step > last_step {
            found = Some(step);
        }
    }
    found
}

/// A second factor as a user typed it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypedCode {
    /// Six digits of an authenticator app.
    Totp(String),
    /// In the form in which [`format_recovery_code`] writes it.
    Recovery(String),
}

impl TypedCode {
    /// Ignores spaces, hyphens and the case of letters. `None` if the text is not a code of either
    /// kind.
    pub fn parse(text: &str) -> Option<Self> {
        // Do not copy a text that is much longer than a code.
        if text.len() > 64 {
            return None;
        }
        let kept = text.chars().filter(|c| !c.is_whitespace() && *c != '-');
        let kept: String = kept.map(|c| c.to_ascii_uppercase()).collect();
        if kept.len() == DIGITS && kept.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self::Totp(kept));
        }
        let is_recovery = kept.len() == RECOVERY_CODE_BYTES * 8 / 5
            && BASE32_NOPAD.decode(kept.as_bytes()).is_ok();
        is_recovery.then(|| Self::Recovery(grouped(&kept)))
    }
}

/// A recovery code of random bytes: `ABCD-EFGH-IJKL-MNOP`.
pub fn format_recovery_code(bytes: &[u8; RECOVERY_CODE_BYTES]) -> String {
    grouped(&base32(bytes))
}

/// The address that authenticator apps read from a QR code. `place`, such as the host of the
/// server, distinguishes the user's accounts in the app.
pub fn uri(place: &str, username: &str, secret: &[u8]) -> String {
    let (place, username) = (escape(place), escape(username));
    let secret = base32(secret);
    format!(
        "otpauth://totp/{place}:{username}?secret={secret}&issuer={place}&algorithm=SHA1&digits=6&period=30"
    )
}

/// Base32 without padding (RFC 4648), as authenticator apps show a secret.
pub fn base32(bytes: &[u8]) -> String {
    BASE32_NOPAD.encode(bytes)
}

fn grouped(text: &str) -> String {
    let mut out = String::new();
    for (at, character) in text.chars().enumerate() {
        if at > 0 && at % 4 == 0 {
            out.push('-');
        }
        out.push(character);
    }
    out
}

fn escape(text: &str) -> impl fmt::Display {
    utf8_percent_encode(text, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8; 20] = b"12345678901234567890";

    fn seconds(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000)
    }

    /// The table of RFC 6238, appendix B, for SHA-1. The codes in the table have 8 digits; the test
    /// uses the last 6.
    #[test]
    fn codes_are_those_of_rfc_6238() {
        for (at, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code_of(SECRET, step_at(seconds(at))), code, "{at}");
        }
    }

    #[test]
    fn a_clock_may_differ_by_one_step_and_not_by_two() {
        let now = seconds(1_111_111_115);
        for (off, is_accepted) in [
            (0, true),
            (-31, true),
            (31, true),
            (-61, false),
            (61, false),
            (-86_400, false),
        ] {
            let code = code_of(SECRET, step_at(seconds(1_111_111_115 + off)));
            let found = find_step(SECRET, &code, now, 0);
            assert_eq!(found.is_some(), is_accepted, "{off}");
        }
    }

    #[test]
    fn a_code_is_accepted_once_and_no_earlier_code_after_it() {
        let now = seconds(1_111_111_115);
        let step = step_at(now);
        let find =
            |step_of_code, last| find_step(SECRET, &code_of(SECRET, step_of_code), now, last);
        assert_eq!(find(step, step - 1), Some(step));
        assert_eq!(find(step, step), None);
        assert_eq!(find(step - 1, step), None);
        assert_eq!(find(step + 1, step), Some(step + 1));
        assert_eq!(code_of(SECRET, step), "050471");
        // `504071` has the digits of the code in another order.
        for wrong in [
            "", "0", "00000", "0000000", "abcdef", "504071", "05047", "0504710",
        ] {
            assert_eq!(find_step(SECRET, wrong, now, 0), None, "{wrong}");
        }
    }

    #[test]
    fn typed_codes_are_read_with_spaces_and_in_any_case() {
        let totp = |text: &str| Some(TypedCode::Totp(text.to_owned()));
        let recovery = |text: &str| Some(TypedCode::Recovery(text.to_owned()));
        for (text, expected) in [
            ("123456", totp("123456")),
            (" 123 456 ", totp("123456")),
            ("abcd-efgh-2345-mnop", recovery("ABCD-EFGH-2345-MNOP")),
            ("ABCDEFGH2345MNOP", recovery("ABCD-EFGH-2345-MNOP")),
            ("12345", None),
            ("1234567", None),
            ("abcd-efgh-2345-mno1", None),
            ("", None),
            ("١٢٣٤٥٦", None),
        ] {
            assert_eq!(TypedCode::parse(text), expected, "{text}");
        }
        assert_eq!(
            TypedCode::parse(&format!("123456{}", " ".repeat(58))),
            totp("123456")
        );
        assert_eq!(TypedCode::parse(&format!("123456{}", " ".repeat(59))), None);
        let code = format_recovery_code(&[0xff; RECOVERY_CODE_BYTES]);
        assert_eq!(code, "7777-7777-7777-7777");
        assert_eq!(TypedCode::parse(&code), recovery(&code));
    }

    #[test]
    fn the_address_has_the_secret_in_base32_and_escapes_names() {
        assert_eq!(base32(SECRET), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(
            uri("svc.example.com:8443", "ann lee", SECRET),
            "otpauth://totp/svc.example.com%3A8443:ann%20lee?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=svc.example.com%3A8443&algorithm=SHA1&digits=6&period=30"
        );
    }
}
