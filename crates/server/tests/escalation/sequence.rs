//! One sequence: creates users, then sends random requests and checks each answer.

mod apps;
mod credentials;
mod population;
mod provider;

use serde_json::Value;

use crate::{
    effects,
    model::{CredIx, Kind, Model, UserIx},
    rng::Rng,
    rules::{self, Caller, Violation, needed},
    steps::{Act, CHANGES, Draft, PRELUDES, Plan},
    views::{self, READS},
    world::{Answer, Auth, World},
};

/// The first user of a sequence holds every permission.
const OWNER: UserIx = 0;

/// The broken rule, and the log of the sequence.
#[derive(Debug, Clone)]
pub struct Failure {
    pub violation: Violation,
    pub log: Vec<String>,
}

/// For each route, the number of requests and how many succeeded.
pub type Coverage = std::collections::BTreeMap<String, (u64, u64)>;

pub struct Sequence<'a> {
    world: &'a World,
    model: Model,
    log: Vec<String>,
    ignored_rules: Vec<String>,
    pub coverage: Coverage,
    pub requests: u64,
}

/// The seeds of the steps of a sequence.
pub fn step_seeds(seed: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed);
    let count = 5 + rng.below(26);
    (0..count).map(|_| rng.next()).collect()
}

impl<'a> Sequence<'a> {
    pub fn new(world: &'a World, ignored_rules: Vec<String>) -> Self {
        Self {
            world,
            model: Model::default(),
            log: Vec::new(),
            ignored_rules,
            coverage: Coverage::new(),
            requests: 0,
        }
    }

    /// Runs the sequence of `seed` with these steps.
    pub async fn run(&mut self, seed: u64, steps: &[u64]) -> Result<(), Failure> {
        let outcome = self.run_steps(seed, steps).await;
        // Withdraw the methods: the model of the next sequence does not contain them.
        for method in &self.model.methods {
            self.world.withdraw(&self.model.spaces[method.space].id);
        }
        outcome
    }

    async fn run_steps(&mut self, seed: u64, steps: &[u64]) -> Result<(), Failure> {
        let mut rng = Rng::new(!seed);
        self.populate(&mut rng).await?;
        for &step in steps {
            self.step(step).await?;
        }
        self.check_credentials().await?;
        // After this time, every token of `POST /api/tokens` with an expiry has expired.
        self.pass_days(25);
        self.check_credentials().await
    }

    fn pass_days(&mut self, days: i64) {
        self.world.pass_days(days);
        self.log.push(format!("{days} days pass"));
    }

    async fn step(&mut self, seed: u64) -> Result<(), Failure> {
        let mut rng = Rng::new(seed);
        if rng.percent(4) {
            let days = 1 + rng.below(12);
            self.pass_days(days as i64);
        }
        if rng.percent(6) {
            self.use_provider(&mut rng).await?;
        } else if rng.percent(30) {
            self.read(&mut rng).await?;
        } else {
            self.change(&mut rng).await?;
        }
        if rng.percent(25) {
            self.try_ended_credential(&mut rng).await?;
        }
        Ok(())
    }

    /// Picks a credential for a request: usually one that may use the route.
    fn choose(&self, rng: &mut Rng, (method, route): (&str, &str)) -> CredIx {
        let needs = needed(method, route);
        let for_agents = rules::is_for_agents(method, route);
        let all: Vec<_> = (0..self.model.creds.len()).collect();
        let opens = |&cred: &CredIx| {
            let record = &self.model.creds[cred];
            let is_agent = matches!(record.kind, Kind::Agent { .. });
            !record.kind.is_scoped()
                && (for_agents || !is_agent)
                && self.model.is_alive(cred)
                && (!record.enrolling || rules::is_for_enrolling(method, route))
                && self.model.perms(record.subject).has_any(needs)
        };
        let opening: Vec<_> = all.iter().copied().filter(opens).collect();
        // The first user may do everything and so breaks no rule. Therefore other users act more
        // often.
        let others: Vec<_> = opening
            .iter()
            .copied()
            .filter(|&cred| self.model.creds[cred].holder != OWNER)
            .collect();
        let drawn = match rng.below(20) {
            0..=1 => None,
            2..=4 => rng.pick(&opening),
            _ => rng.pick(&others).or_else(|| rng.pick(&opening)),
        };
        drawn.unwrap_or_else(|| rng.pick(&all).expect("users have credentials"))
    }

    fn caller(&self, cred: CredIx) -> Caller {
        let record = &self.model.creds[cred];
        Caller {
            person: record.holder,
            subject: record.subject,
            cred: Some(cred),
            perms: self.model.perms(record.subject),
        }
    }

    fn draft<'b>(&'b self, rng: &'b mut Rng, caller: &Caller) -> Draft<'b> {
        Draft {
            rng,
            model: &self.model,
            world: self.world,
            person: caller.person,
            subject: caller.subject,
        }
    }

    async fn change(&mut self, rng: &mut Rng) -> Result<(), Failure> {
        let total: usize = CHANGES.iter().map(|row| row.2).sum();
        let mut at = rng.below(total);
        let row = CHANGES.iter().find(|row| {
            let hit = at < row.2;
            at = at.saturating_sub(row.2);
            hit
        });
        let (method, route, _, generate) = row.expect("weights add up");
        let cred = self.choose(rng, (method, route));
        // A session may have been opened with an account at the provider. A grant that is made in
        // such a session ends when the account is unlinked. The model lacks this rule, so no such
        // grant is made here. `crates/svc/tests/it/oidc` tests that such grants end after a logout
        // at the provider.
        let grants = ["/api/oauth/requests/{id}", "/api/oauth/devices/{user_code}"];
        if self.model.creds[cred].identity.is_some() && grants.contains(route) {
            return Ok(());
        }
        let prelude = PRELUDES.iter().find(|(of, _)| of == route);
        if let Some((_, first)) = prelude.filter(|_| *method == "POST" && rng.percent(70)) {
            self.send_as(rng, cred, first).await?;
        }
        let caller = self.caller(cred);
        if *route == "/api/oauth/requests/{id}" {
            self.ask(rng, &caller).await;
        }
        self.model.now = self.world.now();
        let plan = generate(&mut self.draft(rng, &caller));
        match plan {
            Some(plan) => self
                .request(caller, (method, route), plan)
                .await
                .map(|_| ()),
            None => Ok(()),
        }
    }

    /// Sends the `POST` request of [`CHANGES`] to `route` with a credential.
    async fn send_as(&mut self, rng: &mut Rng, cred: CredIx, route: &str) -> Result<(), Failure> {
        let row = CHANGES.iter().find(|row| row.0 == "POST" && row.1 == route);
        let (method, route, _, generate) = row.expect("a route of the table");
        let caller = self.caller(cred);
        self.model.now = self.world.now();
        let plan = generate(&mut self.draft(rng, &caller));
        match plan {
            Some(plan) => self
                .request(caller, (method, route), plan)
                .await
                .map(|_| ()),
            None => Ok(()),
        }
    }

    /// Sends a request, checks the answer and applies the change to the model.
    async fn request(
        &mut self,
        caller: Caller,
        (method, route): (&str, &str),
        plan: Plan,
    ) -> Result<Answer, Failure> {
        let Plan { path, body, act } = plan;
        let sent = format!("{path} {}", body.clone().unwrap_or_default());
        self.model.now = self.world.now();
        let before = self.authorities();
        let anonymous = act.is_anonymous();
        let answer = self.send(&caller, anonymous, (method, &path), body).await;
        self.log_answer(&caller, (method, route), &sent, &answer);
        let mut found = rules::judge_route(&self.model, &caller, (method, &path), &answer);
        let mut made = None;
        if answer.is_success() {
            self.record_marker_owners(&caller, &sent);
            found.extend(rules::judge(&self.model, &caller, &act, &answer));
            if let Act::DeleteSpace { space } = act {
                self.world.withdraw(&self.model.spaces[space].id);
                self.model.methods.retain(|method| method.space != space);
            }
            made = effects::apply(&mut self.model, &caller, act, &answer);
            if let Some(cred) = made {
                self.read_session_id(cred);
                self.read_grant_id(cred).await;
                found.extend(self.judge_new(&caller, anonymous, cred));
            }
            found.extend(self.judge_growth(&caller, &before));
        }
        // The answer to a login is for the user who logged in.
        let logins = [
            "/api/auth/login",
            "/api/auth/second-factor",
            "/api/auth/passkeys/login",
        ];
        let logged_in = made.filter(|_| logins.contains(&path.as_str()));
        let viewer = logged_in.map(|session| self.caller(session));
        found.extend(views::judge_markers(
            &self.model,
            viewer.as_ref().unwrap_or(&caller),
            &path,
            &sent,
            &answer,
        ));
        found.extend(self.judge_leaks(made, &answer));
        self.fail_on_first(found)?;
        Ok(answer)
    }

    async fn send(
        &mut self,
        caller: &Caller,
        anonymous: bool,
        (method, path): (&str, &str),
        body: Option<Value>,
    ) -> Answer {
        self.requests += 1;
        let auth = match caller.cred {
            Some(cred) if !anonymous => Auth::Cred(&self.model.creds[cred]),
            _ => Auth::Nothing,
        };
        self.world.send(method, path, &auth, body).await
    }

    fn log_answer(
        &mut self,
        caller: &Caller,
        (method, route): (&str, &str),
        sent: &str,
        answer: &Answer,
    ) {
        let entry = self
            .coverage
            .entry(format!("{method} {route}"))
            .or_default();
        entry.0 += 1;
        entry.1 += u64::from(answer.is_success());
        let with = caller.cred.map(|cred| rules::name_of(&self.model, cred));
        let code = answer.json["code"].as_str().unwrap_or_default();
        self.log.push(format!(
            "person {} with {}: {method} {sent} -> {} {code}",
            caller.person,
            with.unwrap_or_default(),
            answer.status,
        ));
    }

    /// Records the caller as the owner of each marker in the request that has no owner yet.
    fn record_marker_owners(&mut self, caller: &Caller, sent: &str) {
        for marker in views::markers(sent) {
            let owners = &mut self.model.owners;
            owners.entry(marker.to_owned()).or_insert(caller.subject);
        }
    }

    /// Reads the id of a new session, with which the session can be ended.
    fn read_session_id(&mut self, cred: CredIx) {
        let record = &self.model.creds[cred];
        if !matches!(record.kind, Kind::Session { .. }) {
            return;
        }
        let id = self.world.find_session_id(&record.value);
        self.model.creds[cred].kind = Kind::Session { id };
    }

    async fn read(&mut self, rng: &mut Rng) -> Result<(), Failure> {
        let (route, generate) = READS[rng.below(READS.len())];
        let cred = self.choose(rng, ("GET", route));
        let caller = self.caller(cred);
        let Some(path) = generate(&mut self.draft(rng, &caller)) else {
            return Ok(());
        };
        self.model.now = self.world.now();
        let answer = self.send(&caller, false, ("GET", &path), None).await;
        self.log_answer(&caller, ("GET", route), &path, &answer);
        let bare = path.split('?').next().unwrap_or_default();
        let mut found = rules::judge_route(&self.model, &caller, ("GET", bare), &answer);
        if answer.is_success() {
            found.extend(views::judge_read(&self.model, &caller, route, &answer));
        }
        found.extend(views::judge_markers(
            &self.model,
            &caller,
            bare,
            &path,
            &answer,
        ));
        found.extend(self.judge_leaks(None, &answer));
        self.fail_on_first(found)
    }

    fn fail_on_first(&self, found: Vec<Violation>) -> Result<(), Failure> {
        let is_ignored = |rule: &str| self.ignored_rules.iter().any(|ignored| ignored == rule);
        let mut found = found.into_iter();
        match found.find(|violation| !is_ignored(violation.rule)) {
            None => Ok(()),
            Some(violation) => Err(Failure {
                violation,
                log: self.log.clone(),
            }),
        }
    }
}
