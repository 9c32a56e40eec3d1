//! File operations with the permissions of the process's user. All paths are absolute: the engine
//! resolves relative ones.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use monty_types::{
    ExcType, FileMode, MkdirCallArgs, MontyException, MontyFileHandle, MontyObject, OpenCallArgs,
    OsFunctionCall, UnicodeErrorData, stat_result, unicode_decode_error_msg, utf8_error_reason,
};

use super::{exception, io_exception, scan};

/// The maximum size of a file that is read. The engine reads whole files.
const READ_BYTES_MAX: u64 = 64 * 1024 * 1024;

type Answer = Result<MontyObject, MontyException>;

pub fn answer(call: &OsFunctionCall) -> Answer {
    if call.check_path_null_bytes().is_err() && call.is_existence_check() {
        return Ok(MontyObject::bool(false));
    }
    call.check_path_null_bytes()
        .map_err(|message| exception(ExcType::ValueError, message))?;
    match call {
        OsFunctionCall::Exists(path) => Ok(MontyObject::bool(Path::new(path.as_str()).exists())),
        OsFunctionCall::IsFile(path) => Ok(MontyObject::bool(Path::new(path.as_str()).is_file())),
        OsFunctionCall::IsDir(path) => Ok(MontyObject::bool(Path::new(path.as_str()).is_dir())),
        OsFunctionCall::IsSymlink(path) => {
            Ok(MontyObject::bool(Path::new(path.as_str()).is_symlink()))
        }
        OsFunctionCall::ReadText(path) => text(read(path)?),
        OsFunctionCall::ReadBytes(path) => Ok(MontyObject::bytes(read(path)?)),
        OsFunctionCall::WriteText(args) => {
            write(&args.path, args.data.as_bytes(), false)?;
            Ok(count(args.data.chars().count()))
        }
        OsFunctionCall::AppendText(args) => {
            write(&args.path, args.data.as_bytes(), true)?;
            Ok(count(args.data.chars().count()))
        }
        OsFunctionCall::WriteBytes(args) => {
            write(&args.path, &args.data, false)?;
            Ok(count(args.data.len()))
        }
        OsFunctionCall::AppendBytes(args) => {
            write(&args.path, &args.data, true)?;
            Ok(count(args.data.len()))
        }
        OsFunctionCall::Open(args) => open(args),
        OsFunctionCall::Mkdir(args) => mkdir(args),
        OsFunctionCall::Unlink(path) => done(fs::remove_file(path.as_str()), path),
        OsFunctionCall::Rmdir(path) => done(fs::remove_dir(path.as_str()), path),
        OsFunctionCall::Rename(args) => {
            done(fs::rename(args.src.as_str(), args.dst.as_str()), &args.src)
        }
        OsFunctionCall::Stat(path) => fs::metadata(path.as_str())
            .map(|metadata| stat(&metadata))
            .map_err(|error| io_exception(&error, path)),
        OsFunctionCall::Iterdir(path) => list(path),
        OsFunctionCall::Scan(args) => scan::answer(args),
        OsFunctionCall::Resolve(path) => Ok(MontyObject::path(resolve(path))),
        OsFunctionCall::Absolute(path) => Ok(MontyObject::path(path.as_str())),
        other => Err(exception(
            ExcType::NotImplementedError,
            format!("the embedded engine has no `{}`", other.name()),
        )),
    }
}

fn done(result: io::Result<()>, path: &str) -> Answer {
    match result {
        Ok(()) => Ok(MontyObject::none()),
        Err(error) => Err(io_exception(&error, path)),
    }
}

fn count(number: usize) -> MontyObject {
    MontyObject::int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn read(path: &str) -> Result<Vec<u8>, MontyException> {
    let failed = |error: io::Error| io_exception(&error, path);
    // Reading a pipe could block, and the engine cannot interrupt a blocked read.
    if fs::metadata(path).map_err(failed)?.file_type().is_fifo() {
        return Err(exception(
            ExcType::OSError,
            format!("the embedded engine does not read pipes: '{path}'"),
        ));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(READ_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > READ_BYTES_MAX {
        return Err(exception(
            ExcType::OSError,
            format!(
                "[Errno 27] File too large: '{path}' (more than {} MiB)",
                READ_BYTES_MAX / (1024 * 1024)
            ),
        ));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> Answer {
    String::from_utf8(bytes)
        .map(MontyObject::string)
        .map_err(|error| {
            let at = error.utf8_error();
            let bytes = error.as_bytes();
            let start = at.valid_up_to();
            let end = start + at.error_len().unwrap_or(bytes.len() - start).max(1);
            let reason = utf8_error_reason(bytes[start], at.error_len());
            exception(
                ExcType::UnicodeDecodeError,
                unicode_decode_error_msg("utf-8", bytes[start], start, end, reason),
            )
            .with_data(UnicodeErrorData::decode("utf-8", bytes, start, end, reason))
        })
}

fn write(path: &str, data: &[u8], append: bool) -> Result<(), MontyException> {
    OpenOptions::new()
        .create(true)
        .write(true)
        .append(append)
        .truncate(!append)
        .open(path)
        .and_then(|mut file| file.write_all(data))
        .map_err(|error| io_exception(&error, path))
}

/// Checks that the file can be read. For writing, creates an empty file; for appending, creates the
/// file if it is missing. The script reads and writes the file later, by its path.
fn open(args: &OpenCallArgs) -> Answer {
    let path = args.path.as_str();
    match args.mode {
        FileMode::Read(_) | FileMode::ReadUpdate(_) => {
            let metadata = File::open(path).and_then(|file| file.metadata());
            let metadata = metadata.map_err(|error| io_exception(&error, path))?;
            if metadata.is_dir() {
                return Err(io_exception(&io::ErrorKind::IsADirectory.into(), path));
            }
        }
        FileMode::Write(_) | FileMode::WriteUpdate(_) => write(path, &[], false)?,
        FileMode::Append(_) | FileMode::AppendUpdate(_) => write(path, &[], true)?,
    }
    Ok(MontyObject::file_handle(MontyFileHandle {
        path: path.to_owned(),
        mode: args.mode,
        position: 0,
    }))
}

fn mkdir(args: &MkdirCallArgs) -> Answer {
    let path = args.path.as_str();
    if args.parents
        && let Some(parent) = Path::new(path).parent()
    {
        fs::create_dir_all(parent).map_err(|error| io_exception(&error, path))?;
    }
    match fs::create_dir(path) {
        Err(_) if args.exist_ok && Path::new(path).is_dir() => Ok(MontyObject::none()),
        result => done(result, path),
    }
}

fn list(path: &str) -> Answer {
    let failed = |error: io::Error| io_exception(&error, path);
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        // Skip names that are not UTF-8: the engine's paths are Unicode.
        if let Some(entry) = entry.to_str() {
            paths.push(MontyObject::path(entry));
        }
    }
    Ok(MontyObject::list(paths))
}

/// Resolves the symbolic links in the existing part of a path, like `Path.resolve()` of CPython
/// without `strict`.
fn resolve(path: &str) -> String {
    let mut rest = Vec::new();
    let mut existing = Path::new(path);
    loop {
        if let Ok(mut found) = existing.canonicalize() {
            found.extend(rest.iter().rev());
            return found.to_string_lossy().into_owned();
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                existing = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

fn stat(metadata: &Metadata) -> MontyObject {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let time = |seconds: i64, nanos: i64| seconds as f64 + nanos as f64 / 1e9;
    stat_result(
        i64::from(metadata.mode()),
        number(metadata.ino()),
        number(metadata.dev()),
        number(metadata.nlink()),
        i64::from(metadata.uid()),
        i64::from(metadata.gid()),
        number(metadata.size()),
        time(metadata.atime(), metadata.atime_nsec()),
        time(metadata.mtime(), metadata.mtime_nsec()),
        time(metadata.ctime(), metadata.ctime_nsec()),
    )
}
