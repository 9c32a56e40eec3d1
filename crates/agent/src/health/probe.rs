//! The three kinds of probes: TCP, HTTP and command. Dropping the future of a command probe kills
//! the process group of the command.

use std::{net::Ipv4Addr, path::Path, process::Stdio, sync::Arc};

use bytes::Bytes;
use http::{Request, Uri, header::HOST};
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use svc_core::space::Probe;
use tokio::{net::TcpStream, process::Command};

use crate::{
    child::{ProcessGroup, withhold_credentials},
    guard::Guard,
};

/// Returns whether the probe succeeds. [`Probe::None`] always succeeds.
pub async fn probe(probe: &Probe, folder: &Path, guard: &Arc<Guard>) -> bool {
    match probe {
        Probe::None => true,
        Probe::Tcp { port } => TcpStream::connect((Ipv4Addr::LOCALHOST, *port))
            .await
            .is_ok(),
        Probe::Http { url } => get(url).await.is_some_and(|status| status.is_success()),
        Probe::Command { command } => run(command, folder, guard).await,
    }
}

/// The status that the program of the space answers. Ambiguous answers are accepted here: only the
/// status is used, and each connection has one answer.
async fn get(url: &str) -> Option<http::StatusCode> {
    let uri: Uri = url.parse().ok()?;
    let authority = uri.authority()?;
    let host = authority.host().trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(80)))
        .await
        .ok()?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .ok()?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(HOST, authority.as_str())
        .body(Empty::<Bytes>::new())
        .ok()?;
    let answering = sender.send_request(request);
    tokio::pin!(answering, connection);
    let response = tokio::select! {
        response = &mut answering => response,
        // The connection may end directly after its response. Then the response is ready.
        _ = &mut connection => answering.await,
    };
    Some(response.ok()?.status())
}

async fn run(command: &str, folder: &Path, guard: &Arc<Guard>) -> bool {
    let mut shell = Command::new("sh");
    withhold_credentials(&mut shell);
    let child = shell
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(%error, "cannot run the command of the health check");
            return false;
        }
    };
    let _group = ProcessGroup::led_by(&child, guard);
    child.wait().await.is_ok_and(|status| status.success())
}
