//! Apps that register themselves, and apps that administrators manage (groups 11, 12 and 20 of the
//! attacks in docs/AUTH.md).

use serde_json::json;
use svc_testkit::TestServer;

use super::{CALLBACK, Flow, edit, register, text};

#[tokio::test]
async fn the_registrations_of_an_address_are_limited_and_names_are_harmless() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let name = format!("Claude \u{202e}\n<b>{}", "x".repeat(5_000));
    let app = register(
        &flow.http(),
        json!({"client_name": name, "redirect_uris": [CALLBACK]}),
    )
    .await;
    let app = app.expect(201).json();
    let shown = text(&app, "client_name");
    assert_eq!(shown.chars().count(), 80, "{shown}");
    assert!(shown.starts_with("Claude <b>x"), "{shown}");
    let long = json!({"client_name": "x".repeat(17_000), "redirect_uris": [CALLBACK]});
    register(&flow.http(), long).await.expect(413);
    let mut refused = 0;
    for _ in 0..25 {
        let answer = register(&flow.http(), json!({"redirect_uris": [CALLBACK]})).await;
        if answer.status == 429 {
            assert!(answer.header("retry-after").is_some());
            assert_eq!(answer.json()["error"], "temporarily_unavailable");
            refused += 1;
        } else {
            answer.expect(201);
        }
    }
    assert_eq!(refused, 7, "20 within an hour, and two were made before");
}

#[tokio::test]
async fn the_networks_of_one_customer_gain_little() {
    let server = TestServer::builder()
        .config("public_url = \"https://svc.example.com\"\ntrusted_proxies = [\"127.0.0.0/8\"]")
        .start()
        .await;
    let http = server.http();
    let register_from = async |address: &str| {
        let headers = [
            ("content-type", "application/json"),
            ("x-forwarded-for", address),
        ];
        let body = json!({"redirect_uris": [CALLBACK]}).to_string();
        let answer = http.request("POST", "/register", &headers, body).await;
        answer.status
    };
    // One registration of each /64: a /56 gets 80 within an hour, and a /64 alone 20.
    for n in 0..80 {
        let address = format!("2001:db8:0:{n:x}::1");
        assert_eq!(register_from(&address).await, 201, "{address}");
    }
    assert_eq!(register_from("2001:db8:0:ff::1").await, 429);
    for other in ["2001:db8:0:100::1", "2001:db8:1::1", "192.0.2.1"] {
        assert_eq!(register_from(other).await, 201, "{other}");
    }
}

#[tokio::test]
async fn registration_can_be_switched_off_and_apps_limited_to_hosts() {
    for settings in ["registration = false", "client_hosts = [\"claude.ai\"]"] {
        let server = TestServer::builder()
            .config_table("oauth", settings)
            .start()
            .await;
        let http = server.http();
        let answer = register(&http, json!({"redirect_uris": [CALLBACK]}))
            .await
            .expect(403);
        assert!(answer.text().contains("administrator"), "{}", answer.text());
        let path = "/.well-known/oauth-authorization-server";
        let document = http.request("GET", path, &[], "").await.expect(200).json();
        assert_eq!(document["registration_endpoint"], json!(null));
    }
    let server = TestServer::builder()
        .config_table("oauth", "client_hosts = [\"claude.ai\"]")
        .start()
        .await;
    let ann = server.user("ann").await;
    let mut flow = Flow {
        cookie: ann.login().await,
        client_id: "https://claude.ai/oauth/claude-code-client-metadata".to_owned(),
        user: ann,
    };
    flow.ask(&[("redirect_uri", "http://localhost:1/callback")])
        .await;
    flow.client_id = "https://vscode.dev/oauth/client-metadata.json".to_owned();
    let answer = flow
        .authorize(&[("redirect_uri", "http://127.0.0.1:1/")])
        .await
        .expect(400);
    assert!(answer.text().contains("client_hosts"), "{}", answer.text());
}

#[tokio::test]
async fn an_app_of_a_host_that_is_no_longer_allowed_gets_no_new_tokens() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let code = flow.code(&[]).await;
    server.terminate().await;
    server.set_env("SVC_OAUTH_CLIENT_HOSTS", "claude.ai");
    server.start_again().await;
    for refused in [
        flow.refresh(text(&tokens, "refresh_token"), &[]).await,
        flow.exchange(&code, &[]).await,
        flow.authorize(&[]).await,
    ] {
        let text = refused.expect(400).text();
        assert!(text.contains("client_hosts"), "{text}");
    }
}

#[tokio::test]
async fn administrators_add_block_and_delete_apps() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let new = json!({"name": "Dashboard", "redirect_uris": [CALLBACK], "confidential": true});
    server
        .user("ben")
        .await
        .post("/api/oauth/clients", &new)
        .await
        .expect(403);
    let app = admin
        .post("/api/oauth/clients", &new)
        .await
        .expect(201)
        .json();
    let secret = text(&app, "secret").to_owned();
    let mut flow = Flow::new(&server, "ann").await;
    flow.client_id = text(&app, "client_id").to_owned();
    let code = flow.code(&[]).await;
    for fields in [&[][..], &[("client_secret", "wrong")]] {
        let answer = flow.exchange(&code, fields).await.expect(401);
        assert_eq!(answer.json()["error"], "invalid_client");
    }
    let tokens = flow.exchange(&code, &[("client_secret", &secret)]).await;
    let tokens = tokens.expect(200).json();
    flow.ping(text(&tokens, "access_token")).await.expect(200);
    let listed = admin.get("/api/oauth/clients").await.expect(200).json();
    let listed = listed["apps"].as_array().unwrap().clone();
    let listed = listed.iter().find(|it| it["id"] == app["id"]).unwrap();
    assert_eq!(listed["grants"], 1);
    assert_eq!(listed["secret"], json!(null));

    let path = format!("/api/oauth/clients/{}", text(&app, "id"));
    admin
        .patch(&path, json!({"blocked": true}))
        .await
        .expect(200);
    flow.ping(text(&tokens, "access_token")).await.expect(401);
    let answer = flow.authorize(&[]).await.expect(400);
    assert!(answer.text().contains("blocked"), "{}", answer.text());
    let fields = [("client_secret", secret.as_str())];
    let answer = flow
        .refresh(text(&tokens, "refresh_token"), &fields)
        .await
        .expect(400);
    assert_eq!(answer.json()["error"], "unauthorized_client");
    admin
        .patch(&path, json!({"blocked": false}))
        .await
        .expect(200);
    flow.ask(&[]).await;
    admin.delete(&path).await.expect(204);
    flow.authorize(&[]).await.expect(400);
    admin.delete(&path).await.expect(404);
    let bad = json!({"name": "x", "redirect_uris": ["http://app.example/"]});
    let answer = admin.post("/api/oauth/clients", bad).await.expect(400);
    assert_eq!(answer.code(), "invalid_redirect");
}

#[tokio::test]
async fn an_app_may_send_its_secret_in_a_header() {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let new = json!({"name": "Dashboard", "redirect_uris": [CALLBACK], "confidential": true});
    let app = admin
        .post("/api/oauth/clients", new)
        .await
        .expect(201)
        .json();
    let mut flow = Flow::new(&server, "ann").await;
    flow.client_id = text(&app, "client_id").to_owned();
    let code = flow.code(&[]).await;
    let basic = STANDARD.encode(format!("{}:{}", flow.client_id, text(&app, "secret")));
    let authorization = format!("Basic {basic}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let body = format!(
        "grant_type=authorization_code&code={code}&code_verifier={}",
        super::VERIFIER
    );
    let twice = format!("{body}&client_secret={}", text(&app, "secret"));
    let answer = flow.http().request("POST", "/token", &headers, twice).await;
    assert_eq!(answer.expect(400).json()["error"], "invalid_request");
    flow.http()
        .request("POST", "/token", &headers, body)
        .await
        .expect(200);
}

#[tokio::test]
async fn a_flood_of_unused_apps_replaces_the_oldest_and_blocks_no_new_app() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let waiting = json!({"client_name": "Waiting", "redirect_uris": [CALLBACK]});
    register(&flow.http(), waiting).await.expect(201);
    // The apps of the flood are newer, and come from one network.
    let flood = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO oauth_clients (id, client_id, kind, name, redirect_uris, fresh_until, blocked,
            created_at, network)
        SELECT printf('01890a5d-ac96-774b-bcce-%012d', i), 'dyn-' || i, 'registered', 'flood', '[]',
            4102444800000 + i, 0, 4102444800000, '2001:db8::/48' FROM n";
    edit(&mut server, flood).await;
    let new = json!({"client_name": "New", "redirect_uris": [CALLBACK]});
    register(&flow.http(), new).await.expect(201);
    let admin = server.admin().await;
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/oauth/clients?limit=1000{cursor}");
        let page = admin.get(&path).await.expect(200).json();
        let apps = page["apps"].as_array().unwrap();
        names.extend(apps.iter().map(|app| text(app, "name").to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    // A full table loses a hundredth more, so that the next apps need no search.
    assert_eq!(names.iter().filter(|name| *name == "flood").count(), 988);
    for of_another_network in ["Waiting", "New"] {
        assert!(names.contains(&of_another_network.to_owned()));
    }
    // An app that is in use is not removed.
    flow.refresh(text(&tokens, "refresh_token"), &[])
        .await
        .expect(200);
}
