//! Reads the startup script of the space, the libraries of its owner and the global libraries from
//! the server's HTTP API.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::{HeaderMap, Method};
use serde::de::DeserializeOwned;
use svc_client::{Answer, Client};
use svc_core::SpaceId;
use svc_protocol::api::{Script, ScriptKind, ScriptOwner, Scripts, Space};
use thiserror::Error;

use crate::servers::{Clients, Servers};

/// Scripts per request.
const PAGE: u32 = 50;
/// The maximum size of a response: enough for a page of scripts of the maximum size.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The maximum size of all libraries together.
const LIBRARIES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The maximum number of libraries.
const LIBRARIES_MAX: usize = 1_000;

#[derive(Debug, Error)]
pub enum ServerApiError {
    #[error("{0}")]
    Client(#[from] svc_client::Error),
    /// The server answered with a status of 500 or higher.
    #[error("{0}")]
    ServerFailure(svc_client::Error),
    #[error("this version of svc cannot read the server's answer to `{path}`: {source}")]
    Answer {
        path: String,
        source: serde_json::Error,
    },
    #[error("the server's answer to `{0}` has an invalid `next_cursor`")]
    InvalidCursor(String),
    #[error(
        "there are more than {LIBRARIES_MAX} libraries, or they have more than {LIBRARIES_BYTES_MAX} bytes together; delete some, see `svc script list`"
    )]
    TooManyLibraries,
    #[error("script `{name}` is of kind `{kind}`, not `startup`; see `svc script list`")]
    WrongKind { name: String, kind: String },
}

impl ServerApiError {
    /// Whether a retry can help.
    pub fn is_temporary(&self) -> bool {
        use svc_client::Error;
        matches!(
            self,
            Self::ServerFailure(_)
                | Self::Client(Error::Unreachable { .. } | Error::Timeout { .. })
        )
    }
}

pub struct ServerApi {
    clients: Clients,
}

impl ServerApi {
    pub fn new(servers: Arc<Servers>, agent_token: &str, connect_timeout: Duration) -> Self {
        let policy = svc_client::Policy {
            connect_timeout,
            answer_bytes_max: ANSWER_BYTES_MAX,
            idle_max: 1,
            ..svc_client::Policy::default()
        };
        Self {
            clients: Clients::new(servers, agent_token, policy),
        }
    }

    /// The startup script of a space, if it has one.
    pub async fn find_startup_script(
        &self,
        space: SpaceId,
    ) -> Result<Option<Script>, ServerApiError> {
        let space: Space = self.get(&format!("/api/spaces/{space}")).await?;
        let Some(id) = space.startup_script_id else {
            return Ok(None);
        };
        let script: Script = self.get(&format!("/api/scripts/{id}")).await?;
        if script.kind != ScriptKind::Startup {
            return Err(ServerApiError::WrongKind {
                kind: format!("{:?}", script.kind).to_lowercase(),
                name: script.name,
            });
        }
        Ok(Some(script))
    }

    /// Name and source of the owner's libraries and of the global libraries, sorted by name. A
    /// library of the owner replaces a global library of the same name.
    pub async fn libraries(&self) -> Result<Vec<(String, String)>, ServerApiError> {
        let mut libraries = BTreeMap::new();
        let mut bytes = 0;
        let mut count = 0;
        let mut cursor: Option<String> = None;
        loop {
            let mut path = format!("/api/scripts?kind=library&limit={PAGE}");
            if let Some(cursor) = &cursor {
                path.push_str("&cursor=");
                path.push_str(cursor);
            }
            let page: Scripts = self.get(&path).await?;
            count += page.scripts.len();
            for script in page.scripts {
                bytes += script.source.len();
                if bytes > LIBRARIES_BYTES_MAX || count > LIBRARIES_MAX {
                    return Err(ServerApiError::TooManyLibraries);
                }
                add_library(&mut libraries, script);
            }
            match page.next_cursor {
                None => break,
                // A repeated cursor would loop forever. A cursor with special characters could add
                // parameters to the request.
                Some(next) if cursor.as_ref() == Some(&next) || !is_plain(&next) => {
                    return Err(ServerApiError::InvalidCursor(path));
                }
                next => cursor = next,
            }
        }
        Ok(libraries.into_iter().collect())
    }

    /// Sends the request to the current server. If a server cannot be reached, tries the next one.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ServerApiError> {
        let mut unreachable = None;
        for client in self.clients.in_turn() {
            let asking = client.send_raw(Method::GET, path, HeaderMap::new(), None, None);
            match asking.await {
                Ok(answer) => return read(&client, path, &answer),
                Err(error @ svc_client::Error::Unreachable { .. }) => {
                    unreachable.get_or_insert(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(unreachable.expect("there is at least one server").into())
    }
}

fn read<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    answer: &Answer,
) -> Result<T, ServerApiError> {
    if !answer.status.is_success() {
        let problem = client.problem(answer.status, &answer.body);
        return Err(if answer.status.is_server_error() {
            ServerApiError::ServerFailure(problem)
        } else {
            ServerApiError::Client(problem)
        });
    }
    serde_json::from_slice(&answer.body).map_err(|source| ServerApiError::Answer {
        path: path.to_owned(),
        source,
    })
}

fn add_library(libraries: &mut BTreeMap<String, String>, script: Script) {
    if script.kind != ScriptKind::Library || !is_module_name(&script.name) {
        tracing::warn!(script.name = %script.name, "a script cannot be imported as a library");
        return;
    }
    if script.owner == ScriptOwner::User || !libraries.contains_key(&script.name) {
        libraries.insert(script.name, script.source);
    }
}

/// Whether `import name` can find a file of this name. Also excludes names such as `../x`: in the
/// zip archive of the libraries, their files would be outside the archive's folder.
fn is_module_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn is_plain(cursor: &str) -> bool {
    cursor
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}
