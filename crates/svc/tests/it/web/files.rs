//! The web interface over HTTP: its files, their headers, and the addresses of pages.

use std::path::Path;

use svc_server::web::WebFile;
use svc_testkit::{Answer, TempDir, TestServer};
use svc_web::FILES;

/// The header with which a browser requests a page.
const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");

async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Answer {
    server.http().request("GET", path, headers, "").await
}

/// The addresses of the files to which a page refers.
fn linked(page: &str) -> Vec<&str> {
    let parts = page.split(['"', '\'']);
    parts.filter(|part| part.starts_with("/web/")).collect()
}

#[tokio::test]
async fn every_file_of_the_page_is_served_with_security_headers() {
    let server = TestServer::start().await;
    let page = get(&server, "/", &[]).await.expect(200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let text = page.text();
    let mut paths = linked(&text);
    assert!(paths.len() > 1, "{text}");
    paths.push("/");
    for path in paths {
        // A file whose address contains its version never changes, so browsers keep it.
        let kept = match path {
            "/" => "no-cache",
            _ => "public, max-age=31536000, immutable",
        };
        let file = get(&server, path, &[]).await.expect(200);
        let policy = file.header("content-security-policy").unwrap_or_default();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
        for part in [
            "connect-src 'self'",
            "form-action 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", kept),
        ] {
            assert_eq!(file.header(name), Some(value), "{path}");
        }
        assert!(file.header("permissions-policy").is_some(), "{path}");
        let kind = file.header("content-type").unwrap_or_default();
        let expected = match path.rsplit_once('.') {
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(kind, expected, "{path}");
    }
}

/// During an upgrade of a zone, a page of one version may reach a server of another version.
#[tokio::test]
async fn a_request_for_another_version_gets_the_current_file_which_is_not_cached() {
    let server = TestServer::start().await;
    let ours = get(&server, "/web/src/main.js", &[]).await.expect(200);
    assert_eq!(ours.header("cache-control"), Some("no-cache"));
    let path = "/web/0123456789abcdef/src/main.js";
    let other = get(&server, path, &[]).await.expect(200);
    assert_eq!(other.header("cache-control"), Some("no-cache"));
    assert_eq!(other.body, ours.body);
    for path in [
        "/web/0123456789abcdef/nothing.js",
        "/web/0123456789abcdef",
        "/web/0123/src/main.js",
    ] {
        get(&server, path, &[]).await.expect(404);
    }
}

#[tokio::test]
async fn a_cached_file_is_not_sent_again_and_gzip_saves_most_of_it() {
    let server = TestServer::start().await;
    let path = "/web/src/main.js";
    let plain = get(&server, path, &[]).await.expect(200);
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("vary"), Some("accept-encoding"));
    let tag = plain.header("etag").unwrap().to_owned();
    let gzip = get(&server, path, &[("accept-encoding", "gzip, br")])
        .await
        .expect(200);
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    assert_eq!(gzip.header("etag"), Some(tag.as_str()));
    assert_eq!(gzip.body[..2], [0x1f, 0x8b]);
    assert!(gzip.body.len() < plain.body.len());
    let refused = get(&server, path, &[("accept-encoding", "gzip;q=0")]).await;
    assert_eq!(refused.header("content-encoding"), None);
    for known in [tag.clone(), format!("\"other\", {tag}")] {
        let again = get(&server, path, &[("if-none-match", &known)])
            .await
            .expect(304);
        assert!(again.body.is_empty());
        assert_eq!(again.header("etag"), Some(tag.as_str()));
        assert!(again.header("content-security-policy").is_some());
    }
    let other = get(&server, path, &[("if-none-match", "W/\"other\"")]).await;
    other.expect(200);
    let head = server.http().request("HEAD", path, &[], "").await;
    let head = head.expect(200);
    assert!(head.body.is_empty());
    assert_eq!(head.header("etag"), Some(tag.as_str()));
}

#[tokio::test]
async fn browsers_get_the_page_at_every_page_address_and_programs_get_problem_json() {
    let server = TestServer::start().await;
    let page = get(&server, "/", &[]).await.expect(200).text();
    for path in [
        "/setup?token=svc_set_0",
        "/login",
        "/spaces/a",
        "/no/such.page",
        "/apiary",
    ] {
        let answer = get(&server, path, &[BROWSER]).await.expect(200);
        assert_eq!(answer.text(), page, "{path}");
        // The page is served even with an unknown session.
        let headers = [BROWSER, ("cookie", "svc_session=svc_ses_0123")];
        get(&server, path, &headers).await.expect(200);
        let problem = get(&server, path, &[("accept", "*/*")]).await.expect(404);
        assert_eq!(problem.code(), "not_found", "{path}");
        let written = server.http().request("POST", path, &[BROWSER], "").await;
        assert_eq!(written.expect(404).code(), "not_found");
    }
    for (path, status) in [
        ("/api/nowhere", 401),
        ("/api", 401),
        ("/mcp/nowhere", 401),
        ("/agent", 401),
        ("/web/nowhere.js", 404),
        ("/web/", 404),
        // A path that is not UTF-8.
        ("/web/%ff", 404),
        ("/metrics/x", 404),
        ("/healthz/x", 404),
    ] {
        let answer = get(&server, path, &[BROWSER]).await.expect(status);
        let kind = answer.header("content-type");
        assert_eq!(kind, Some("application/problem+json"), "{path}");
    }
    let admin = server.admin().await;
    admin.get("/api/nowhere").await.expect(404);
    let written = server.http().request("POST", "/", &[], "").await;
    written.expect(405);
}

/// Checks the files in the binary and the files of a folder.
#[tokio::test]
async fn no_path_escapes_the_folder_of_files() {
    let folder = TempDir::new().unwrap();
    let outside = folder.path().join("secret.txt");
    std::fs::write(&outside, "secret\n").unwrap();
    let inside = folder.path().join("app");
    std::fs::create_dir_all(inside.join("src")).unwrap();
    std::fs::write(inside.join("index.html"), "<p>of the folder</p>").unwrap();
    std::fs::write(inside.join("src/main.js"), "1").unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link.txt")).unwrap();
    let variable = inside.to_str().unwrap();
    let from_folder = TestServer::builder().env("SVC_WEB_FOLDER", variable);
    let from_folder = from_folder.start().await;
    let embedded = TestServer::start().await;
    for server in [&from_folder, &embedded] {
        for path in [
            "/web/../secret.txt",
            "/web/%2e%2e/secret.txt",
            "/web/..%2fsecret.txt",
            "/web/src/../../secret.txt",
            "/web/src/%2e%2e/%2e%2e/secret.txt",
            "/web/%2e/index.html",
            "/web//index.html",
            "/web/src//main.js",
            "/web/src%5c..%5c..%5csecret.txt",
            "/web/%00",
            "/web/link.txt",
            "/web/src",
            "/web/src/",
            "/web/%2fetc/passwd",
        ] {
            let answer = get(server, path, &[]).await;
            assert!(
                [400, 404].contains(&answer.status),
                "{path}: {}",
                answer.status
            );
            assert!(!answer.text().contains("secret\n"), "{path}");
        }
        get(server, "/web/src/main.js", &[]).await.expect(200);
    }
    // Files of the folder are read without a restart.
    let page = get(&from_folder, "/", &[]).await.expect(200);
    assert_eq!(page.text(), "<p>of the folder</p>");
    std::fs::write(inside.join("index.html"), "changed").unwrap();
    let changed = get(&from_folder, "/", &[]).await.expect(200);
    assert_eq!(changed.text(), "changed");
    assert_ne!(changed.header("etag"), page.header("etag"));
}

#[tokio::test]
async fn every_file_of_the_interface_is_in_the_binary() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/app");
    let mut folders = vec![folder.clone()];
    let mut files = Vec::new();
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 50, "{files:?}");
    let server = TestServer::start().await;
    for file in files {
        let path = file.strip_prefix(&folder).unwrap().to_str().unwrap();
        let text = std::fs::read(&file).unwrap();
        // The build of the binary joins modules and stylesheets, and copies all other files.
        let is_in =
            |bundle: &WebFile, part: &str| str::from_utf8(bundle.bytes).unwrap().contains(part);
        if path.ends_with(".css") {
            let joined = FILES
                .iter()
                .find(|file| file.path == "styles/all.css")
                .unwrap();
            assert!(is_in(joined, str::from_utf8(&text).unwrap()), "{path}");
        } else if path.ends_with(".js") && path != "src/boot.js" {
            let heading = format!(" // {path}\n");
            let bundles = FILES.iter().filter(|file| file.path.ends_with(".js"));
            let count = bundles.filter(|bundle| is_in(bundle, &heading)).count();
            // The bundle of the web worker has copies of the modules that the worker imports.
            assert!(matches!(count, 1 | 2), "{path} is in {count} bundles");
        } else {
            let answer = get(&server, &format!("/web/{path}"), &[]).await.expect(200);
            assert_eq!(answer.body == text, path != "index.html", "{path}");
        }
    }
    for file in FILES {
        let answer = get(&server, &format!("/web/{}", file.path), &[]).await;
        assert_eq!(answer.expect(200).body, file.bytes, "{}", file.path);
    }
}
