use super::*;

fn single(body: &str) -> Result<Request<'_>, Invalid<'_>> {
    match parse_body(body.as_bytes()) {
        Ok(Body::Single(request)) => request,
        other => panic!("{other:?}"),
    }
}

/// Found by fuzzing.
#[test]
fn bytes_that_are_not_utf_8_are_rejected_even_in_an_unknown_member() {
    for body in [
        &b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"x\":\"\xb2\"}"[..],
        b"{\"x\":\"\xb2\"}",
        b"[{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"x\":\"\xb2\"}]",
    ] {
        let parsed = parse_body(body);
        assert!(matches!(parsed, Err(RpcError::Parse)), "{parsed:?}");
    }
}

#[test]
fn ids_and_params_keep_their_bytes() {
    let check = |body, id, params| {
        let request = single(body).expect("well-formed");
        assert_eq!((request.id, request.params), (id, params), "{body}");
    };
    check(
        r#"{"jsonrpc":"2.0","method":"m","id":9007199254740993}"#,
        Some("9007199254740993"),
        None,
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m","id":"a\u0041"}"#,
        Some(r#""a\u0041""#),
        None,
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m","id":null}"#,
        Some("null"),
        None,
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m","id":1.50}"#,
        Some("1.50"),
        None,
    );
    check(r#"{"jsonrpc":"2.0","method":"m"}"#, None, None);
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":null}"#,
        None,
        None,
    );
    check(
        r#"{"params": {"b":1, "a":12345678901234567890} ,"method":"m","jsonrpc":"2.0"}"#,
        None,
        Some(r#"{"b":1, "a":12345678901234567890}"#),
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":[1,2]}"#,
        None,
        Some("[1,2]"),
    );
    assert_eq!(
        single(r#"{"jsonrpc":"2.0","method":"a\u002eb"}"#)
            .expect("ok")
            .method,
        "a.b"
    );
}

#[test]
fn malformed_requests_echo_a_valid_id() {
    let check = |body, id: Option<&str>| {
        let invalid = single(body).expect_err(body);
        assert_eq!(invalid.error.code(), -32600, "{body}");
        assert_eq!(invalid.id, id, "{body}");
    };
    check(r#"{"jsonrpc":"1.0","method":"m","id":1}"#, Some("1"));
    check(r#"{"method":"m","id":"x"}"#, Some("\"x\""));
    check(r#"{"jsonrpc":"2.0","id":1}"#, Some("1"));
    check(r#"{"jsonrpc":"2.0","method":7,"id":1}"#, Some("1"));
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":"x","id":1}"#,
        Some("1"),
    );
    check(r#"{"jsonrpc":"2.0","method":"m","params":7}"#, None);
    check(r#"{"jsonrpc":"2.0","method":"m","id":{}}"#, None);
    check(r#"{"jsonrpc":"2.0","method":"m","id":true}"#, None);
    check(r#"{"jsonrpc":"2.0","method":"m","id":1,"id":2}"#, None);
    let twice = r#"{"jsonrpc":"2.0","method":"m","id":"x","params":{},"m\u0065thod":"n"}"#;
    check(twice, Some("\"x\""));
    let why = single(twice).expect_err("twice").error.to_object().data;
    assert_eq!(why.expect("data")["reason"], "member `method` occurs twice");
    check(
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"m"}"#,
        Some("7"),
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":[],"params":[]}"#,
        None,
    );
    check(r#"{"method":"m","method":"m","id":[1]}"#, None);
    check("1", None);
    check("\"x\"", None);
    check("null", None);
}

#[test]
fn s4_1_params_nest_at_most_128_levels() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    // The fast parser leaves a request with the member `more` to serde, so this tests both
    // parsers.
    for more in ["", r#""more":1,"#] {
        let request = |depth, id| {
            format!(
                r#"{{"jsonrpc":"2.0",{more}"method":"m"{id},"params":{}}}"#,
                nested(depth)
            )
        };
        for depth in [1, 63, 64, 65, 66, 127, 128] {
            assert!(single(&request(depth, "")).is_ok(), "{more}{depth}");
        }
        for depth in [129, 130, 1_000, 100_000] {
            let body = request(depth, r#","id":7"#);
            let invalid = single(&body).expect_err("too deep");
            assert_eq!((invalid.error.code(), invalid.id), (-32602, Some("7")));
            assert!(!invalid.is_notification());
            let object = invalid.error.to_object();
            assert_eq!(object.message, "Invalid params");
            let data = object.data.expect("data");
            assert_eq!(
                (&data["reason"], &data["limit_levels"]),
                (&"too_deep".into(), &128.into())
            );
            let body = request(depth, "");
            assert!(single(&body).expect_err("too deep").is_notification());
        }
    }
    let batch = format!(
        r#"[{{"jsonrpc":"2.0","method":"m","id":1,"params":{}}},{{"jsonrpc":"2.0","method":"m","id":2}}]"#,
        nested(1_000)
    );
    match parse_body(batch.as_bytes()) {
        Ok(Body::Batch(items)) => {
            assert_eq!(
                items[0].as_ref().expect_err("too deep").error,
                RpcError::TooDeep
            );
            assert!(items[1].is_ok());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn bodies_that_are_not_json_are_parse_errors() {
    for body in [
        "",
        " ",
        "{",
        "nope",
        r#"{"jsonrpc":"2.0","method":"m"} x"#,
        "[1",
        "{\"a\":\u{1}}",
    ] {
        assert_eq!(
            parse_body(body.as_bytes()).expect_err(body),
            RpcError::Parse
        );
    }
    assert_eq!(
        parse_body(b"\"\xff\"").expect_err("not UTF-8"),
        RpcError::Parse
    );
}

#[test]
fn batches_are_limited_and_their_items_are_checked_one_by_one() {
    assert_eq!(parse_body(b"[]").expect_err("empty").code(), -32600);
    let item = r#"{"jsonrpc":"2.0","method":"m","id":1}"#;
    let batch = |n: usize| format!("[{}]", vec![item; n].join(","));
    assert!(parse_body(batch(1000).as_bytes()).is_ok());
    assert_eq!(
        parse_body(batch(1001).as_bytes())
            .expect_err("too long")
            .code(),
        -32600
    );
    match parse_body(format!(" [{item},1,{{}}]").as_bytes()) {
        Ok(Body::Batch(items)) => {
            assert_eq!(
                items.iter().map(Result::is_ok).collect::<Vec<_>>(),
                [true, false, false]
            );
        }
        other => panic!("{other:?}"),
    }
}
