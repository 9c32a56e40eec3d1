//! The attacker. It is a separate process, so that its CPU time can be measured. A control run,
//! without an attack, then uses the same amount of CPU time (`burn`).

use std::{
    io::BufRead,
    net::{SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use svc_testkit::{Http, TestServer};

use super::{
    attacks::{self, Attack},
    victim::Victim,
};
use crate::calls::processes::cpu_times;

/// User name of the attacker.
const NAME: &str = "mallory";
const SECOND_NAME: &str = "mallet";

/// The inputs of the attacker's process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Brief {
    pub url: String,
    pub address: SocketAddr,
    /// An unrestricted token of the attacker, who is an ordinary user.
    pub token: String,
    pub agent_tokens: Vec<String>,
    pub victim: String,
    /// The address of a receiver that never responds.
    pub hanging_url: String,
    /// The token of another user, who helps the attacker.
    pub second_token: String,
    /// The path of a record that the attacker owns, if the attack needs one.
    pub path: Option<String>,
}

impl Brief {
    /// Creates the attacker's user and the records the attack needs. `hanging` is a receiver that
    /// listens and never accepts.
    pub async fn prepare(
        attack: Attack,
        server: &TestServer,
        victim: &Victim,
        hanging: &TcpListener,
    ) -> anyhow::Result<Self> {
        let user = server.user(NAME).await;
        let agent_tokens = user.create_spaces(attack.spaces(), 8).await;
        let mut brief = Self {
            url: server.url().to_owned(),
            address: server.address(),
            token: user.token.clone(),
            agent_tokens,
            victim: victim.user.name.clone(),
            hanging_url: format!("http://{}/", hanging.local_addr()?),
            second_token: server.user(SECOND_NAME).await.token.clone(),
            path: None,
        };
        brief.path = attacks::prepare(attack, &brief).await?;
        Ok(brief)
    }

    pub fn http(&self) -> Http {
        Http::to_url(&self.url)
    }
}

/// The running process of the attacker.
pub struct Attacker(Child);

impl Attacker {
    pub async fn start(attack: Attack, brief: &Brief) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["attack", attack.name(), &serde_json::to_string(brief)?])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the attacker did not start")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            std::io::BufReader::new(stdout)
                .read_line(&mut line)
                .map(|_| line)
        })
        .await??;
        ensure!(line.trim() == "ready", "the attacker said `{line}`");
        Ok(Self(child))
    }

    pub fn cpu_time(&self) -> anyhow::Result<Duration> {
        Ok(cpu_times(&[self.0.id()])?.into_iter().sum())
    }

    pub async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.0.stdin.take());
        let ended = self.0.wait()?;
        ensure!(ended.success(), "the attacker ended with {ended}");
        Ok(())
    }
}

/// `svc-bench attack NAME BRIEF`: attacks until stdin ends or the time limit of attacks is over.
pub async fn attack(name: &str, brief: &str) -> anyhow::Result<()> {
    let brief: Brief = serde_json::from_str(brief)?;
    let attack = Attack::ALL
        .into_iter()
        .find(|attack| attack.name() == name)
        .with_context(|| format!("there is no attack `{name}`"))?;
    svc_testkit::raise_open_files_limit();
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let stdin = tokio::task::spawn_blocking(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        // Requests in flight are dropped.
        std::process::exit(0)
    });
    tokio::spawn(async move {
        if is_ready.await.is_ok() {
            println!("ready");
        }
    });
    tokio::select! {
        ended = attacks::run(attack, brief, ready) => ended,
        _ = stdin => Ok(()),
    }
}
