//! The seal at the end of a backup: a mark, and the SHA-256 of every byte before the mark. SQLite
//! does not read past its last page, so a sealed file is still a database.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use svc_crypto::{HASH_BYTES, Sha256};

const MARK: &[u8; 16] = b"svc backup seal\n";
const SEAL_BYTES: u64 = (MARK.len() + HASH_BYTES) as u64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seal {
    Whole,
    /// A byte before the seal, or the hash in the seal, was changed.
    Broken,
    /// There is no seal, its mark was changed, or the end of the file is missing.
    Missing,
}

pub(super) fn append(file: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(file)?;
    let length = file.seek(SeekFrom::End(0))?;
    let hash = hash(&mut file, length)?;
    file.write_all(MARK)?;
    file.write_all(&hash)
}

pub(super) fn check(file: &Path) -> io::Result<Seal> {
    let mut file = File::open(file)?;
    let length = file.seek(SeekFrom::End(0))?;
    let Some(content) = length.checked_sub(SEAL_BYTES) else {
        return Ok(Seal::Missing);
    };
    let hash = hash(&mut file, content)?;
    let mut seal = Vec::new();
    file.read_to_end(&mut seal)?;
    Ok(match seal.strip_prefix(MARK) {
        None => Seal::Missing,
        Some(written) if written == hash => Seal::Whole,
        Some(_) => Seal::Broken,
    })
}

/// Removes the seal from a file.
pub(super) fn remove(file: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(file)?;
    let length = file.metadata()?.len();
    file.set_len(length.saturating_sub(SEAL_BYTES))
}

/// The hash of the first `length` bytes. Afterwards the file is positioned after them.
fn hash(file: &mut File, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut hash = Sha256::new();
    let mut content = file.take(length);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(hash.finish().to_vec()),
            read => hash.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_any_byte_breaks_the_seal() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("sealed");
        std::fs::write(&file, b"some content").expect("written");
        assert_eq!(check(&file).expect("readable"), Seal::Missing);
        append(&file).expect("sealed");
        assert_eq!(check(&file).expect("readable"), Seal::Whole);
        let whole = std::fs::read(&file).expect("readable");
        for position in 0..whole.len() {
            let mut changed = whole.clone();
            changed[position] ^= 1;
            std::fs::write(&file, changed).expect("written");
            assert_ne!(check(&file).expect("readable"), Seal::Whole, "{position}");
        }
        std::fs::write(&file, &whole[..whole.len() - 1]).expect("written");
        assert_eq!(check(&file).expect("readable"), Seal::Missing);
        std::fs::write(&file, &whole).expect("written");
        remove(&file).expect("removed");
        assert_eq!(std::fs::read(&file).expect("readable"), b"some content");
    }
}
