//! Stores an idle evaluator as bytes, and restores it.

use std::sync::Arc;

use monty::MontyRepl;
use serde::{Deserialize, Serialize};

use super::{
    Evaluator,
    drive::Pending,
    find::Modules,
    pack::{pack, unpack},
    rounding::Rounding,
    texts::Texts,
};
use crate::{ScriptError, Setting};

/// An evaluator as bytes. Do not store the bytes: nothing detects whether they were changed.
#[derive(Clone)]
pub struct Snapshot {
    engine: Arc<[u8]>,
    rest: Arc<EvaluatorState>,
}

/// The state of an evaluator besides its engine.
#[derive(Serialize, Deserialize)]
struct EvaluatorState {
    setting: Arc<Setting>,
    texts: Texts,
    routes: Arc<Vec<(String, String)>>,
    modules: Modules,
}

impl Evaluator {
    pub fn snapshot(&self) -> Result<Snapshot, ScriptError> {
        let unfit = |error| {
            ScriptError::worker(format!("cannot take a snapshot of the evaluator: {error}"))
        };
        let engine = pack(self.engine()?).map_err(unfit)?;
        // Check once that the snapshot can be restored: every request relies on it.
        let thawed: MontyRepl = unpack(&engine).map_err(unfit)?;
        if pack(&thawed).map_err(unfit)?.len() != engine.len() {
            return Err(ScriptError::worker(
                "the snapshot of the evaluator is incomplete",
            ));
        }
        Ok(Snapshot {
            engine: engine.into(),
            rest: Arc::new(EvaluatorState {
                setting: Arc::clone(&self.setting),
                texts: self.texts.clone(),
                routes: Arc::clone(&self.routes),
                modules: self.modules.clone(),
            }),
        })
    }

    /// A fresh evaluator with everything that the snapshot contains.
    pub fn restore(snapshot: &Snapshot) -> Result<Self, ScriptError> {
        let engine = unpack(&snapshot.engine).map_err(|error| {
            ScriptError::worker(format!("cannot restore the snapshot: {error}"))
        })?;
        Ok(Self {
            engine: Some(Box::new(engine)),
            setting: Arc::clone(&snapshot.rest.setting),
            texts: snapshot.rest.texts.clone(),
            routes: Arc::clone(&snapshot.rest.routes),
            modules: snapshot.rest.modules.clone(),
            reseed: snapshot.rest.texts.mention("random"),
            until: None,
            pending: Pending::default(),
            rounding: Rounding::default(),
        })
    }
}

impl Snapshot {
    /// The routes at the time of the snapshot.
    pub fn routes(&self) -> &[(String, String)] {
        &self.rest.routes
    }

    /// Three parts: the length of the second part (8 bytes, little endian), the state besides the
    /// engine as JSON, and the bytes of the engine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let rest = serde_json::to_vec(&*self.rest).expect("plain values with text keys");
        let mut bytes = Vec::with_capacity(8 + rest.len() + self.engine.len());
        bytes.extend_from_slice(&(rest.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&rest);
        bytes.extend_from_slice(&self.engine);
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ScriptError> {
        let cut_off = || ScriptError::worker("the snapshot is cut off");
        let (length, after) = bytes.split_first_chunk::<8>().ok_or_else(cut_off)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut_off())?;
        let (rest, engine) = after.split_at_checked(length).ok_or_else(cut_off)?;
        let rest = serde_json::from_slice(rest)
            .map_err(|error| ScriptError::worker(format!("cannot read the snapshot: {error}")))?;
        Ok(Self {
            engine: engine.into(),
            rest: Arc::new(rest),
        })
    }
}
