//! Sample requests are accepted; changed samples are rejected. Most samples are from the
//! documentation of a provider or from an RFC.

use std::collections::HashMap;

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

/// The example of "Verifying requests from Slack".
const SLACK_BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

fn hmac(header: &str, signed: Option<&str>, algorithm: HmacAlgorithm) -> Verification {
    Verification {
        header: Some(header.to_owned()),
        signed: signed.map(str::to_owned),
        algorithm: Some(algorithm),
        ..Verification::of(VerifyType::Hmac)
    }
}

fn samples() -> Vec<Sample> {
    let rfc = "what do ya want for nothing?";
    let in_hmac = |algorithm, signature| Sample {
        verification: hmac("X-Signature", None, algorithm),
        ..sample(VerifyType::Hmac, "Jefe", &[("x-signature", signature)], rfc)
    };
    vec![
        // GitHub: "Validating webhook deliveries".
        sample(
            VerifyType::Github,
            "It's a Secret to Everybody",
            &[(
                "x-hub-signature-256",
                "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
            )],
            "Hello, World!",
        ),
        sample(
            VerifyType::Gitlab,
            "a-token-of-gitlab",
            &[("x-gitlab-token", "a-token-of-gitlab")],
            r#"{"object_kind":"push"}"#,
        ),
        // Stripe publishes the form of the header, with an old `v0`, but no secret. So `v1` was
        // computed for this secret.
        Sample {
            signed_at: 1_492_774_577,
            ..sample(
                VerifyType::Stripe,
                "whsec_test_secret",
                &[(
                    "stripe-signature",
                    "t=1492774577,v1=f7a632a9ffdbb1ced2fc48e44c374ec2cb4292469db292862c06ae703e2befbd,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39",
                )],
                r#"{"id":"evt_1","type":"invoice.paid"}"#,
            )
        },
        Sample {
            signed_at: 1_531_420_618,
            ..sample(
                VerifyType::Slack,
                "8f742231b10e8888abcd99yyyzzz85a5",
                &[
                    (
                        "x-slack-signature",
                        "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
                    ),
                    ("x-slack-request-timestamp", "1531420618"),
                ],
                SLACK_BODY,
            )
        },
        // Shopify publishes no sample; computed with Python's `hmac`.
        sample(
            VerifyType::Shopify,
            "hush-hush",
            &[(
                "x-shopify-hmac-sha256",
                "Tee3YpF35pCcQ4VpA7xaRvUaU8jattd/Rf/Cvq0k0tU=",
            )],
            r#"{"id":820982911946154508}"#,
        ),
        // The sample of the Standard Webhooks specification.
        Sample {
            signed_at: 1_614_265_330,
            signed_id: Some("msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ..sample(
                VerifyType::Standard,
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                &[
                    ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
                    ("webhook-timestamp", "1614265330"),
                    (
                        "webhook-signature",
                        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
                    ),
                ],
                r#"{"test": 2432232314}"#,
            )
        },
        // RFC 2202 and RFC 4231, test case 2.
        in_hmac(
            HmacAlgorithm::Sha1,
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
        ),
        in_hmac(
            HmacAlgorithm::Sha256,
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        in_hmac(
            HmacAlgorithm::Sha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
        Sample {
            verification: Verification {
                encoding: Some(SignatureEncoding::Base64),
                prefix: Some("sig ".into()),
                timestamp_header: Some("X-Time".into()),
                id_header: Some("X-Id".into()),
                ..hmac(
                    "X-Signature",
                    Some("{timestamp}.{id}:{body}"),
                    HmacAlgorithm::Sha256,
                )
            },
            signed_at: 17,
            signed_id: Some("d-1"),
            ..sample(
                VerifyType::Hmac,
                "a shared secret",
                &[
                    (
                        "x-signature",
                        "sig LALWH30wzEv8X0MboVgiTUwAkQZdDVSY8yr96Mc3OW8=",
                    ),
                    ("x-time", "17"),
                    ("x-id", "d-1"),
                ],
                r#"{"type":"x"}"#,
            )
        },
        // RFC 7617.
        sample(
            VerifyType::Basic,
            "Aladdin:open sesame",
            &[("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")],
            "x",
        ),
    ]
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
        assert_eq!(verified, Ok(Verified { signed_id }), "{kind}");
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
    assert_eq!(
        none.check_with(&[], "x", 0),
        Ok(Verified { signed_id: None })
    );
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
    }
}
