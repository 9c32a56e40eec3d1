//! Opens the database: the embedded one of the data folder, or the shared one of a zone.

use svc_core::ServerId;
use svc_store::{FolderLock, Store, StoreOptions, zone_changes};
use uuid::Uuid;

use super::StartError;
use crate::{
    options::{Options, SharedDatabase},
    zone,
};

/// An open database and the id of this server.
pub(super) struct OpenDatabase {
    pub(super) store: Store,
    pub(super) server_id: ServerId,
    /// The number of the zone's newest change, read before any record was read into memory.
    pub(super) zone_position: i64,
    /// The lock of the data folder, unless the store holds it.
    pub(super) folder: Option<FolderLock>,
}

pub(super) async fn open(options: &Options) -> Result<OpenDatabase, StartError> {
    let opened = match &options.database {
        None => embedded(options).await,
        Some(database) => shared(options, database).await,
    }?;
    opened
        .store
        .write(svc_store::meta::record_svc_version)
        .await?;
    Ok(opened)
}

async fn embedded(options: &Options) -> Result<OpenDatabase, StartError> {
    let store = Store::open(&options.data_dir)?;
    let server_id = store
        .write(|tx| svc_store::meta::ensure_server_id(tx, ServerId(Uuid::now_v7())))
        .await?;
    Ok(OpenDatabase {
        store,
        server_id,
        zone_position: 0,
        folder: None,
    })
}

async fn shared(options: &Options, database: &SharedDatabase) -> Result<OpenDatabase, StartError> {
    if options.events.secret_key.is_none() {
        return Err(StartError::NoSecretKey);
    }
    svc_store::prepare_folder(&options.data_dir)?;
    let folder = FolderLock::acquire(&options.data_dir)?;
    let server_id = zone::own_id(&options.data_dir)?;
    let store = Store::connect(database.url.clone(), store_options(database)).await?;
    let zone_position = store.read(zone_changes::newest).await?;
    Ok(OpenDatabase {
        store,
        server_id,
        zone_position,
        folder: Some(folder),
    })
}

pub fn store_options(database: &SharedDatabase) -> StoreOptions {
    StoreOptions {
        readers: database.readers,
        listen: !database.poll_only,
        ..StoreOptions::default()
    }
}
