//! Several servers on one PostgreSQL database, each with a data folder and a port of its own.

use crate::{
    postgres::{TestDatabase, TestPostgres},
    server::{TestServer, TestServerBuilder},
    user::TestUser,
};

pub struct TestZone {
    members: Vec<Member>,
    database: TestDatabase,
}

struct Member {
    server: TestServer,
    admin: TestUser,
}

impl TestZone {
    /// Starts this many servers on a fresh database.
    pub async fn start(postgres: &TestPostgres, servers: usize) -> Self {
        Self::start_with(postgres, servers, |builder| builder).await
    }

    /// Like [`start`](Self::start), with servers that are announced to agents: an agent links to
    /// each.
    pub async fn start_announced(postgres: &TestPostgres, servers: usize) -> Self {
        Self::start_with(postgres, servers, TestServerBuilder::announced).await
    }

    /// Like [`start`](Self::start), with servers that `configure` has configured. The servers start
    /// one after the other: the first creates the administrator, and the others find it.
    pub async fn start_with(
        postgres: &TestPostgres,
        servers: usize,
        configure: impl Fn(TestServerBuilder) -> TestServerBuilder,
    ) -> Self {
        Self::start_on(postgres.database(), servers, configure).await
    }

    /// Like [`start_with`](Self::start_with), on an existing database.
    pub async fn start_on(
        database: TestDatabase,
        servers: usize,
        configure: impl Fn(TestServerBuilder) -> TestServerBuilder,
    ) -> Self {
        let mut members = Vec::new();
        for _ in 0..servers {
            let builder = configure(TestServer::builder()).database_url(&database.url);
            let server = builder.start().await;
            let admin = server.admin().await;
            members.push(Member { server, admin });
        }
        Self { members, database }
    }

    pub fn database(&self) -> &TestDatabase {
        &self.database
    }

    pub fn server(&self, member: usize) -> &TestServer {
        &self.members[member].server
    }

    pub fn server_mut(&mut self, member: usize) -> &mut TestServer {
        &mut self.members[member].server
    }

    /// The administrator at this member. The token is valid at every member, also after a restart.
    pub fn admin(&self, member: usize) -> &TestUser {
        &self.members[member].admin
    }

    /// SIGSTOP: the server keeps its connections and sends no response.
    pub fn freeze(&self, member: usize) {
        self.server(member).freeze();
    }

    /// SIGCONT.
    pub fn thaw(&self, member: usize) {
        self.server(member).thaw();
    }

    /// SIGKILL.
    pub fn kill(&mut self, member: usize) {
        self.server_mut(member).kill9();
    }

    /// Starts a member again with its data folder and port. If the member still runs, frozen or
    /// not, SIGTERM ends it first.
    pub async fn restart(&mut self, member: usize) {
        let server = self.server_mut(member);
        if server.process().exit_status().is_some() {
            return server.start_again().await;
        }
        server.thaw();
        server.restart().await;
    }
}
