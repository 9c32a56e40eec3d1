//! Starts the services whose calls are measured, and the reference programs to compare them with.

use svc_testkit::{
    RegistrationToml, SimulatedAgents, TestAgent, TestServer, TestServerBuilder, TestSpace,
    TestUser, method, raise_open_files_limit,
};

use super::{
    Settings,
    cases::{Case, Target},
    exchange::body,
    references::Reference,
    registering,
};

pub const SMALL: usize = 100;
const LARGE: usize = 16 * 1024;
/// A service with more methods than this needs larger quotas than the default.
const FEW_METHODS: usize = 10_000;
/// Methods of one simulated agent.
const METHODS_PER_LINK: usize = 1_000;

pub struct Stage {
    bare: Reference,
    stdio: Reference,
    /// A service with the measured methods and 1,000 other methods.
    few: Service,
    /// A service with the measured methods and 100,000 other methods.
    many: Option<Service>,
}

/// A server and an agent that publishes `echo`.
pub struct Service {
    server: TestServer,
    owner: TestUser,
    pub target: Target,
    _agent: TestAgent,
    _space: TestSpace,
    _others: SimulatedAgents,
}

impl Service {
    pub async fn start(others: usize) -> anyhow::Result<Self> {
        Self::start_on(TestServer::builder(), others).await
    }

    pub async fn start_on(server: TestServerBuilder, others: usize) -> anyhow::Result<Self> {
        // Set the quotas only if required: `compare` may start an old build that rejects the
        // setting.
        let server = match others > FEW_METHODS {
            true => server.large_quotas(),
            false => server,
        };
        let server = server.start().await;
        let ann = server.user("ann").await;
        let space = ann.space("lab").await;
        let program = std::env::current_exe()?;
        let registration = RegistrationToml::of(&program, &["echo-method-server"])
            .with(method("echo", "echo"))
            .with(method("lab.echo", "echo").shared());
        let mut agent = space.publish(registration).await;
        let method_server = agent.method_server_pid().await;
        let processes = vec![server.id(), agent.process().id(), method_server];
        let tokens = ann
            .create_spaces(others.div_ceil(METHODS_PER_LINK), 16)
            .await;
        let each = others.min(METHODS_PER_LINK);
        let others = SimulatedAgents::link(server.address(), tokens, each, 16).await;
        let target = Target {
            address: server.address(),
            token: ann.token.clone(),
            processes,
        };
        Ok(Self {
            server,
            owner: ann,
            target,
            _agent: agent,
            _space: space,
            _others: others,
        })
    }
}

impl Stage {
    pub async fn set(settings: &Settings) -> anyhow::Result<Self> {
        raise_open_files_limit();
        let many = match settings.scale {
            true => Some(Service::start(100_000).await?),
            false => None,
        };
        Ok(Self {
            bare: Reference::start("bare-echo")?,
            stdio: Reference::start("http-to-stdio")?,
            few: Service::start(1_000).await?,
            many,
        })
    }

    pub async fn cases(&self) -> anyhow::Result<Vec<Case>> {
        let bare = target(&self.bare, vec![self.bare.id()]);
        let children = svc_testkit::children_of(self.stdio.id());
        let stdio = target(
            &self.stdio,
            std::iter::once(self.stdio.id()).chain(children).collect(),
        );
        let few = &self.few.target;
        let mut cases = Vec::new();
        for connections in [1, 16, 64] {
            for (name, target) in [("B", &bare), ("C", &stdio), ("svc", few)] {
                let name = format!("{name} {connections}");
                let case = Case::new(&name, target, connections, body("echo", SMALL, 1)).await?;
                cases.push(case.counting_system_calls());
            }
        }
        let bob = self.few.server.user("bob").await;
        let others = Target {
            token: bob.token,
            ..few.clone()
        };
        let more = [
            ("B 16 KB", &bare, body("echo", LARGE, 1)),
            ("C 16 KB", &stdio, body("echo", LARGE, 1)),
            ("svc 16 KB", few, body("echo", LARGE, 1)),
            ("svc batch", few, body("echo", SMALL, 100)),
            (
                "svc user name",
                &others,
                body("user.ann.lab.echo", SMALL, 1),
            ),
            ("svc bare name", few, body("lab.echo", SMALL, 1)),
        ];
        for (name, target, body) in more {
            cases.push(Case::new(name, target, 64, body).await?);
        }
        if let Some(many) = &self.many {
            let body = body("echo", SMALL, 1);
            cases.push(Case::new("svc 100k methods", &many.target, 64, body).await?);
        }
        Ok(cases)
    }

    /// Microseconds of each registration of ten methods on the server with 100,000 methods.
    pub async fn registration(&self) -> anyhow::Result<Option<Vec<f64>>> {
        match &self.many {
            Some(many) => Ok(Some(registering::measure(&many.server, &many.owner).await?)),
            None => Ok(None),
        }
    }
}

/// A case with one connection, and its own service.
pub struct Serial {
    case: Case,
    _service: Service,
}

impl Serial {
    pub async fn system_calls(&self) -> anyhow::Result<Option<f64>> {
        self.case.system_calls().await
    }
}

pub async fn serial_case() -> anyhow::Result<Serial> {
    let service = Service::start(0).await?;
    let case = Case::new("svc 1", &service.target, 1, body("echo", SMALL, 1)).await?;
    Ok(Serial {
        case,
        _service: service,
    })
}

fn target(reference: &Reference, processes: Vec<u32>) -> Target {
    Target {
        address: reference.address,
        token: "none".to_owned(),
        processes,
    }
}
