//! Certificates and keys with deeply nested parts, on a small stack: an overflow would end the test
//! process. Users give certificates and keys for webhooks.

use base64::{Engine, prelude::BASE64_STANDARD};

use super::*;
use crate::receiver_tls::{TlsSettings, TlsSettingsError, check_tls_settings};

/// Smaller than the stack of any thread of the product.
const SMALL_STACK: usize = 512 * 1024;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OCTET_STRING: u8 = 0x04;
const VERSION_3: &[u8] = &[0xa0, 3, 2, 1, 2];
const ONE: &[u8] = &[2, 1, 1];
const EMPTY_BITS: &[u8] = &[3, 1, 0];
/// `sha256WithRSAEncryption`, `rsaEncryption`, `commonName`, `basicConstraints`.
const SHA256_RSA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
const RSA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const COMMON_NAME: &[u8] = &[6, 3, 0x55, 4, 3];
const BASIC_CONSTRAINTS: &[u8] = &[6, 3, 0x55, 0x1d, 19];

/// The head of a value with this many bytes, backwards.
fn reversed_head(tag: u8, length: usize) -> Vec<u8> {
    if let Ok(length @ 0..128) = u8::try_from(length) {
        return vec![length, tag];
    }
    let mut head = length.to_le_bytes().to_vec();
    while head.pop_if(|byte| *byte == 0).is_some() {}
    head.push(0x80 | u8::try_from(head.len()).expect("at most 8"));
    head.push(tag);
    head
}

fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut whole = reversed_head(tag, content.len());
    whole.reverse();
    whole.extend(content);
    whole
}

/// Sequences in sequences.
fn nested(depth: usize) -> Vec<u8> {
    let mut reversed = Vec::new();
    for _ in 0..depth {
        reversed.extend(reversed_head(SEQUENCE, reversed.len()));
    }
    reversed.reverse();
    reversed
}

/// A certificate in which every part that may hold any value nests this deeply.
fn certificate(depth: usize) -> Vec<u8> {
    let any = nested(depth);
    let algorithm = |oid: &[u8]| der(SEQUENCE, &[oid, &any]);
    let attribute = der(SEQUENCE, &[COMMON_NAME, &any]);
    let name = der(SEQUENCE, &[&der(SET, &[&attribute])]);
    let time = |year: &str| der(0x17, &[format!("{year}0101000000Z").as_bytes()]);
    let validity = der(SEQUENCE, &[&time("26"), &time("36")]);
    let key = der(SEQUENCE, &[&algorithm(RSA), EMPTY_BITS]);
    let extension = der(SEQUENCE, &[BASIC_CONSTRAINTS, &der(OCTET_STRING, &[&any])]);
    let extensions = der(0xa3, &[&der(SEQUENCE, &[&extension])]);
    let signed = der(
        SEQUENCE,
        &[
            VERSION_3,
            ONE,
            &algorithm(SHA256_RSA),
            &name,
            &validity,
            &name,
            &key,
            &extensions,
        ],
    );
    der(SEQUENCE, &[&signed, &algorithm(SHA256_RSA), EMPTY_BITS])
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

fn on_a_small_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(SMALL_STACK);
        let running = thread.spawn_scoped(scope, work).expect("a thread");
        running.join().expect("the work succeeds");
    });
}

fn check(ca: Option<&str>, identity: Option<(&str, &str)>) -> Result<(), TlsSettingsError> {
    check_tls_settings(TlsSettings {
        ca,
        identity,
        http2: false,
    })
}

#[test]
fn deeply_nested_certificates_and_keys_do_not_overflow_the_stack() {
    on_a_small_stack(|| {
        for depth in [1, 100, 10_000, 100_000] {
            let (whole, any) = (certificate(depth), nested(depth));
            // The parser does not look into parts that may hold any value.
            assert!(
                end(&CertificateDer::from(whole.clone())).is_some(),
                "{depth}"
            );
            assert_eq!(end(&CertificateDer::from(any.clone())), None);
            for certificate in [pem("CERTIFICATE", &whole), pem("CERTIFICATE", &any)] {
                let _ = check(Some(&certificate), None);
                for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"] {
                    let key = pem(label, &any);
                    let refused = check(None, Some((&certificate, &key)));
                    assert_eq!(refused, Err(TlsSettingsError::Key), "{depth}");
                }
            }
        }
    });
}
