//! The CLI context `up`: current while the server runs, so that the next shell needs no login.

use std::path::PathBuf;

use super::Ready;
use crate::{
    context::{Context, Contexts},
    environment::Environment,
    exit::Failure,
};

const NAME: &str = "up";

/// What to put back in the end.
pub struct UpContext {
    folder: PathBuf,
    /// The context that was current before, if there was one. Never `up` itself: one that is
    /// current already was left so by a run that was killed.
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

    /// Leaves things as they were, unless someone chose another context meanwhile: nothing
    /// listens at the address of `up` any more.
    pub fn restore(self) -> Result<(), Failure> {
        let mut contexts = Contexts::load(&self.folder)?;
        if contexts.current.as_deref() == Some(NAME) {
            contexts.current = self.former.filter(|former| contexts.find(former).is_some());
            contexts.save(&self.folder)?;
        }
        Ok(())
    }
}
