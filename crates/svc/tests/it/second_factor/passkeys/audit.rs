//! The audit entries about second factors.

use expect_test::expect_file;
use serde_json::json;

use super::{Keyed, Protected, named_server};
use crate::audit::AuditLog;

#[tokio::test]
async fn apps_codes_and_passkeys() {
    let server = named_server().start().await;
    let admin = server.admin().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let log = AuditLog::begin(&admin).await;
    let ann = Protected::new(ann).await;
    let token = ann.pending().await;
    ann.try_code(&token, &ann.wrong_code()).await.expect(403);
    let code = &ann.recovery_codes[0];
    ann.try_code(&token, code).await.expect(200);
    let proof = json!({"password": ann.user.password});
    for path in ["/api/auth/recovery-codes", "/api/auth/totp/remove"] {
        let answer = ann.user.post(path, &proof).await;
        assert!((200..300).contains(&answer.status), "{}", answer.text());
    }

    let mut ben = Keyed::new(ben).await;
    let path = format!("/api/auth/passkeys/{}", ben.id);
    ben.user
        .patch(&path, json!({"name": "Laptop"}))
        .await
        .expect(200);
    ben.key.counter = 10;
    ben.sign_in().await.expect(200);
    ben.key.counter = 3;
    ben.sign_in().await.expect(403);
    let proof = json!({"password": ben.user.password});
    let remove = format!("{path}/remove");
    ben.user.post(&remove, proof).await.expect(204);

    let ben = Keyed::new(ben.user).await;
    let path = format!("/api/users/{}/second-factor", ben.user.id);
    admin.delete(&path).await.expect(204);
    log.check(expect_file!["../../audit/second_factors.txt"])
        .await;
}
