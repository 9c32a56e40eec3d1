//! Sample requests are accepted; changed samples are rejected. Most samples are from the
//! documentation of a provider or from an RFC.

mod samples;

use std::collections::HashMap;

use samples::{hmac, samples};

use super::*;
use crate::source::settings::VerifyType;

struct Sent(HashMap<String, String>);

impl Headers for Sent {
    fn find(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

fn sent(headers: &[(&str, &str)]) -> Sent {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    Sent(headers.iter().map(owned).collect())
}

struct Sample {
    verification: Verification,
    secret: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: &'static str,
    /// When the request was signed, in seconds since 1970. 0 if the signature covers no time.
    signed_at: i64,
    signed_id: Option<&'static str>,
}

impl Sample {
    fn check(&self, now_seconds: i64) -> Result<Verified, Rejection> {
        self.check_with(&[self.secret], self.body, now_seconds)
    }

    fn check_with(
        &self,
        secrets: &[&str],
        body: &str,
        now_seconds: i64,
    ) -> Result<Verified, Rejection> {
        let now = Timestamp(now_seconds * 1_000);
        verify(
            &self.verification,
            secrets,
            &sent(&self.headers),
            body.as_bytes(),
            now,
        )
    }
}

fn sample(
    kind: VerifyType,
    secret: &'static str,
    headers: &[(&'static str, &'static str)],
    body: &'static str,
) -> Sample {
    Sample {
        verification: Verification::of(kind),
        secret,
        headers: headers.to_vec(),
        body,
        signed_at: 0,
        signed_id: None,
    }
}

fn id_of(verified: Result<Verified, Rejection>) -> Result<Option<String>, Rejection> {
    verified.map(|verified| verified.signed_id)
}

fn is_signed(sample: &Sample) -> bool {
    !matches!(
        sample.verification.r#type,
        VerifyType::Gitlab | VerifyType::Basic
    )
}

#[test]
fn the_samples_of_the_providers_are_accepted() {
    for sample in samples() {
        let kind = sample.verification.r#type;
        assert_eq!(sample.verification.check(), Ok(()), "{kind}");
        let verified = sample.check(sample.signed_at + 60);
        let signed_id = sample.signed_id.map(str::to_owned);
        assert_eq!(id_of(verified), Ok(signed_id), "{kind}");
        // During a rotation the sender may still sign with the old secret.
        let both = ["another secret", sample.secret];
        assert!(
            sample
                .check_with(&both, sample.body, sample.signed_at)
                .is_ok(),
            "{kind}"
        );
    }
    let none = sample(VerifyType::None, "", &[], "x");
    assert_eq!(id_of(none.check_with(&[], "x", 0)), Ok(None));
}

#[test]
fn another_secret_body_header_or_time_is_rejected() {
    for sample in samples() {
        let kind = sample.verification.r#type;
        let now = sample.signed_at;
        let other = match kind {
            VerifyType::Standard => "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            _ => "another secret",
        };
        let wrong = sample.check_with(&[other], sample.body, now);
        let expected = match is_signed(&sample) {
            true => Rejection::WrongSignature,
            false => Rejection::WrongCredential(sample.headers[0].0.to_owned()),
        };
        assert_eq!(wrong, Err(expected), "{kind}");
        assert!(
            sample.check_with(&[], sample.body, now).is_err(),
            "{kind}: no secret"
        );
        if is_signed(&sample) {
            let changed = format!("{} ", sample.body);
            let wrong = sample.check_with(&[sample.secret], &changed, now);
            assert_eq!(wrong, Err(Rejection::WrongSignature), "{kind}");
        }
        for at in 0..sample.headers.len() {
            let (name, value) = sample.headers[at];
            let mut without = Sample {
                headers: sample.headers.clone(),
                ..clone_of(&sample)
            };
            without.headers.remove(at);
            let missing = without.check(now).expect_err("missing");
            assert_eq!(
                missing,
                Rejection::MissingHeader(missing_name(&missing)),
                "{kind} {name}"
            );
            for broken in ["", "x", &value[..value.len() / 2]] {
                let mut changed = clone_of(&sample);
                changed.headers[at].1 = Box::leak(broken.to_owned().into_boxed_str());
                assert!(changed.check(now).is_err(), "{kind} {name}: {broken}");
            }
        }
    }
}

fn missing_name(rejection: &Rejection) -> String {
    match rejection {
        Rejection::MissingHeader(name) => name.clone(),
        other => panic!("{other}"),
    }
}

fn clone_of(sample: &Sample) -> Sample {
    Sample {
        verification: sample.verification.clone(),
        headers: sample.headers.clone(),
        ..*sample
    }
}

#[test]
fn a_signed_time_that_is_too_far_away_is_rejected() {
    let mut timed = 0;
    for mut sample in samples().into_iter().filter(|sample| sample.signed_at > 0) {
        timed += 1;
        let (kind, at) = (sample.verification.r#type, sample.signed_at);
        for accepted in [at - 300, at, at + 300] {
            assert!(sample.check(accepted).is_ok(), "{kind} {accepted}");
        }
        let stale = Rejection::Stale {
            seconds: 301,
            tolerance: 300,
        };
        assert_eq!(sample.check(at + 301), Err(stale), "{kind}");
        let future = Rejection::Future {
            seconds: 301,
            tolerance: 300,
        };
        assert_eq!(sample.check(at - 301), Err(future), "{kind}");
        sample.verification.tolerance_seconds = Some(10);
        assert!(sample.check(at + 11).is_err(), "{kind}");
        assert!(sample.check(at + 10).is_ok(), "{kind}");
    }
    assert_eq!(timed, 4);
}

#[test]
fn a_wrong_signature_is_reported_before_a_wrong_time() {
    let mut slack = samples().swap_remove(3);
    slack.headers[1].1 = "1531420619";
    assert_eq!(slack.check(1_931_420_619), Err(Rejection::WrongSignature));
}

#[test]
fn one_of_several_signatures_is_enough_and_their_number_is_limited() {
    let mut standard = samples().swap_remove(5);
    let right = standard.headers[2].1;
    let wrong = "v1,AAAASsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OEk=";
    let check = |header: String, sample: &mut Sample| {
        sample.headers[2].1 = Box::leak(header.into_boxed_str());
        sample.check(1_614_265_330)
    };
    assert!(check(format!("{wrong} v2,xx {right}"), &mut standard).is_ok());
    let many = [wrong; SIGNATURES_MAX].join(" ");
    let refused = check(format!("{many} {right}"), &mut standard);
    assert_eq!(refused, Err(Rejection::WrongSignature));
}

#[test]
fn an_id_that_looks_like_a_placeholder_is_signed_as_it_is() {
    let standard = Verification::of(VerifyType::Standard);
    let rule = match scheme(&standard) {
        Scheme::Signature(rule) => rule,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        signed_head(&rule, Some("1"), Some("{timestamp}")),
        "{timestamp}.1."
    );
}

#[test]
fn signed_headers_have_the_form_of_the_samples() {
    for sample in samples() {
        let now = Timestamp(sample.signed_at * 1_000);
        let id = sample.signed_id.unwrap_or("d");
        let signed = sign(
            &sample.verification,
            sample.secret,
            id,
            sample.body.as_bytes(),
            now,
        );
        let kind = sample.verification.r#type;
        for (name, value) in &signed {
            let (_, expected) = sample
                .headers
                .iter()
                .find(|(other, _)| other == name)
                .expect(name);
            assert!(
                expected.starts_with(value.as_str()),
                "{kind} {name}: {value}"
            );
        }
        assert_eq!(signed.len(), sample.headers.len(), "{kind}");
        let headers = Sent(signed.into_iter().collect());
        let secrets = [sample.secret];
        let body = sample.body.as_bytes();
        let verified = verify(&sample.verification, &secrets, &headers, body, now);
        let signed_id = sample.signed_id.map(str::to_owned);
        assert_eq!(id_of(verified), Ok(signed_id), "{kind}");
    }
}

#[test]
fn the_signed_text_before_the_body_has_the_time_and_the_id() {
    let heads = samples().into_iter().map(|sample| {
        let verified = sample.check(sample.signed_at).expect("a good signature");
        let seconds = sample.signed_at.to_string();
        let kind = sample.verification.r#type;
        let expected = match kind {
            VerifyType::Stripe => format!("{seconds}."),
            VerifyType::Slack => format!("v0:{seconds}:"),
            VerifyType::Standard => format!("{}.{seconds}.", sample.signed_id.expect("an id")),
            _ => String::new(),
        };
        let is_other_hmac = kind == VerifyType::Hmac;
        (kind, verified.signed_head == expected || is_other_hmac)
    });
    let wrong: Vec<_> = heads.filter(|(_, is_right)| !is_right).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_signed_id_has_at_most_256_bytes() {
    let verification = Verification::of(VerifyType::Standard);
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let check = |id: &str| {
        let now = Timestamp(1_614_265_330_000);
        let headers = sign(&verification, secret, id, b"{}", now);
        let headers = Sent(headers.into_iter().collect());
        verify(&verification, &[secret], &headers, b"{}", now)
    };
    let longest = "x".repeat(256);
    let signed_id = Some(longest.clone());
    assert_eq!(id_of(check(&longest)), Ok(signed_id));
    assert_eq!(check(&"x".repeat(257)), Err(Rejection::LongId));
}

#[test]
fn a_signature_in_hex_has_pairs_of_hex_digits() {
    let verification = hmac("X-Signature", None, HmacAlgorithm::Sha256);
    let check = |signature: &str| {
        let headers = sent(&[("x-signature", signature)]);
        verify(&verification, &["secret"], &headers, b"x", Timestamp(0))
    };
    for malformed in ["a", "abc", "zz", "+1", "0x1f", "aéb", "éé"] {
        let rejected = Rejection::Malformed("X-Signature".to_owned());
        assert_eq!(check(malformed), Err(rejected), "{malformed}");
    }
    for wrong in ["ab", "AB01"] {
        assert_eq!(check(wrong), Err(Rejection::WrongSignature), "{wrong}");
    }
}
