//! The setup of most tests of scripts.

use svc_testkit::{TestAgent, TestServer, TestSpace, TestUser};

/// Ann's space `lab`, with its agent. Fields are dropped in this order: the server last.
pub struct Lab {
    pub agent: TestAgent,
    pub space: TestSpace,
    pub ann: TestUser,
    pub server: TestServer,
}

impl Lab {
    pub async fn new() -> Self {
        let server = TestServer::start().await;
        let ann = server.user("ann").await;
        let space = ann.space("lab").await;
        let agent = space.agent().await;
        Self {
            agent,
            space,
            ann,
            server,
        }
    }
}
