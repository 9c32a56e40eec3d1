//! Frames of a worker: any invalid frame ends the worker at once.

use std::{
    ffi::OsString,
    time::{Duration, Instant},
};

use svc_script::{
    ErrorKind, Flavour,
    worker::{NoHost, Pool, PoolOptions, Program},
};

use crate::support::{KILL_AFTER, OUTPUT_MAX, SOON, patient_job, pool};

/// A pool whose worker starts correctly, then sends this frame and keeps running.
fn babbling(frame: &str) -> Pool {
    let ready = r#"\032\000\000\000{"ready":{"warning":null}}"#;
    let script = format!("printf '{ready}{frame}'; exec sleep 300");
    Pool::new(PoolOptions {
        program: Program {
            path: "sh".into(),
            args: ["-c", &script].map(OsString::from).to_vec(),
        },
        workers_max: 1,
        idle: Duration::from_secs(60),
        kill_after: KILL_AFTER,
        output_max: OUTPUT_MAX,
    })
}

#[tokio::test]
async fn a_worker_that_sends_invalid_frames_is_ended_at_once() {
    for (frame, why) in [
        // Not JSON, one byte over the limit of a frame, and a second `Ready`.
        (r"\001\000\000\000{", "EOF while parsing"),
        (r"\001\000\000\001", "more than the 16 MiB"),
        (
            r#"\032\000\000\000{"ready":{"warning":null}}"#,
            "could not be read",
        ),
    ] {
        let pool = babbling(frame);
        let start = Instant::now();
        let outcome = pool.run(patient_job(1, "pass", None), &NoHost).await;
        let error = outcome.result.expect_err("no answer");
        assert_eq!(error.kind, ErrorKind::Worker);
        assert!(error.message.contains(why), "{error}");
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        pool.close().await;
    }
}

/// The data of an error may be nested as deeply as a result, although the frame is JSON too.
#[tokio::test]
async fn the_data_of_an_error_may_be_nested_deeply() {
    let pool = pool(1, Duration::from_secs(60));
    for depth in [100, 122, 124, 126, 200] {
        let text = format!(
            "from svc import jsonrpc\ndata = 1\nfor _ in range({depth}):\n    data = [data]\n\
             jsonrpc.error(7, 'deep', data)\n"
        );
        let mut job = patient_job(1, &text, None);
        job.setting.flavour = Flavour::Space;
        let error = pool.run(job, &NoHost).await.result.expect_err("raised");
        let ErrorKind::Rpc(fault) = error.kind else {
            panic!("{depth}: {error:?}");
        };
        let data = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(fault.data.as_deref(), Some(data.as_str()));
        let object = format!(r#"{{"code":7,"message":"deep","data":{data}}}"#);
        assert_eq!(fault.to_json(), object);
    }
    pool.close().await;
}
