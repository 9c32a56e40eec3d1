//! The CLI context `up`: the current context while the server runs, so that no login is required.

use std::path::PathBuf;

use super::Ready;
use crate::{
    context::{Context, Contexts},
    environment::Environment,
    exit::Failure,
};

const NAME: &str = "up";

/// The state to restore when the server stops.
pub struct UpContext {
    folder: PathBuf,
    /// The previous current context, if any. Never `up` itself, which a killed run leaves current.
    former: Option<String>,
}

impl UpContext {
    pub fn save(environment: &Environment, ready: &Ready) -> Result<Self, Failure> {
        let folder = environment.config_folder()?;
        let mut contexts = Contexts::load(&folder)?;
        contexts.put(Context {
            name: NAME.to_owned(),
            url: ready.url.clone(),
            token: ready.token.clone(),
            token_id: None,
            username: Some(ready.username.clone()),
            ca_file: None,
        });
        let former = contexts
            .current
            .replace(NAME.to_owned())
            .filter(|former| former != NAME);
        contexts.save(&folder)?;
        Ok(Self { folder, former })
    }

    /// Restores the previous current context, unless the user has chosen another one.
    pub fn restore(self) -> Result<(), Failure> {
        let mut contexts = Contexts::load(&self.folder)?;
        if contexts.current.as_deref() == Some(NAME) {
            contexts.current = self.former.filter(|former| contexts.find(former).is_some());
            contexts.save(&self.folder)?;
        }
        Ok(())
    }
}
