//! `svc server reset-second-factor`: lets the only administrator log in again after the loss of the
//! second factor. The command changes the database itself and needs no server.

use std::path::PathBuf;

use svc_server::second_factors::reset_on_host;
use svc_store::{Store, StoreOptions};

use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
};

/// Remove the second factor of a user directly in the database; for the only administrator
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc server reset-second-factor admin --data-dir /var/lib/svc    while the server is stopped\n  \
                   svc server reset-second-factor admin --database-url postgres://…    the servers of a zone may run"
)]
pub struct Args {
    /// User name
    user: String,
    /// Folder of the database [default: ~/.local/share/svc] [env: SVC_DATA_DIR]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// PostgreSQL database of a zone, instead of the embedded one [env: SVC_DATABASE_URL]
    #[arg(long, value_name = "URL", conflicts_with = "data_dir")]
    database_url: Option<String>,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let mut config = shell.config()?;
    if let Some(folder) = args.data_dir {
        config.server.data_dir = Some(folder);
        config.server.database_url = None;
    }
    if args.database_url.is_some() {
        config.server.database_url = args.database_url;
    }
    let unusable = |error| Failure::of_error(Exit::Failure, &error);
    let store = match super::options::database(&config)? {
        Some(database) => Store::connect(database.url, StoreOptions::default())
            .await
            .map_err(unusable)?,
        None => {
            let folder = super::data_dir(shell, &config)?;
            if !folder.join(svc_store::DATABASE_FILE).is_file() {
                let what = format!("`{}` holds no database", folder.display());
                return Err(Failure::not_found(what).hint("give the data folder with --data-dir"));
            }
            Store::open(&folder).map_err(|error| {
                unusable(error).hint("stop the server first: systemctl stop svc")
            })?
        }
    };
    let reset = reset_on_host(&store, &args.user).await;
    store.close().await;
    let user = args.user;
    if !reset.map_err(|error| Failure::of_error(Exit::Failure, &error))? {
        return Err(Failure::not_found(format!("user `{user}` does not exist"))
            .hint("give the name with which the user logs in"));
    }
    eprintln!("`{user}` has no second factor any more, and logs in with the password alone");
    Ok(Exit::Ok)
}
