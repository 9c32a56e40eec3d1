//! `svc login` with a second factor, and the two commands that reset a second factor.

use serde_json::json;
use svc_testkit::{Cli, TempDir, TestServer};

use super::{Protected, log_in};

#[tokio::test]
async fn svc_login_takes_the_code_as_an_option_or_from_stdin() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let home = TempDir::new().unwrap();
    let svc = || Cli::new(home.path());
    let login = [
        "login",
        server.url(),
        "--username",
        "ann",
        "--password-stdin",
    ];
    let missing = svc().input(&ann.user.password).run(&login).await.expect(2);
    assert!(missing.stderr.contains("--code"), "{}", missing.stderr);
    for (code, exit) in [(ann.wrong_code(), 4), (ann.next_code(), 0)] {
        let login = [&login[..], &["--code", &code]].concat();
        let svc = svc().input(&ann.user.password);
        svc.run(&login).await.expect(exit);
    }
    svc().run(&["method", "list"]).await.expect(0);
    let lines = format!("{}\n{}\n", ann.user.password, ann.recovery_codes[0]);
    svc().input(&lines).run(&login).await.expect(0);
}

#[tokio::test]
async fn svc_login_says_what_to_do_if_a_role_requires_a_factor() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let body = json!({"name": "strict", "require_second_factor": true});
    admin.post("/api/roles", body).await.expect(201);
    let user = json!({"username": "ann", "password": "password of ann", "roles": ["strict"]});
    admin.post("/api/users", user).await.expect(201);
    let home = TempDir::new().unwrap();
    let login = [
        "login",
        server.url(),
        "--username",
        "ann",
        "--password-stdin",
    ];
    let refused = Cli::new(home.path()).input("password of ann").run(&login);
    let refused = refused.await;
    assert_ne!(refused.code, 0);
    assert!(
        refused.stderr.contains("requires a second factor") && refused.stderr.contains("browser"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn administrators_reset_users_and_a_local_command_resets_the_last_administrator() {
    let mut server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let admin = server.admin().await;
    let reset = ["user", "reset-second-factor", "ann"];
    server.cli(&admin).run(&reset).await.expect(0);
    ann.user.login().await;

    let admin = Protected::new(admin).await;
    admin.pending().await;
    let data = server.data_dir();
    let data = data.to_str().unwrap();
    let reset = |user: &'static str| {
        let args = ["server", "reset-second-factor", user, "--data-dir"];
        [&args[..], &[data]].concat()
    };
    let running = server.anonymous_cli().run(&reset("admin")).await.expect(1);
    assert!(running.stderr.contains("stop"), "{}", running.stderr);
    server.terminate().await;
    server.anonymous_cli().run(&reset("nobody")).await.expect(5);
    server.anonymous_cli().run(&reset("admin")).await.expect(0);
    server.start_again().await;
    let login = log_in(&server.http(), &admin.user).await.expect(200);
    assert_eq!(login.json()["username"], "admin");
    let actions = admin.user.audit_actions().await;
    let entry = ("system".to_owned(), "second_factor.reset".to_owned());
    assert!(actions.contains(&entry), "{actions:?}");
}
