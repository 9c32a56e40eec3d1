//! Sessions and tokens of other users.

use serde_json::json;
use svc_testkit::TestUser;

use super::{Cast, done, refused};

#[tokio::test]
async fn sessions_and_tokens_of_others_need_manage_users_and_their_power() {
    let cast = Cast::new(&["manage_users"]).await;
    let Cast { ben, ann, kim, .. } = &cast;
    // Each test user has one session and one token, from the set-up of the test.
    for (list, name) in [
        ("/api/auth/sessions", "sessions"),
        ("/api/tokens", "tokens"),
    ] {
        let of = |user: &TestUser| format!("{list}?user={}", user.id);
        let refused_list = ben.get(&of(ann)).await.expect(403);
        assert_eq!(refused_list.code(), "permission_denied");
        kim.get(&format!("{list}?user={}", uuid::Uuid::now_v7()))
            .await
            .expect(404);
        let first = async |user: &TestUser| {
            let listed = kim.get(&of(user)).await.expect(200).json();
            let records = listed[name].as_array().unwrap().clone();
            assert_eq!(records.len(), 1, "{listed}");
            assert!(records[0].get("token").is_none(), "{listed}");
            format!("{list}/{}", records[0]["id"].as_str().unwrap())
        };
        let (of_ann, of_ben) = (first(ann).await, first(ben).await);
        ben.delete(&of_ann).await.expect(404);
        refused(&kim.delete(&of_ann).await, "view_audit");
        ann.get("/api/auth/me").await.expect(200);
        done(&kim.delete(&of_ben).await);
        let left = kim.get(&of(ben)).await.expect(200).json();
        assert_eq!(left[name], json!([]));
    }
    // Ben's token is revoked: the next request with it is rejected.
    ben.get("/api/auth/me").await.expect(401);
    // The audit log names the user whose credential was ended.
    for action in ["session.deleted", "token.revoked"] {
        let path = format!("/api/audit?action={action}");
        let entries = cast.admin.get(&path).await.expect(200).json();
        let entry = &entries["audit"][0];
        assert_eq!(entry["detail"]["user_id"], json!(ben.id), "{entries}");
    }
}
