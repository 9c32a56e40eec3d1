//! Requests as the providers sign them.

use super::{Sample, sample};
use crate::source::settings::{HmacAlgorithm, SignatureEncoding, Verification, VerifyType};

/// The example of "Verifying requests from Slack".
const SLACK_BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

pub(super) fn hmac(header: &str, signed: Option<&str>, algorithm: HmacAlgorithm) -> Verification {
    Verification {
        header: Some(header.to_owned()),
        signed: signed.map(str::to_owned),
        algorithm: Some(algorithm),
        ..Verification::of(VerifyType::Hmac)
    }
}

pub(super) fn samples() -> Vec<Sample> {
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
