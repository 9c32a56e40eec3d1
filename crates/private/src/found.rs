//! Decides whether to use a file that was found in a folder and that the user did not name.
//!
//! The current folder, or a folder above it, can belong to another user. A file found there could
//! send the command's parameters or a credential to that user. So a found file is used only if the
//! file and its folder belong to the current user or to root, and no other user can write them. A
//! folder with the sticky bit may be writable for other users, because they cannot replace the file
//! in it.

use std::{
    fmt,
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::user::own_uid;

/// The largest size of a found file: a configuration or a few lines of JSON.
const BYTES_MAX: u64 = 1024 * 1024;

const OTHERS_MAY_WRITE: u32 = 0o022;
/// In a folder with this bit, a user cannot replace the files of other users.
const STICKY: u32 = 0o1000;

/// Why a found file is not used.
#[derive(Debug, PartialEq, Eq)]
pub struct UntrustedFile {
    /// The file that is not used.
    file: PathBuf,
    /// The cause: the file itself, or its folder.
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug, PartialEq, Eq)]
enum Reason {
    ForeignOwner { owner: u32, user: u32 },
    OthersMayWrite { mode: u32 },
    TooLarge,
}

impl fmt::Display for UntrustedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, path, reason } = self;
        write!(f, "`{}` is ignored: ", file.display())?;
        let path = path.display();
        match reason {
            Reason::ForeignOwner { owner, user } => write!(
                f,
                "`{path}` belongs to user id {owner}, and you are {user}; only your own files and root's are used"
            ),
            Reason::OthersMayWrite { mode } => write!(
                f,
                "other users can write `{path}` (mode {mode:04o}); `chmod go-w {path}` makes it safe"
            ),
            Reason::TooLarge => write!(f, "it has more than {BYTES_MAX} bytes"),
        }
    }
}

/// Reads a file that the user did not name. Returns `Ok(Ok(None))` if the path does not exist or is
/// not a file.
pub fn read_found(file: &Path) -> io::Result<Result<Option<String>, UntrustedFile>> {
    read_as(file, own_uid())
}

fn read_as(file: &Path, user: u32) -> io::Result<Result<Option<String>, UntrustedFile>> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let refuse = |path: &Path, reason| {
        Ok(Err(UntrustedFile {
            file: file.to_owned(),
            path: path.to_owned(),
            reason,
        }))
    };
    // Without this flag, a command would wait for the writer of a named pipe.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = File::options();
    let opened = match options.read(true).custom_flags(nonblocking).open(file) {
        Ok(opened) => opened,
        Err(error) if is_absent(&error) => return Ok(Ok(None)),
        Err(error) => return Err(error),
    };
    // The metadata of the opened file: the path may lead to another file by now.
    let found = opened.metadata()?;
    if !found.is_file() {
        return Ok(Ok(None));
    }
    let folder_found = fs::metadata(folder)?;
    if let Some(reason) = judge(&found, user, false) {
        return refuse(file, reason);
    }
    if let Some(reason) = judge(&folder_found, user, true) {
        return refuse(folder, reason);
    }
    // The owner of a symbolic link chooses its target, so the owner must be trusted too.
    for link in [file, folder] {
        let itself = fs::symlink_metadata(link)?;
        if itself.is_symlink()
            && let Some(reason) = judge_owner(&itself, user)
        {
            return refuse(link, reason);
        }
    }
    let mut text = String::new();
    opened.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return refuse(file, Reason::TooLarge);
    }
    Ok(Ok(Some(text)))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn judge(found: &Metadata, user: u32, is_folder: bool) -> Option<Reason> {
    if let Some(reason) = judge_owner(found, user) {
        return Some(reason);
    }
    let mode = found.mode() & 0o7777;
    let is_guarded = is_folder && mode & STICKY != 0;
    (mode & OTHERS_MAY_WRITE != 0 && !is_guarded).then_some(Reason::OthersMayWrite { mode })
}

fn judge_owner(found: &Metadata, user: u32) -> Option<Reason> {
    let owner = found.uid();
    (owner != user && owner != 0).then_some(Reason::ForeignOwner { owner, user })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const TEXT: &str = "text";

    fn found_in(folder_mode: u32, file_mode: u32, user: u32) -> Result<Option<String>, String> {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("found");
        fs::create_dir(&folder).expect("a folder");
        let file = folder.join("file");
        fs::write(&file, TEXT).expect("written");
        for (path, mode) in [(&file, file_mode), (&folder, folder_mode)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        read_as(&file, user)
            .expect("readable")
            .map_err(|untrusted| untrusted.to_string())
    }

    #[test]
    fn a_file_that_only_its_owner_writes_is_used() {
        for (folder, file) in [(0o700, 0o600), (0o755, 0o644), (0o1777, 0o600)] {
            let read = found_in(folder, file, own_uid());
            assert_eq!(read, Ok(Some(TEXT.into())), "{folder:o} {file:o}");
        }
    }

    #[test]
    fn a_file_that_another_user_can_write_is_ignored() {
        for (folder, file, names) in [
            (0o755, 0o646, "file` (mode 0646)"),
            (0o755, 0o664, "file` (mode 0664)"),
            (0o777, 0o600, "found` (mode 0777)"),
            (0o775, 0o600, "found` (mode 0775)"),
        ] {
            let refusal = found_in(folder, file, own_uid()).expect_err("not safe");
            assert!(refusal.contains(names), "{refusal}");
            assert!(refusal.contains("chmod go-w"), "{refusal}");
        }
    }

    #[test]
    fn a_named_pipe_is_ignored_without_waiting_for_its_writer() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RWXU;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).expect("a pipe");
        let read = read_as(&pipe, own_uid()).expect("opened");
        assert_eq!(read, Ok(None));
    }

    #[test]
    fn a_file_of_another_user_is_ignored_and_one_of_root_is_used() {
        let stranger = 54_321;
        let read = found_in(0o755, 0o644, stranger);
        if own_uid() == 0 {
            assert_eq!(read, Ok(Some(TEXT.into())));
        } else {
            let refusal = read.expect_err("a stranger's");
            assert!(refusal.contains("belongs to user id"), "{refusal}");
        }
        if own_uid() != 0 {
            return;
        }
        // Only root can change the owner of a file.
        let root = tempfile::tempdir().expect("a folder");
        let file = root.path().join("file");
        fs::write(&file, TEXT).expect("written");
        std::os::unix::fs::chown(&file, Some(stranger), None).expect("given away");
        let refusal = read_as(&file, own_uid()).expect("readable");
        let refusal = refusal.expect_err("a stranger's").to_string();
        assert!(refusal.contains("user id 54321"), "{refusal}");
        // A link of another user is not trusted, even if its target is.
        let (ours, link) = (root.path().join("ours"), root.path().join("link"));
        fs::write(&ours, TEXT).expect("written");
        symlink(&ours, &link).expect("a link");
        assert_eq!(
            read_as(&link, own_uid()).expect("readable"),
            Ok(Some(TEXT.into()))
        );
        std::os::unix::fs::lchown(&link, Some(stranger), None).expect("given away");
        assert!(read_as(&link, own_uid()).expect("readable").is_err());
    }

    #[test]
    fn a_missing_file_is_not_an_error() {
        let root = tempfile::tempdir().expect("a folder");
        let read = read_found(&root.path().join("none/file")).expect("no error");
        assert_eq!(read, Ok(None));
        assert_eq!(read_found(root.path()).expect("no error"), Ok(None));
    }
}
