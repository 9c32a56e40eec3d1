//! The modules that a script can import without the host: those of the engine, of the package `svc`
//! and of Python's library.

use std::{collections::HashSet, sync::LazyLock};

use crate::{Exception, Flavour, Raise, Source, package::SVC_PACKAGE};

/// The loader that handles all imports.
pub const LOADER: &str = include_str!("python/loader.py");

const SUBPROCESS: &str = include_str!("python/subprocess.py");

/// The module of the functions that replace parts of Python which the engine lacks or does
/// differently. `rewrite` inserts calls of them.
pub const LANGUAGE: &str = "svc._python";

const LANGUAGE_TEXT: &str = include_str!("python/language.py");

/// Modules of Python's library that the engine lacks, written in Python.
const LIBRARY: &[(&str, &str)] = &[
    ("enum", include_str!("python/lib/enum.py")),
    ("io", include_str!("python/lib/io.py")),
    ("logging", include_str!("python/lib/logging.py")),
    ("statistics", include_str!("python/lib/statistics.py")),
    ("string", include_str!("python/lib/string.py")),
    ("textwrap", include_str!("python/lib/textwrap.py")),
    ("traceback", include_str!("python/lib/traceback.py")),
    ("urllib", include_str!("python/lib/urllib/__init__.py")),
    ("urllib.parse", include_str!("python/lib/urllib/parse.py")),
    ("uuid", include_str!("python/lib/uuid.py")),
];

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

/// Names of the modules that every script has, for messages.
pub fn built_in_names() -> Vec<&'static str> {
    let mut names: Vec<_> = BUILT_IN
        .iter()
        .filter(|name| !name.contains('.') && !name.starts_with('_'))
        .copied()
        .chain(LIBRARY.iter().map(|(name, _)| *name))
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
        LANGUAGE => Ok(Some(source("svc/_python.py", LANGUAGE_TEXT))),
        // The other private modules of the package are for CPython.
        _ if module.starts_with("svc._") => Ok(None),
        "svc.event" if flavour == Flavour::Sink => Ok(packaged("svc/_sink_event")),
        _ if module == "svc" || module.starts_with("svc.") => {
            Ok(packaged(&module.replace('.', "/")))
        }
        _ => Ok(None),
    }
}

/// A module of Python's library. The caller asks the host first: as on CPython, a file beside the
/// script hides a module of the library.
pub fn library(module: &str) -> Option<Source> {
    let (name, text) = LIBRARY.iter().find(|(name, _)| *name == module)?;
    Some(source(&format!("lib/{}.py", name.replace('.', "/")), text))
}

/// Whether this name belongs to `svc`. The host is never asked for such a module.
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
