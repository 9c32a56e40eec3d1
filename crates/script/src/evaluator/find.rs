//! Finds the modules that a script imports: modules of `svc`, then libraries of the host, then
//! modules of Python's library.

use std::{collections::HashMap, sync::Arc};

use monty_types::{ExcType, MontyObject};
use serde::{Deserialize, Serialize};

use super::{
    Evaluator, compile,
    drive::{Reply, raise, raise_from_host, return_value},
};
use crate::{
    ErrorKind, Host, Source, modules,
    rewrite::{Role, needs_language, normalize, rewrite},
};

/// Modules that are known to exist. Must be cheap to clone: each request restores a snapshot, which
/// clones this value.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Modules(Arc<HashMap<String, Kind>>);

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// A module with source code.
    Text,
    /// A folder without `__init__.py`, which only contains modules.
    Folder,
}

impl Modules {
    fn add(&mut self, module: &str, kind: Kind) {
        Arc::make_mut(&mut self.0).insert(module.to_owned(), kind);
    }

    fn kind(&self, module: &str) -> Option<Kind> {
        // The loader creates these.
        let made = matches!(module, "sys" | "svc._host");
        made.then_some(Kind::Text)
            .or_else(|| self.0.get(module).copied())
    }
}

impl Evaluator {
    /// Returns the modules to load for `module`, outermost package first: the whole name of each
    /// module, and the last part of that name.
    ///
    /// For `from a import b`, the loader first calls this function with module `a` and child `b`,
    /// because `a` may be a folder that contains `b`. If `a` has no attribute `b`, the loader calls
    /// this function again, with module `a.b` and with `whole` set to `false`. If that fails, the
    /// error is "cannot import name 'b' from 'a'" and not "No module named 'a.b'".
    pub(super) fn path(
        &mut self,
        module: &str,
        child: Option<&str>,
        whole: bool,
        host: &mut dyn Host,
    ) -> Reply {
        let found = self.find_path(module, child, host);
        match found {
            Ok(None) => {
                let parts = module.match_indices('.').map(|(end, _)| &module[..end]);
                return_value(MontyObject::list(parts.chain([module]).map(|path| {
                    let part = path.rsplit('.').next().unwrap_or(path);
                    MontyObject::tuple([MontyObject::string(path), MontyObject::string(part)])
                })))
            }
            Ok(Some(_)) if !whole => {
                let (parent, name) = module.rsplit_once('.').unwrap_or(("", module));
                raise(
                    ExcType::ImportError,
                    format!("cannot import name '{name}' from '{parent}'"),
                )
            }
            Ok(Some(missing)) => raise(
                ExcType::ModuleNotFoundError,
                format!("No module named '{missing}'"),
            ),
            Err(answer) => answer,
        }
    }

    /// Returns the first part of the path that is missing, if any.
    fn find_path(
        &mut self,
        module: &str,
        child: Option<&str>,
        host: &mut dyn Host,
    ) -> Result<Option<String>, Reply> {
        let mut folders = Vec::new();
        for (end, _) in module.match_indices('.') {
            let package = &module[..end];
            if !self.exists(package, host)? {
                folders.push(package);
            }
        }
        if !self.exists(module, host)? {
            let below = match child {
                Some(child) => self.exists(&format!("{module}.{child}"), host)?,
                None => false,
            };
            if !below {
                let missing = folders.first().copied().unwrap_or(module);
                return Ok(Some(missing.to_owned()));
            }
            folders.push(module);
        }
        for folder in folders {
            self.modules.add(folder, Kind::Folder);
        }
        Ok(None)
    }

    fn exists(&mut self, module: &str, host: &mut dyn Host) -> Result<bool, Reply> {
        if self.modules.kind(module).is_some() {
            return Ok(true);
        }
        let Some(source) = self.source(module, host)? else {
            return Ok(false);
        };
        self.modules.add(module, Kind::Text);
        self.pending.found.insert(module.to_owned(), source);
        Ok(true)
    }

    fn source(&mut self, module: &str, host: &mut dyn Host) -> Result<Option<Source>, Reply> {
        if modules::is_own(module) {
            return modules::own(module, self.setting.flavour).map_err(raise_from_host);
        }
        if !self.count_host_call() {
            return Err(Reply::Stop(ErrorKind::HostCallLimit));
        }
        let found = host.library(module).map_err(raise_from_host)?;
        Ok(found.or_else(|| modules::library(module)))
    }

    /// Returns the file name and the code of one module.
    pub(super) fn module(&mut self, module: &str, host: &mut dyn Host) -> Reply {
        if self.modules.kind(module) == Some(Kind::Folder) {
            return return_source(String::new(), String::new(), false);
        }
        // If an import has failed and is tried again, its source is no longer in `found`.
        let found = match self.pending.found.remove(module) {
            Some(source) => Ok(Some(source)),
            None => self.source(module, host),
        };
        let (Source { file, text }, hidden) = match found {
            Ok(Some(source)) => {
                let own = modules::is_own(module);
                let hidden = own || modules::library(module).as_ref() == Some(&source);
                (source, hidden)
            }
            Ok(None) => {
                return raise(
                    ExcType::ModuleNotFoundError,
                    format!("No module named '{module}'"),
                );
            }
            Err(answer) => return answer,
        };
        let text = normalize(&text);
        let role = if hidden { Role::Own } else { Role::Library };
        let checked = rewrite(&file, &text, role).and_then(|code| {
            // Compile first, because the engine does not report the line of a compiler error in
            // `exec`.
            if !hidden {
                compile(&file, &text, code.clone())?;
            }
            Ok(code)
        });
        match checked {
            Ok(code) => {
                let needs_language = !hidden && needs_language(&code);
                let code = self.texts.add_executed(&file, &text, &code, hidden);
                return_source(file, code, needs_language)
            }
            Err(error) => {
                let exception = match error.kind {
                    ErrorKind::Syntax => ExcType::SyntaxError,
                    _ => ExcType::NotImplementedError,
                };
                let message = error.message.split_once(": ").unwrap_or_default().1;
                let answer = raise(exception, message);
                self.pending.library = Some(error);
                answer
            }
        }
    }
}

fn return_source(file: String, code: String, needs_language: bool) -> Reply {
    return_value(MontyObject::tuple([
        MontyObject::string(file),
        MontyObject::string(code),
        MontyObject::bool(needs_language),
    ]))
}
