//! The files of `examples/monitoring` name only metrics that a server has.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use svc_testkit::{TestServer, found_or_skipped};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/monitoring")
}

/// The names that begin with `svc_` in a text.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("svc_"));
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn every_metric_of_the_rules_and_the_dashboard_exists() {
    let server = TestServer::start().await;
    let shown = server
        .admin()
        .await
        .get("/metrics")
        .await
        .expect(200)
        .text();
    let manual = folder().join("../../docs/OPERATIONS.md");
    let manual = std::fs::read_to_string(manual).expect("the manual");
    // A server shows a metric with labels only after the first value. The manual lists
    // all metrics.
    let documented = metrics_in(&manual);
    for family in metrics_in(&shown) {
        let is_documented =
            |name: &String| name.strip_suffix("_total").unwrap_or(name) == series(&family);
        assert!(
            documented.iter().any(is_documented),
            "`{family}` is not documented"
        );
    }
    for name in ["alerts.yml", "grafana.json"] {
        let text = std::fs::read_to_string(folder().join(name)).expect("the file");
        let used = metrics_in(&text);
        assert!(used.len() > 5, "{name}: {used:?}");
        for metric in used {
            let bare = metric.strip_suffix("_bucket").unwrap_or(&metric);
            assert!(documented.contains(bare), "{name}: {metric}");
        }
    }
}

/// The name of a metric without the suffix that counters and histograms add.
fn series(line: &str) -> &str {
    let ends = ["_total", "_bucket", "_sum", "_count"];
    let end = ends.iter().find_map(|end| line.strip_suffix(end));
    end.unwrap_or(line)
}

#[test]
fn the_dashboard_is_json_with_a_query_in_each_panel() {
    let text = std::fs::read_to_string(folder().join("grafana.json")).expect("the file");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for panel in dashboard["panels"].as_array().expect("panels") {
        let targets = panel["targets"].as_array().expect("targets");
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            assert!(
                target["expr"]
                    .as_str()
                    .is_some_and(|it| it.contains("svc_")),
                "{panel}"
            );
        }
    }
}

#[test]
fn promtool_accepts_the_rules_and_their_tests_pass() {
    let version = Command::new("promtool").arg("--version").output();
    let installed = version.map(|_| ()).map_err(|error| error.to_string());
    if found_or_skipped(installed, "SVC_REQUIRE_JUDGES", "promtool is missing").is_none() {
        return;
    }
    for arguments in [
        ["check", "config", "prometheus.yml"],
        ["check", "rules", "alerts.yml"],
        ["test", "rules", "alerts.test.yml"],
    ] {
        let output = Command::new("promtool")
            .args(arguments)
            .current_dir(folder())
            .output();
        let output = output.expect("promtool runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
}
