//! System operations of scripts: files, environment, random bytes.
//!
//! The engine stops at such an operation and asks for its result. The engine reads clocks by
//! itself, and the evaluator handles sleep, because sleeping counts against the time limit. This
//! module refuses every other operation, or performs it with the permissions of the process.

mod files;
mod scan;

use std::{env, io};

use monty_types::{
    ExcType, ExtFunctionResult, GetenvArgs, MontyException, MontyObject, OsFunctionCall, StringRepr,
};

use crate::Abilities;

/// The maximum number of random bytes in one request.
const RANDOM_BYTES_MAX: u64 = 1024 * 1024;

pub fn answer(call: &OsFunctionCall, abilities: &Abilities) -> ExtFunctionResult {
    let answered = match (call, abilities) {
        (OsFunctionCall::Urandom(args), _) => random(args.size),
        (OsFunctionCall::Import(name), _) => Err(no_module(name)),
        (_, Abilities::None) => Err(refusal(call)),
        (OsFunctionCall::Getenv(args), Abilities::Full { .. }) => Ok(variable(args)),
        (OsFunctionCall::GetEnviron, Abilities::Full { .. }) => Ok(environment()),
        (_, Abilities::Full { .. }) => files::answer(call),
    };
    match answered {
        Ok(value) => ExtFunctionResult::Return(value),
        Err(exception) => ExtFunctionResult::Error(exception),
    }
}

fn refusal(call: &OsFunctionCall) -> MontyException {
    let what = match call {
        OsFunctionCall::Getenv(_) | OsFunctionCall::GetEnviron => "the environment".to_owned(),
        _ => match call.fs_primary_path() {
            Some(path) => format!("files: {}", StringRepr(path)),
            None => format!("`{}`", call.name()),
        },
    };
    exception(
        ExcType::PermissionError,
        format!("[Errno 13] scripts on the server have no access to {what}"),
    )
}

/// Imports are rewritten before a script runs. Only imports in code that `exec` runs arrive here.
fn no_module(name: &str) -> MontyException {
    exception(
        ExcType::ModuleNotFoundError,
        format!("No module named {}", StringRepr(name)),
    )
}

fn random(size: u64) -> Result<MontyObject, MontyException> {
    if size > RANDOM_BYTES_MAX {
        return Err(exception(
            ExcType::ValueError,
            format!("at most {RANDOM_BYTES_MAX} random bytes at a time"),
        ));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
    svc_crypto::random::fill(&mut bytes)
        .map_err(|error| exception(ExcType::OSError, format!("no random bytes: {error}")))?;
    Ok(MontyObject::bytes(bytes))
}

fn variable(args: &GetenvArgs) -> MontyObject {
    match env::var_os(&args.key) {
        Some(value) => MontyObject::string(value.to_string_lossy()),
        None => args.default.clone(),
    }
}

fn environment() -> MontyObject {
    MontyObject::dict(env::vars_os().map(|(key, value)| {
        (
            MontyObject::string(key.to_string_lossy()),
            MontyObject::string(value.to_string_lossy()),
        )
    }))
}

fn exception(kind: ExcType, message: impl Into<String>) -> MontyException {
    MontyException::new(kind, Some(message.into()))
}

/// An exception with the text of CPython, such as `[Errno 2] No such file or directory: 'x'`.
fn io_exception(error: &io::Error, path: &str) -> MontyException {
    let (kind, number, text) = match error.kind() {
        io::ErrorKind::NotFound => (ExcType::FileNotFoundError, 2, "No such file or directory"),
        io::ErrorKind::AlreadyExists => (ExcType::FileExistsError, 17, "File exists"),
        io::ErrorKind::PermissionDenied => (ExcType::PermissionError, 13, "Permission denied"),
        io::ErrorKind::IsADirectory => (ExcType::IsADirectoryError, 21, "Is a directory"),
        io::ErrorKind::NotADirectory => (ExcType::NotADirectoryError, 20, "Not a directory"),
        io::ErrorKind::DirectoryNotEmpty => (ExcType::OSError, 39, "Directory not empty"),
        io::ErrorKind::InvalidFilename => (ExcType::OSError, 36, "File name too long"),
        io::ErrorKind::StorageFull => (ExcType::OSError, 28, "No space left on device"),
        io::ErrorKind::ReadOnlyFilesystem => (ExcType::OSError, 30, "Read-only file system"),
        io::ErrorKind::CrossesDevices => (ExcType::OSError, 18, "Invalid cross-device link"),
        _ => {
            let number = error.raw_os_error().unwrap_or_default();
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            return exception(
                ExcType::OSError,
                format!("[Errno {number}] {text}: {}", StringRepr(path)),
            );
        }
    };
    exception(
        kind,
        format!("[Errno {number}] {text}: {}", StringRepr(path)),
    )
}
