//! The three ways to look at a space. Dropping a probe ends all that it started.

use std::{net::Ipv4Addr, path::Path, process::Stdio};

use bytes::Bytes;
use http::{Request, Uri, header::HOST};
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use rustix::process::{Pid, Signal, kill_process_group};
use svc_core::space::Probe;
use svc_protocol::env::{ADMIN_PASSWORD, AGENT_TOKEN, SECRET_KEY};
use tokio::{net::TcpStream, process::Command};

/// Whether the space looks well.
pub async fn probe(probe: &Probe, folder: &Path) -> bool {
    match probe {
        Probe::None => true,
        Probe::Tcp { port } => TcpStream::connect((Ipv4Addr::LOCALHOST, *port))
            .await
            .is_ok(),
        Probe::Http { url } => get(url).await.is_some_and(|status| status.is_success()),
        Probe::Command { command } => run(command, folder).await,
    }
}

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
        // A connection that ends with its answer may be seen to end first.
        _ = &mut connection => answering.await,
    };
    Some(response.ok()?.status())
}

async fn run(command: &str, folder: &Path) -> bool {
    let child = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env_remove(AGENT_TOKEN)
        .env_remove(ADMIN_PASSWORD)
        .env_remove(SECRET_KEY)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(%error, "the command of the health check cannot be run");
            return false;
        }
    };
    let _group = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
        .map(Group);
    child.wait().await.is_ok_and(|status| status.success())
}

/// A process group that ends with this value: at a timeout nothing of the command is left.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}
