//! `svc prove`: disturbs servers of its own on this machine while events are emitted. Checks that
//! no acknowledged event is lost or out of order, and that no event arrives that was not emitted.
//!
//! Parts: `rounds` runs a round with the disturbances of `harm`. `servers` starts the processes,
//! `emitters` emit, `receiver` records what arrives, `ledger` compares. `calls` makes and compares
//! calls. `place` and `schema` make sure that only a new folder and a new schema are used. `dice`
//! makes every choice depend on the seed.

mod calls;
mod dice;
mod emitters;
mod harm;
mod ledger;
pub mod methods;
mod place;
mod progress;
mod receiver;
mod report;
mod rounds;
mod schema;
pub mod server;
mod servers;
mod shared;

use std::{fs, path::PathBuf, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use clap::ValueEnum;
use svc_crypto::random;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::{
    emitters::EMITTERS,
    harm::Harm,
    place::Folder,
    progress::Progress,
    receiver::{Fault, Receiver},
    report::{Ending, Report},
    rounds::Run,
    schema::Schema,
    servers::ServerSettings,
    shared::Shared,
};
use super::Shell;
use crate::{
    config::hidden,
    exit::{Failure, OrFail, Outcome},
    runtime,
};

/// Plants a fault in the receiver, to show that a run notices it. For tests.
const FAULT: &str = "SVC_PROVE_FAULT";
/// The variable with the database URL. Other users of the machine can read the option, but not the
/// variable.
const DATABASE_URL: &str = "SVC_PROVE_DATABASE_URL";
/// The longest path of a socket that every system supports.
const SOCKET_BYTES_MAX: usize = 103;
/// Number of servers in a zone, if `--servers` is not given.
const ZONE_SERVERS: u8 = 3;
/// The settings of the servers: their receivers are on this machine, and the limits of a user do not
/// slow down a long run.
const SETTINGS: &str = "[webhooks]\nallow = [\"127.0.0.0/8\"]\n\n\
    [events]\nemits_per_second = 100000\n\n\
    [quotas]\nevent_bytes = 1099511627776\n";
/// Retries come soon, and so does the end of a lost server's leases.
const SHORT_TIMES: [(&str, &str); 3] = [
    (hidden::RETRY_FIRST_SECONDS, "0.05"),
    (hidden::RETRY_SECOND_SECONDS, "0.1"),
    (hidden::LEASE_SECONDS, "2"),
];

/// Kill, freeze and disturb test servers on this machine, and check that no event is lost
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc prove                                             20 rounds on this folder's disk\n  \
                   svc prove --rounds 1000 --folder /var/lib/svc-prove    on another disk\n  \
                   svc prove --database-url postgres://svc@db.example.com/svc_prove    a zone of 3 servers\n  \
                   svc prove --only kill,freeze --seed 7 -o json"
)]
pub struct Args {
    /// Rounds, each with one disturbance
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rounds: u32,
    /// Number that decides what happens in which round [default: a random number]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// New or empty folder for the data of the servers [default: svc-prove-SEED, in this folder]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// PostgreSQL database, for a zone of servers; no other servers may use it [env: SVC_PROVE_DATABASE_URL]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// New schema in this database [default: svc_prove_SEED]
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// Servers [default: 1, or 3 with a PostgreSQL database]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    servers: Option<u8>,
    /// Disturbances to choose from, separated by commas [default: all that are possible]
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    only: Vec<Harm>,
    /// Keep the folder and the schema after a run without a finding
    #[arg(long)]
    keep: bool,
}

/// The arguments, checked and complete.
struct Plan {
    rounds: usize,
    seed: u64,
    folder: PathBuf,
    /// URL and schema of a zone.
    database: Option<(String, String)>,
    servers: usize,
    harms: Vec<Harm>,
    keep: bool,
    fault: Option<Fault>,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let plan = Plan::of(shell, args)?;
    let shutdown = runtime::shutdown_on_signals()?;
    let folder = Folder::create(plan.folder.clone())?;
    let mut schema = None;
    if let Some((url, name)) = &plan.database {
        let created = Schema::create(url, name).await;
        if created.is_err() {
            folder.remove()?;
        }
        schema = Some(created?);
    }
    let (report, schema) = prove(&plan, schema, shutdown).await;
    let is_removed = match &report {
        Ok(report) => report.kept_promises && !plan.keep,
        // A failure of the run itself: the logs of the servers say why.
        Err(_) => false,
    };
    if is_removed {
        if let Some(schema) = &schema {
            schema.remove().await?;
        }
        folder.remove()?;
    }
    let report = match report {
        Ok(mut report) => {
            report.name_places(&plan, !is_removed);
            report
        }
        Err(failure) => {
            let folder = plan.folder.display();
            eprintln!("kept: `{folder}`, with the logs of the servers");
            if let Some((_, schema)) = &plan.database {
                eprintln!("kept: {}", report::how_to_remove(schema));
            }
            eprintln!("to repeat the run: {}", plan.command());
            return Err(failure);
        }
    };
    report.print(&shell.output)
}

/// Runs all rounds. Returns the schema, so that the caller can remove it.
async fn prove(
    plan: &Plan,
    schema: Option<Schema>,
    shutdown: CancellationToken,
) -> (Result<Report, Failure>, Option<Schema>) {
    let begun = Instant::now();
    let shared = Arc::new(Shared::new(plan.seed, EMITTERS, plan.fault));
    let receiver = match Receiver::start(Arc::clone(&shared)).await {
        Ok(receiver) => receiver,
        Err(failure) => return (Err(failure), schema),
    };
    let settings = match settings(plan, schema.as_ref()) {
        Ok(settings) => settings,
        Err(failure) => return (Err(failure), schema),
    };
    let mut run = Run::new(shared, settings, receiver, schema, plan.harms.clone());
    let mut progress = Progress::new(plan.rounds);
    let ending = tokio::select! {
        biased;
        () = shutdown.cancelled() => Ok(Ending::Interrupted),
        ending = all_rounds(plan, &mut run, &mut progress) => ending,
    };
    progress.end();
    let report = ending.map(|ending| Report::of(plan, &run, ending, begun.elapsed()));
    run.stop();
    (report, run.into_schema())
}

/// Runs the rounds until a promise is broken.
async fn all_rounds(
    plan: &Plan,
    run: &mut Run,
    progress: &mut Progress,
) -> Result<Ending, Failure> {
    progress.begin(plan);
    run.start(plan.servers).await?;
    for number in 1..=plan.rounds {
        let (harm, what) = run.round(number).await?;
        progress.round(number, harm, &what, run);
        if !run.findings.is_empty() {
            return Ok(Ending::Broken);
        }
    }
    Ok(Ending::Finished)
}

fn settings(plan: &Plan, schema: Option<&Schema>) -> Result<ServerSettings, Failure> {
    let settings = ServerSettings {
        program: runtime::own_program()?,
        folder: plan.folder.clone(),
        admin_password: random_key()?,
        zone: match schema {
            Some(schema) => Some((schema.url.clone(), random_key()?)),
            None => None,
        },
    };
    let file = settings.config_file();
    fs::write(&file, SETTINGS).or_fail_at("cannot write to", &file)?;
    Ok(settings)
}

/// 32 random bytes. Secrets never depend on the seed.
fn random_key() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    random::fill(&mut bytes).or_fail(NO_RANDOM_NUMBERS)?;
    Ok(BASE64_STANDARD.encode(bytes))
}

const NO_RANDOM_NUMBERS: &str = "the system has no random numbers";

impl Plan {
    fn of(shell: &Shell, args: Args) -> Result<Self, Failure> {
        let seed = match args.seed {
            Some(seed) => seed,
            // Short enough to be typed.
            None => u64::from(random::u32().or_fail(NO_RANDOM_NUMBERS)?),
        };
        let folder = args.folder;
        let folder = folder.unwrap_or_else(|| format!("svc-prove-{seed}").into());
        let url = shell.environment.get(DATABASE_URL).map(str::to_owned);
        let url = args.database_url.or(url);
        let schema = args.schema;
        if url.is_none() && schema.is_some() {
            return Err(Failure::usage("--schema needs --database-url"));
        }
        let database = url.map(|url| {
            let name = schema.unwrap_or_else(|| format!("svc_prove_{seed}"));
            (url, name)
        });
        let servers = args.servers.unwrap_or(match database {
            Some(_) => ZONE_SERVERS,
            None => 1,
        });
        if servers > 1 && database.is_none() {
            let what = format!("{servers} servers need --database-url");
            let why = "only one server can use the embedded database";
            return Err(Failure::usage(what).why(why));
        }
        let folder = shell.environment.absolute(&folder);
        let socket = servers::agent_socket(&folder);
        if socket.as_os_str().len() > SOCKET_BYTES_MAX {
            let what = format!("the path of the folder `{}` is too long", folder.display());
            let limit = format!("may have at most {SOCKET_BYTES_MAX} bytes");
            return Err(Failure::usage(what).why(format!(
                "the path of the agent's socket in this folder {limit}"
            )));
        }
        Ok(Self {
            rounds: usize::try_from(args.rounds).unwrap_or(usize::MAX),
            seed,
            folder,
            harms: possible(args.only, database.is_some())?,
            database,
            servers: servers.into(),
            keep: args.keep,
            fault: fault(shell.environment.get(FAULT))?,
        })
    }

    /// The command that repeats the choices of this run.
    fn command(&self) -> String {
        let mut command = format!("svc prove --rounds {} --seed {}", self.rounds, self.seed);
        if self.database.is_some() {
            command.push_str(&format!(" --servers {} --database-url …", self.servers));
        }
        let kinds: Vec<String> = self.harms.iter().map(ToString::to_string).collect();
        command.push_str(&format!(" --only {}", kinds.join(",")));
        command
    }
}

/// The disturbances that are possible here.
fn possible(only: Vec<Harm>, in_zone: bool) -> Result<Vec<Harm>, Failure> {
    let refusal = |harm: Harm| match harm {
        Harm::Disk if in_zone => {
            Some("the data of a zone is on the disk of PostgreSQL, which svc does not control")
        }
        Harm::Disk if !cfg!(target_os = "linux") => Some("it needs Linux"),
        _ => None,
    };
    let mut refusals = only.iter().filter_map(|harm| Some((harm, refusal(*harm)?)));
    if let Some((harm, why)) = refusals.next() {
        return Err(Failure::usage(format!("`{harm}` is not possible here")).why(why));
    }
    let mut harms = match only.is_empty() {
        true => Harm::value_variants().to_vec(),
        false => only,
    };
    harms.retain(|&harm| refusal(harm).is_none());
    harms.sort_unstable();
    harms.dedup();
    Ok(harms)
}

fn fault(name: Option<&str>) -> Result<Option<Fault>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let fault = Fault::from_str(name, false).or_usage(format!("{FAULT}: `{name}` is not a fault"));
    fault.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_has_no_rounds_of_a_full_disk() {
        let zone = possible(Vec::new(), true).expect("possible");
        assert!(!zone.contains(&Harm::Disk));
        assert!(possible(vec![Harm::Kill, Harm::Disk], true).is_err());
        let twice = possible(vec![Harm::Freeze, Harm::Kill, Harm::Freeze], false);
        assert_eq!(twice.expect("possible"), [Harm::Kill, Harm::Freeze]);
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        assert_eq!(fault(None).expect("none"), None);
        assert_eq!(fault(Some("swap")).expect("known"), Some(Fault::Swap));
        assert!(fault(Some("nonsense")).is_err());
    }
}
