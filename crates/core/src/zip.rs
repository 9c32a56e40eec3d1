//! Zip archives of text files.
//!
//! The bytes of an archive depend only on its files, not on the time or on the order of the files
//! in a folder.

/// Signatures of a local header, of a central directory entry and of the end of the directory
/// (APPNOTE 4.3).
const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
const CENTRAL_SIGNATURE: u32 = 0x0201_4b50;
const END_SIGNATURE: u32 = 0x0605_4b50;
/// Format version needed to read a stored entry: 1.0.
const VERSION_NEEDED: u16 = 10;
/// Made on Unix, so that [`ATTRIBUTES`] are read as permissions.
const MADE_BY: u16 = (3 << 8) | VERSION_NEEDED;
/// Names are UTF-8.
const UTF8_NAMES: u16 = 1 << 11;
/// 1980-01-01, the oldest date of the format. Fixed, so that equal files give equal bytes.
const DATE: u16 = (1 << 5) | 1;
/// A regular file, `rw-r--r--`.
const ATTRIBUTES: u32 = 0o100_644 << 16;

/// A zip archive of these files in this order. The same files in the same order give the same
/// bytes. Files beyond the limits of the format (65,535 files, 4 GiB) are left out.
pub fn archive<T: AsRef<str>>(files: &[(T, T)]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    let mut entries: u16 = 0;
    for (path, text) in files {
        let (path, text) = (path.as_ref(), text.as_ref());
        let Some(entry) = Entry::new(path, text, archive.len()) else {
            continue;
        };
        let Some(next) = entries.checked_add(1) else {
            break;
        };
        entries = next;
        entry.write_local(&mut archive);
        archive.extend_from_slice(text.as_bytes());
        entry.write_central(&mut directory);
    }
    let start = u32::try_from(archive.len()).unwrap_or(u32::MAX);
    let length = u32::try_from(directory.len()).unwrap_or(u32::MAX);
    archive.append(&mut directory);
    put(&mut archive, &END_SIGNATURE.to_le_bytes());
    // Both disk numbers are 0; all entries are on this disk.
    put(&mut archive, &[0; 4]);
    put(&mut archive, &entries.to_le_bytes());
    put(&mut archive, &entries.to_le_bytes());
    put(&mut archive, &length.to_le_bytes());
    put(&mut archive, &start.to_le_bytes());
    put(&mut archive, &[0; 2]);
    archive
}

/// One stored file.
struct Entry<'a> {
    path: &'a str,
    path_length: u16,
    crc: u32,
    size: u32,
    offset: u32,
}

impl<'a> Entry<'a> {
    fn new(path: &'a str, text: &str, offset: usize) -> Option<Self> {
        Some(Self {
            path,
            path_length: u16::try_from(path.len()).ok()?,
            crc: crc32fast::hash(text.as_bytes()),
            size: u32::try_from(text.len()).ok()?,
            offset: u32::try_from(offset).ok()?,
        })
    }

    fn write_local(&self, out: &mut Vec<u8>) {
        put(out, &LOCAL_SIGNATURE.to_le_bytes());
        self.write_common(out);
        put(out, self.path.as_bytes());
    }

    fn write_central(&self, out: &mut Vec<u8>) {
        put(out, &CENTRAL_SIGNATURE.to_le_bytes());
        put(out, &MADE_BY.to_le_bytes());
        self.write_common(out);
        // No comment, disk 0, no internal attributes.
        put(out, &[0; 6]);
        put(out, &ATTRIBUTES.to_le_bytes());
        put(out, &self.offset.to_le_bytes());
        put(out, self.path.as_bytes());
    }

    /// The fields of both headers, from the version needed to the length of the extra field.
    fn write_common(&self, out: &mut Vec<u8>) {
        put(out, &VERSION_NEEDED.to_le_bytes());
        put(out, &UTF8_NAMES.to_le_bytes());
        // No compression (stored), and the time midnight.
        put(out, &[0; 4]);
        put(out, &DATE.to_le_bytes());
        put(out, &self.crc.to_le_bytes());
        put(out, &self.size.to_le_bytes());
        put(out, &self.size.to_le_bytes());
        put(out, &self.path_length.to_le_bytes());
        put(out, &[0; 2]);
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn python(code: &str, bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("libraries.zip");
        std::fs::write(&path, bytes).expect("written");
        let output = Command::new("python3")
            .args(["-B", "-c", code])
            .env("PYTHONPATH", &path)
            .env("ARCHIVE", &path)
            .output()
            .expect("python3 runs: the tests of this repository need it");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        String::from_utf8(output.stdout).expect("text")
    }

    #[test]
    fn cpython_imports_from_an_archive() {
        let bytes = archive(&[
            ("one.py", "NAME = 'ünø'\n"),
            ("pack/__init__.py", ""),
            ("pack/two.py", "import one\nNAME = one.NAME * 2\n"),
        ]);
        let code = "import pack.two; print(ascii(pack.two.NAME))";
        assert_eq!(python(code, &bytes).trim(), r"'\xfcn\xf8\xfcn\xf8'");
    }

    #[test]
    fn cpython_finds_no_error_in_an_archive() {
        let code = "import os, zipfile\nz = zipfile.ZipFile(os.environ['ARCHIVE'])\n\
                    print(z.testzip(), z.namelist(), z.infolist()[0].date_time[:3])";
        assert_eq!(
            python(code, &archive(&[("b.py", "b"), ("a.py", "")])).trim(),
            "None ['b.py', 'a.py'] (1980, 1, 1)"
        );
        assert_eq!(
            python("print(__import__('zipfile').ZipFile(__import__('os').environ['ARCHIVE']).namelist())", &archive::<&str>(&[])).trim(),
            "[]"
        );
    }

    #[test]
    fn equal_files_give_equal_bytes() {
        let one = archive(&[("a.py", "1")]);
        assert_eq!(one, archive(&[("a.py", "1")]));
        assert_ne!(one, archive(&[("a.py", "2")]));
    }

    /// The fields in the order of the specification of the format (APPNOTE 4.3.7, 4.3.12, 4.3.16).
    #[test]
    fn an_archive_has_exactly_the_bytes_of_its_headers_and_files() {
        let local: &[&[u8]] = &[
            b"PK\x03\x04",
            b"\x0a\0",           // version needed: 1.0
            b"\x00\x08",         // flags: the name is UTF-8
            b"\0\0",             // stored
            b"\0\0\x21\x00",     // midnight, 1980-01-01
            b"\x43\xbe\xb7\xe8", // CRC-32
            b"\x01\0\0\0",       // compressed size
            b"\x01\0\0\0",       // size
            b"\x05\0",           // length of the name
            b"\0\0",             // length of the extra field
        ];
        let central: &[&[u8]] = &[
            b"PK\x01\x02",
            b"\x0a\x03", // made by: version 1.0 on Unix
            &local[1..].concat(),
            b"\0\0\0\0\0\0", // no comment, disk 0, no internal attributes
            b"\0\0\xa4\x81", // a regular file, rw-r--r--
            b"\0\0\0\0",     // offset of the local header
        ];
        let end: &[&[u8]] = &[
            b"PK\x05\x06",
            b"\0\0\0\0",     // disk numbers
            b"\x01\0\x01\0", // entries on this disk, and in all
            b"\x33\0\0\0",   // size of the directory: 51
            b"\x24\0\0\0",   // offset of the directory: 36
            b"\0\0",         // no comment
        ];
        let name = "é.py".as_bytes();
        let expected = [
            &local.concat(),
            name,
            b"a",
            &central.concat(),
            name,
            &end.concat(),
        ];
        assert_eq!(archive(&[("é.py", "a")]), expected.concat());
    }
}
