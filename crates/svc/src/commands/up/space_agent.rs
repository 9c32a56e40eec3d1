//! Finds the agent of the demo space by its discovery file, and registers methods with it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::json;
use svc_client::{AgentClient, Client, Target};
use svc_protocol::{
    agent_api::{DISCOVERY_FILE, Discovery, FOLDER},
    api::MethodQuery,
};
use tokio::time::sleep;

use super::{Ready, registering};
use crate::exit::{Exit, Failure};

/// A demo method to test calls with; it has no side effects.
const PROBE: &str = "math.add";

/// Time for the agent to link and to register its methods. Longer than an agent waits for a startup
/// script (60 s).
const READY_WITHIN: Duration = Duration::from_secs(90);
/// Time between two checks whether the agent is ready.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time between two checks whether the agent was restarted.
const RESTART_CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub struct SpaceAgent {
    discovery_file: PathBuf,
    methods_file: PathBuf,
    /// The process id of the agent with which the methods were registered.
    registered_pid: Option<u32>,
}

pub struct Registered {
    pub discovery: Discovery,
    pub methods: Vec<String>,
}

impl SpaceAgent {
    pub fn new(space_folder: &Path, methods_file: PathBuf) -> Self {
        Self {
            discovery_file: space_folder.join(FOLDER).join(DISCOVERY_FILE),
            methods_file,
            registered_pid: None,
        }
    }

    /// Waits until the agent is linked, then registers the methods.
    pub async fn register(&mut self) -> Result<Registered, Failure> {
        let begun = Instant::now();
        while begun.elapsed() < READY_WITHIN {
            if let Some((discovery, agent)) = self.find_linked().await {
                return self.register_with(discovery, &agent).await;
            }
            sleep(POLL_INTERVAL).await;
        }
        Err(
            Failure::timeout("the agent of the demo space is not linked")
                .why(format!("waited {} s", READY_WITHIN.as_secs()))
                .hint("SVC_LOG=info svc up shows the agent's log"),
        )
    }

    /// Registers again whenever the server has started a new agent. Never returns.
    pub async fn keep_registered(&mut self) {
        loop {
            sleep(RESTART_CHECK_INTERVAL).await;
            let found = self.find();
            if found.is_none_or(|found| Some(found.pid) == self.registered_pid) {
                continue;
            }
            if let Some((discovery, agent)) = self.find_linked().await
                && let Err(failure) = self.register_with(discovery, &agent).await
            {
                let (what, why) = (failure.what, failure.why.unwrap_or_default());
                tracing::warn!("the demo space's methods are not registered: {what} {why}");
            }
        }
    }

    fn find(&self) -> Option<Discovery> {
        let bytes = std::fs::read(&self.discovery_file).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Finds the agent if it is ready: it runs, is linked, and has finished the registration of its
    /// own methods file. Before that, the agent could replace the methods that `svc up` registers
    /// by those of its own file. The discovery file may belong to an earlier agent, so the process
    /// ids are compared.
    async fn find_linked(&self) -> Option<(Discovery, AgentClient)> {
        let discovery = self.find()?;
        let agent = AgentClient::new(&discovery.agent_socket);
        let status = agent.status().await.ok()?;
        let is_ready = status.linked && status.startup_done;
        (is_ready && status.pid == discovery.pid).then_some((discovery, agent))
    }

    async fn register_with(
        &mut self,
        discovery: Discovery,
        agent: &AgentClient,
    ) -> Result<Registered, Failure> {
        let registered = registering::register(&self.methods_file, &discovery, agent).await?;
        self.registered_pid = Some(discovery.pid);
        Ok(Registered {
            discovery,
            methods: registered.methods,
        })
    }
}

/// Waits until every method has a provider and, for the demo methods, until a call succeeds.
pub async fn wait_for_calls(ready: &Ready) -> Result<(), Failure> {
    let target = Target::parse(&ready.url, None)?;
    let client = Client::new(target).with_token(&ready.state.token);
    let begun = Instant::now();
    loop {
        let failure = match try_calls(&client, ready).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        if begun.elapsed() > READY_WITHIN {
            return Err(failure.doing("the demo space's methods cannot be called"));
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn try_calls(client: &Client, ready: &Ready) -> Result<(), Failure> {
    let listed = client.methods(&MethodQuery::default()).await?;
    for name in &ready.registered.methods {
        let mut methods = listed.methods.iter();
        if !methods.any(|method| method.name == *name && method.provider_count > 0) {
            return Err(Failure::unreachable(format!(
                "method `{name}` has no provider yet"
            )));
        }
    }
    if ready.registered.methods.iter().any(|name| name == PROBE) {
        let response = client.call(PROBE, &json!({"a": 1, "b": 2})).await?;
        if let Some(error) = response.error {
            return Err(Failure::new(Exit::MethodError, error.get().to_owned()));
        }
    }
    Ok(())
}
