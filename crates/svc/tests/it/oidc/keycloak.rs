//! Sign-in with Keycloak. People use its own pages, and administrators its own API. Keycloak is
//! large and needs Java, so this test runs only with `SVC_TEST_KEYCLOAK=1`.

mod person;

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{Http, Process, free_port, get_eventually};

use self::person::{Person, password_of, post_form};
use super::{SECRET, Site, builder, expect_refused, local, mapping::held};
use crate::judge::install_keycloak;

const REALM: &str = "/realms/corp";
const ADMIN: &str = "keycloak-admin";

/// The first start of Keycloak compiles its configuration.
const START_LIMIT: Duration = Duration::from_secs(300);

#[tokio::test]
async fn users_of_keycloak_sign_in_and_follow_their_groups_and_sign_outs() {
    let Some(site) = start().await else {
        return;
    };
    the_settings_are_checked(&site).await;
    a_user_without_the_required_group_is_refused(&site).await;
    a_user_is_created_once_and_follows_the_groups_of_keycloak(&site).await;
    realm_roles_are_sent_only_with_a_mapper(&site).await;
    a_sign_out_at_keycloak_ends_the_session_here(&site).await;
    a_user_who_is_disabled_at_keycloak_cannot_sign_in(&site).await;
}

async fn the_settings_are_checked(site: &Site) {
    let check = || async {
        let cli = site.server.cli(&site.admin);
        cli.run(&["oidc", "check", "corp", "-o", "json"]).await
    };
    let checked = check().await.expect(0).json();
    let steps = checked["steps"].as_array().unwrap();
    let detail = |name: &str| {
        let step = steps.iter().find(|step| step["step"] == name);
        step.unwrap_or_else(|| panic!("no step `{name}`: {checked}"))["detail"].to_string()
    };
    assert!(detail("discovery").contains(&site.issuer), "{checked}");
    assert!(detail("keys").contains("usable"), "{checked}");
    assert!(detail("client").contains("accepts"), "{checked}");
    assert!(detail("mappings").contains('2'), "{checked}");
    // The check reports these steps only if a provider lacks something. Keycloak lacks nothing.
    for absent in ["algorithms", "pkce", "scopes", "logout"] {
        assert!(steps.iter().all(|step| step["step"] != absent), "{checked}");
    }
    let wrong = json!({"client_secret": "another"});
    site.patch(wrong).await.expect(200);
    let checked = check().await.expect(6);
    assert!(checked.stdout.contains("client secret"), "{checked:?}");
    let right = json!({ "client_secret": SECRET });
    site.patch(right).await.expect(200);
}

async fn a_user_without_the_required_group_is_refused(site: &Site) {
    let (browser, answer) = Person::new("ben").sign_in(site).await;
    expect_refused(&browser, &answer, "the claim `groups`");
    assert!(site.user("ben").await.is_none(), "no user was created");
    // After a wrong password, the user stays on the pages of Keycloak.
    let mut ann = Person::new("ann");
    ann.password = "wrong".to_owned();
    let url = site.browser().start("").await;
    assert_eq!(ann.answer_form(site, &url).await, None);
}

async fn a_user_is_created_once_and_follows_the_groups_of_keycloak(site: &Site) {
    let mut ann = Person::new("ann");
    let (mut browser, answer) = ann.sign_in(site).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let me = site.me(&mut browser).await;
    assert_eq!(me["username"], "ann");
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        held(site, "ann").await,
        (names(&["operators"]), names(&["user"]))
    );
    let linked = browser.get("/api/auth/identities").await.expect(200).json();
    assert_eq!(linked["identities"][0]["email"], "ann@corp.example");

    // The second time, Keycloak knows the browser and shows no form.
    change_group(site, "PUT", "ann", "svc-admins").await;
    let mut other = site.browser();
    let url = other.start("").await;
    let callback = ann.visit(site, &url).await.expect("no form is shown");
    other.get(&local(&callback)).await.expect(303);
    assert_eq!(site.me(&mut other).await["id"], me["id"]);
    assert_eq!(
        held(site, "ann").await,
        (names(&["operators"]), names(&["admin", "user"]))
    );
    browser.get("/api/users").await.expect(200);

    // For a user without groups, Keycloak sends no claim at all.
    change_group(site, "DELETE", "ann", "svc-admins").await;
    change_group(site, "DELETE", "ann", "staff").await;
    ann.sign_in(site).await;
    assert_eq!(held(site, "ann").await, (names(&[]), names(&["user"])));
    browser.get("/api/users").await.expect(403);
    change_group(site, "PUT", "ann", "staff").await;
}

async fn realm_roles_are_sent_only_with_a_mapper(site: &Site) {
    let roles = json!({"groups_claim": "realm_access.roles",
        "mappings": [{"value": "svc-operator", "group": "operators"}]});
    site.patch(roles).await.expect(200);
    let role = admin(site, "GET", "/roles/svc-operator", Value::Null).await;
    let path = format!("/users/{}/role-mappings/realm", user_id(site, "ann").await);
    admin(site, "POST", &path, json!([role])).await;
    Person::new("ann").sign_in(site).await;
    assert!(held(site, "ann").await.0.is_empty(), "no mapper yet");
    let client = admin(site, "GET", "/clients?clientId=svc", Value::Null).await;
    let path = format!(
        "/clients/{}/protocol-mappers/models",
        text(&client[0]["id"])
    );
    let mapper = json!({"name": "roles", "protocol": "openid-connect",
        "protocolMapper": "oidc-usermodel-realm-role-mapper",
        "config": {"claim.name": "realm_access.roles", "multivalued": "true",
            "jsonType.label": "String", "id.token.claim": "true"}});
    admin(site, "POST", &path, mapper).await;
    Person::new("ann").sign_in(site).await;
    assert_eq!(held(site, "ann").await.0, ["operators"]);
    site.patch(mappings()).await.expect(200);
}

async fn a_sign_out_at_keycloak_ends_the_session_here(site: &Site) {
    let (mut at_home, mut at_work) = (Person::new("ann"), Person::new("ann"));
    let (mut browser, _) = at_home.sign_in(site).await;
    let (mut other, _) = at_work.sign_in(site).await;
    let page = format!("{}/protocol/openid-connect/logout", site.issuer);
    at_home.answer_form(site, &page).await;
    // Keycloak sends the logout token while it answers the form.
    browser.get("/api/auth/me").await.expect(401);
    other.get("/api/auth/me").await.expect(200);
    at_work.answer_form(site, &page).await;
    other.get("/api/auth/me").await.expect(401);
    let actions = site.admin.audit_actions().await;
    assert!(actions.iter().any(|(_, action)| action == "logout.oidc"));
}

async fn a_user_who_is_disabled_at_keycloak_cannot_sign_in(site: &Site) {
    let path = format!("/users/{}", user_id(site, "ann").await);
    admin(site, "PUT", &path, json!({"enabled": false})).await;
    let url = site.browser().start("").await;
    assert_eq!(Person::new("ann").answer_form(site, &url).await, None);
}

/// Keycloak with a realm, and a server that knows the realm as `corp`.
async fn start() -> Option<Site> {
    let mut command = install_keycloak()?;
    let port = free_port();
    command
        .args(["start-dev", "--db=dev-mem", "--http-host=127.0.0.1"])
        .arg(format!("--http-port={port}"))
        .env("KC_BOOTSTRAP_ADMIN_USERNAME", ADMIN)
        .env("KC_BOOTSTRAP_ADMIN_PASSWORD", ADMIN);
    let mut provider = Process::spawn("keycloak", command);
    let address = format!("http://127.0.0.1:{port}");
    let control = Http::to_url(&address);
    get_eventually("Keycloak starts", START_LIMIT, || {
        let ended = provider.exit_status();
        assert!(ended.is_none(), "{ended:?}: {:?}", provider.stdout());
        let request = http::Request::get("/realms/master").body(Default::default());
        let control = control.clone();
        async move { control.try_send(request.unwrap()).await.ok() }
    })
    .await
    .expect(200);
    let server = builder().start().await;
    let site = Site {
        admin: server.admin().await,
        issuer: format!("{address}{REALM}"),
        control,
        server,
        provider,
    };
    create_realm(&site).await;
    site.server.groups(&["operators"]).await;
    let mut settings = mappings();
    let created = json!({"create_users": true, "required_claims": {"groups": ["staff"]}});
    super::merge(&mut settings, created);
    let first = json!({ "client_secret": SECRET });
    site.create("corp", first, settings).await;
    Some(site)
}

fn mappings() -> Value {
    json!({"groups_claim": "groups", "mappings": [
        {"value": "staff", "group": "operators"}, {"value": "svc-admins", "role": "admin"},
    ]})
}

/// The set-up that docs/AUTH.md describes.
async fn create_realm(site: &Site) {
    let base = format!("{}/api/auth/oidc/corp", site.server.url());
    let groups = json!({"name": "groups", "protocol": "openid-connect",
        "protocolMapper": "oidc-group-membership-mapper",
        "config": {"claim.name": "groups", "full.path": "false", "id.token.claim": "true"}});
    let client = json!({
        "clientId": "svc", "secret": SECRET, "publicClient": false,
        "standardFlowEnabled": true, "directAccessGrantsEnabled": false,
        "redirectUris": [format!("{base}/callback")],
        "attributes": {
            "pkce.code.challenge.method": "S256",
            "backchannel.logout.url": format!("{base}/backchannel-logout"),
            "backchannel.logout.session.required": "true",
        },
        "protocolMappers": [groups],
    });
    let user = |name: &str, groups: &[&str]| {
        json!({"username": name, "email": format!("{name}@corp.example"), "emailVerified": true,
            "firstName": name, "lastName": "Smith", "enabled": true, "groups": groups,
            "credentials": [{"type": "password", "value": password_of(name)}]})
    };
    let realm = json!({"realm": "corp", "enabled": true});
    send_as_admin(site, "POST", "/admin/realms", realm).await;
    for (path, body) in [
        ("/clients", client),
        ("/groups", json!({"name": "staff"})),
        ("/groups", json!({"name": "svc-admins"})),
        ("/roles", json!({"name": "svc-operator"})),
        ("/users", user("ann", &["staff"])),
        ("/users", user("ben", &[])),
    ] {
        admin(site, "POST", path, body).await;
    }
}

/// Sends a request about the realm to the administration API of Keycloak.
async fn admin(site: &Site, method: &str, path: &str, body: Value) -> Value {
    send_as_admin(site, method, &format!("/admin{REALM}{path}"), body).await
}

async fn send_as_admin(site: &Site, method: &str, path: &str, body: Value) -> Value {
    // A token is valid for a minute, so each request gets its own.
    let login = [
        ("grant_type", "password"),
        ("client_id", "admin-cli"),
        ("username", ADMIN),
        ("password", ADMIN),
    ];
    let tokens = "/realms/master/protocol/openid-connect/token";
    let token = post_form(&site.control, tokens, "", &login).await;
    let bearer = format!("Bearer {}", text(&token.expect(200).json()["access_token"]));
    let mut headers = vec![("authorization", bearer.as_str())];
    let body = match body {
        Value::Null => String::new(),
        body => {
            headers.push(("content-type", "application/json"));
            body.to_string()
        }
    };
    let answer = site.control.request(method, path, &headers, body).await;
    assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    match answer.body.is_empty() {
        true => Value::Null,
        false => answer.json(),
    }
}

async fn user_id(site: &Site, name: &str) -> String {
    let path = format!("/users?exact=true&username={name}");
    text(&admin(site, "GET", &path, Value::Null).await[0]["id"])
}

/// Adds a user to a group (`PUT`), or removes the user from the group (`DELETE`).
async fn change_group(site: &Site, method: &str, user: &str, group: &str) {
    let groups = admin(site, "GET", "/groups", Value::Null).await;
    let mut groups = groups.as_array().unwrap().iter();
    let group = text(&groups.find(|one| one["name"] == group).unwrap()["id"]);
    let path = format!("/users/{}/groups/{group}", user_id(site, user).await);
    admin(site, method, &path, Value::Null).await;
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value}"))
        .to_owned()
}
