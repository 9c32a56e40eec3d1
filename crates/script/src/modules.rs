//! Distinguishes modules: built into the engine, part of `svc`, or a library of the host.

use std::{collections::HashSet, sync::LazyLock};

use crate::{Exception, Flavour, Raise, Source, package::SVC_PACKAGE};

/// The loader that handles all imports.
pub const LOADER: &str = include_str!("python/loader.py");

const SUBPROCESS: &str = include_str!("python/subprocess.py");

/// Modules of the engine. The loader replaces `sys`: the engine's `sys` has neither `argv` nor
/// `exit`.
static BUILT_IN: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    monty::builtin_module_names()
        .into_iter()
        .chain(["__future__"])
        .filter(|name| *name != "sys")
        .collect()
});

pub fn is_built_in(module: &str) -> bool {
    let root = module.split_once('.').map_or(module, |(root, _)| root);
    BUILT_IN.contains(root)
}

/// Names of the engine's own modules, for messages.
pub fn built_in_names() -> Vec<&'static str> {
    let mut names: Vec<_> = BUILT_IN
        .iter()
        .filter(|name| !name.contains('.') && !name.starts_with('_'))
        .copied()
        .chain(["sys"])
        .collect();
    names.sort_unstable();
    names
}

/// Finds a module of `svc`. If the module exists in spaces only, the error says so.
pub fn own(module: &str, flavour: Flavour) -> Result<Option<Source>, Raise> {
    let in_space = flavour == Flavour::Space;
    match module {
        "subprocess" if in_space => Ok(Some(source("svc/_subprocess.py", SUBPROCESS))),
        "subprocess" | "svc.methods" | "svc.methods.schema" | "svc.jsonrpc" if !in_space => {
            Err(Raise::new(
                Exception::ModuleNotFoundError,
                format!("No module named '{module}': it exists in spaces only, not on the server"),
            ))
        }
        // The other private modules of the package are for CPython.
        _ if module.starts_with("svc._") => Ok(None),
        "svc.event" if flavour == Flavour::Sink => Ok(packaged("svc/_sink_event")),
        _ if module == "svc" || module.starts_with("svc.") => {
            Ok(packaged(&module.replace('.', "/")))
        }
        _ => Ok(None),
    }
}

/// Whether this name belongs to `svc`: the host is never asked for it.
pub fn is_own(module: &str) -> bool {
    module == "svc" || module.starts_with("svc.") || module == "subprocess"
}

fn packaged(path: &str) -> Option<Source> {
    let names = [format!("{path}.py"), format!("{path}/__init__.py")];
    SVC_PACKAGE
        .iter()
        .find(|(name, _)| names.iter().any(|wanted| wanted == name))
        .map(|(name, text)| source(name, text))
}

fn source(file: &str, text: &str) -> Source {
    Source {
        file: file.to_owned(),
        text: text.to_owned(),
    }
}
