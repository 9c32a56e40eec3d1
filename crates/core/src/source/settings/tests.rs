use super::*;

fn hmac(signed: &str, timestamp: bool, id: bool) -> Verification {
    Verification {
        header: Some("X-Signature".into()),
        signed: Some(signed.into()),
        timestamp_header: timestamp.then(|| "X-Time".into()),
        id_header: id.then(|| "X-Id".into()),
        ..Verification::of(VerifyType::Hmac)
    }
}

#[test]
fn a_header_counts_only_if_it_is_signed() {
    for (signed, timestamp, id) in [
        ("{body}", false, false),
        ("{timestamp}.{body}", true, false),
        ("v1:{id}:{timestamp}:{body}", true, true),
    ] {
        assert_eq!(hmac(signed, timestamp, id).check(), Ok(()), "{signed}");
    }
    for (signed, timestamp, id) in [
        ("{body}", true, false),
        ("{body}", false, true),
        ("{timestamp}.{body}", false, false),
        ("{body}.{timestamp}", true, false),
        ("{body}{body}", false, false),
        ("{id}{id}{body}", false, true),
        ("x", false, false),
    ] {
        let checked = hmac(signed, timestamp, id).check();
        assert_eq!(
            checked,
            Err(SettingsError::Signed(signed.into())),
            "{signed}"
        );
    }
}

#[test]
fn settings_of_hmac_are_refused_for_other_types() {
    let mut github = Verification::of(VerifyType::Github);
    assert_eq!(github.check(), Ok(()));
    github.prefix = Some("x".into());
    assert_eq!(github.check(), Err(SettingsError::OnlyHmac("prefix")));
    assert_eq!(
        Verification::of(VerifyType::Hmac).check(),
        Err(SettingsError::NoHeader)
    );
    for (seconds, is_accepted) in [(0, false), (1, true), (3_600, true), (3_601, false)] {
        let mut stripe = Verification::of(VerifyType::Stripe);
        stripe.tolerance_seconds = Some(seconds);
        let expected = match is_accepted {
            true => Ok(()),
            false => Err(SettingsError::Tolerance(seconds)),
        };
        assert_eq!(stripe.check(), expected, "{seconds}");
    }
}

#[test]
fn secrets_have_the_form_of_their_type() {
    let check = |kind, secret: &str| Verification::of(kind).check_secret(secret);
    assert_eq!(
        check(VerifyType::Github, "It's a Secret to Everybody"),
        Ok(())
    );
    assert_eq!(
        check(VerifyType::Github, "short"),
        Err(SettingsError::Secret)
    );
    assert_eq!(
        check(VerifyType::Stripe, "a\nb-long-enough"),
        Err(SettingsError::Secret)
    );
    assert_eq!(check(VerifyType::Basic, "ann:password"), Ok(()));
    assert_eq!(
        check(VerifyType::Basic, "a-password"),
        Err(SettingsError::BasicSecret)
    );
    assert_eq!(
        check(VerifyType::None, "a-password"),
        Err(SettingsError::NoSecret)
    );
    let standard = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    assert_eq!(check(VerifyType::Standard, standard), Ok(()));
    // The base64 of 16 bytes and of 15 bytes.
    assert_eq!(
        check(VerifyType::Standard, "whsec_AAAAAAAAAAAAAAAAAAAAAA=="),
        Ok(())
    );
    assert_eq!(
        check(VerifyType::Standard, "whsec_AAAAAAAAAAAAAAAAAAAA"),
        Err(SettingsError::WebhookSecret)
    );
    for (bytes, is_accepted) in [(7, false), (8, true), (512, true), (513, false)] {
        let checked = check(VerifyType::Github, &"x".repeat(bytes));
        assert_eq!(checked.is_ok(), is_accepted, "{bytes}");
    }
}

#[test]
fn headers_with_credentials_never_become_part_of_events() {
    assert_eq!(check_headers(&["X-Request-Id".into()]), Ok(()));
    for name in ["Authorization", "COOKIE", "X-Gitlab-Token"] {
        let refused = check_headers(&[name.to_owned()]);
        assert_eq!(refused, Err(SettingsError::SecretHeader(name.to_owned())));
    }
    for name in ["Authorization", "x-api-key"] {
        let rule = TypeRule {
            header: Some(name.to_owned()),
            ..TypeRule::default()
        };
        let refused = Err(SettingsError::SecretHeader(name.to_owned()));
        assert_eq!(rule.check(), refused);
    }
}

#[test]
fn the_header_that_proves_the_sender_never_becomes_part_of_events() {
    for (verification, proof) in [
        (Verification::of(VerifyType::Github), "X-Hub-Signature-256"),
        (Verification::of(VerifyType::Gitlab), "X-Gitlab-Token"),
        (Verification::of(VerifyType::Stripe), "Stripe-Signature"),
        (Verification::of(VerifyType::Slack), "X-Slack-Signature"),
        (
            Verification::of(VerifyType::Shopify),
            "X-Shopify-Hmac-SHA256",
        ),
        (Verification::of(VerifyType::Standard), "Webhook-Signature"),
        (hmac("{body}", false, false), "x-SIGNATURE"),
        (Verification::of(VerifyType::Basic), "Authorization"),
    ] {
        let (names, refused) = (
            [proof.to_owned()],
            SettingsError::ProofHeader(proof.to_owned()),
        );
        let check =
            |rule: &TypeRule, names: &[String]| check_proof_header(&verification, rule, names);
        let usual = TypeRule::default();
        assert_eq!(check(&usual, &names), Err(refused.clone()));
        let typed = TypeRule {
            header: Some(proof.to_owned()),
            ..TypeRule::default()
        };
        assert_eq!(check(&typed, &[]), Err(refused));
        assert_eq!(check(&usual, &["X-Other".to_owned()]), Ok(()));
        let none = Verification::of(VerifyType::None);
        assert_eq!(check_proof_header(&none, &typed, &names), Ok(()));
    }
}

#[test]
fn a_source_copies_at_most_20_headers() {
    let names = |count| vec!["x".to_owned(); count];
    assert_eq!(check_headers(&names(20)), Ok(()));
    assert_eq!(
        check_headers(&names(21)),
        Err(SettingsError::TooManyHeaders(21))
    );
}

#[test]
fn names_of_headers_have_1_to_100_characters_of_http_tokens() {
    for name in [
        "X-Request-Id",
        "x_y.z~1",
        "!#$%&'*+-.^_`|~",
        &"x".repeat(100),
    ] {
        assert_eq!(check_headers(&[name.to_owned()]), Ok(()), "{name}");
    }
    let long = "x".repeat(101);
    for (name, named) in [
        ("", ""),
        ("a b", "a b"),
        ("a:b", "a:b"),
        ("é", "é"),
        // The error leaves out control characters.
        ("a\n\u{1b}b", "ab"),
        (&long, &long[..100]),
    ] {
        let refused = SettingsError::Header {
            member: "headers",
            value: named.to_owned(),
        };
        assert_eq!(check_headers(&[name.to_owned()]), Err(refused), "{name}");
    }
}

#[test]
fn every_header_of_hmac_needs_a_valid_name() {
    type Change = fn(&mut Verification);
    let cases: [(&str, Change); 3] = [
        ("verify.header", |it| it.header = Some("a b".into())),
        ("verify.timestamp_header", |it| {
            it.timestamp_header = Some("a b".into());
        }),
        ("verify.id_header", |it| it.id_header = Some("a b".into())),
    ];
    for (member, change) in cases {
        let mut verification = hmac("{id}.{timestamp}.{body}", true, true);
        assert_eq!(verification.check(), Ok(()));
        change(&mut verification);
        let value = "a b".to_owned();
        assert_eq!(
            verification.check(),
            Err(SettingsError::Header { member, value })
        );
    }
}

#[test]
fn texts_have_at_most_100_bytes_and_no_control_characters() {
    let body = |text: &str| TypeRule {
        body: Some(text.to_owned()),
        ..TypeRule::default()
    };
    let fixed = |text: &str| TypeRule {
        fixed: Some(text.to_owned()),
        ..TypeRule::default()
    };
    let prefix = |text: &str| Verification {
        prefix: Some(text.to_owned()),
        ..hmac("{body}", false, false)
    };
    for good in ["", "event.type", &"x".repeat(100)] {
        assert_eq!(body(good).check(), Ok(()), "{good}");
        assert_eq!(fixed(good).check(), Ok(()), "{good}");
        assert_eq!(prefix(good).check(), Ok(()), "{good}");
    }
    for bad in ["a\nb", &"x".repeat(101)] {
        let refused = |member| Err(SettingsError::Text(member));
        assert_eq!(body(bad).check(), refused("event_type.body"), "{bad}");
        assert_eq!(fixed(bad).check(), refused("event_type.fixed"), "{bad}");
        assert_eq!(prefix(bad).check(), refused("verify.prefix"), "{bad}");
        let signed = hmac(&format!("{bad}{{body}}"), false, false);
        assert_eq!(signed.check(), refused("verify.signed"), "{bad}");
    }
}

#[test]
fn the_type_of_an_event_has_at_most_one_origin() {
    let set = |is_set: bool| is_set.then(|| "x".to_owned());
    for (header, body, fixed, expected) in [
        (false, false, false, Ok(())),
        (true, false, false, Ok(())),
        (false, true, false, Ok(())),
        (false, false, true, Ok(())),
        (true, true, false, Err(SettingsError::TypeRule)),
        (false, true, true, Err(SettingsError::TypeRule)),
        (true, true, true, Err(SettingsError::TypeRule)),
    ] {
        let rule = TypeRule {
            header: set(header),
            body: set(body),
            fixed: set(fixed),
        };
        assert_eq!(rule.check(), expected, "{rule:?}");
    }
}

#[test]
fn debug_output_shows_the_type_and_never_the_secret() {
    let verification = Verification {
        secret: Some("hush-hush".into()),
        ..Verification::of(VerifyType::Shopify)
    };
    assert_eq!(format!("{verification:?}"), "Verification(shopify)");
}
