//! Finds the agent of the demo space by its discovery file, and registers methods with it.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::json;
use svc_client::{AgentClient, Client, Target};
use svc_protocol::{
    agent_api::{DISCOVERY_FILE, Discovery, FOLDER},
    api::MethodQuery,
};
use tokio::time::sleep;

use super::{Ready, UpPolicy, registering};
use crate::exit::{Exit, Failure};

/// A demo method to test calls with; it has no side effects.
const PROBE: &str = "math.add";

pub struct SpaceAgent {
    discovery_file: PathBuf,
    methods_file: PathBuf,
    policy: UpPolicy,
    /// The process id of the agent with which the methods were registered.
    registered_pid: Option<u32>,
}

pub struct Registered {
    pub discovery: Discovery,
    pub methods: Vec<String>,
}

impl SpaceAgent {
    pub fn new(space_folder: &Path, methods_file: PathBuf, policy: UpPolicy) -> Self {
        Self {
            discovery_file: space_folder.join(FOLDER).join(DISCOVERY_FILE),
            methods_file,
            policy,
            registered_pid: None,
        }
    }

    /// Waits until the agent is linked, then registers the methods.
    pub async fn register(&mut self) -> Result<Registered, Failure> {
        let begun = Instant::now();
        while begun.elapsed() < self.policy.ready_within {
            if let Some((discovery, agent)) = self.find_linked().await {
                return self.register_with(discovery, &agent).await;
            }
            sleep(self.policy.poll_interval).await;
        }
        Err(
            Failure::new(Exit::Timeout, "the agent of the demo space is not linked")
                .why(format!("waited {} s", self.policy.ready_within.as_secs()))
                .hint("SVC_LOG=info svc up shows the agent's log"),
        )
    }

    /// Registers again whenever the server has started a new agent. Never returns.
    pub async fn keep_registered(&mut self) {
        loop {
            sleep(self.policy.restart_check_interval).await;
            if self
                .find()
                .is_none_or(|found| Some(found.pid) == self.registered_pid)
            {
                continue;
            }
            if let Some((discovery, agent)) = self.find_linked().await
                && let Err(failure) = self.register_with(discovery, &agent).await
            {
                let why = failure.why.unwrap_or_default();
                tracing::warn!(
                    "the demo space's methods are not registered: {} {why}",
                    failure.what
                );
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
pub async fn wait_for_calls(ready: &Ready, policy: UpPolicy) -> Result<(), Failure> {
    let target = Target::parse(&ready.url, None)?;
    let client = Client::new(target).with_token(&ready.token);
    let begun = Instant::now();
    loop {
        let failure = match try_calls(&client, ready).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        if begun.elapsed() > policy.ready_within {
            return Err(failure.doing("the demo space's methods cannot be called"));
        }
        sleep(policy.poll_interval).await;
    }
}

async fn try_calls(client: &Client, ready: &Ready) -> Result<(), Failure> {
    let listed = client.methods(&MethodQuery::default()).await?;
    for name in &ready.methods {
        let provided = listed
            .methods
            .iter()
            .any(|method| method.name == *name && method.provider_count > 0);
        if !provided {
            let what = format!("method `{name}` has no provider yet");
            return Err(Failure::new(Exit::Unreachable, what));
        }
    }
    if ready.methods.iter().any(|name| name == PROBE) {
        let response = client.call(PROBE, &json!({"a": 1, "b": 2})).await?;
        if let Some(error) = response.error {
            return Err(Failure::new(Exit::MethodError, error.get().to_owned()));
        }
    }
    Ok(())
}
