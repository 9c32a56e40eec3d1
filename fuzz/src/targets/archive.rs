//! Archives of the libraries of users. svc writes these archives and never reads them. The names and
//! texts of the files come from users, and any reader must find the same files.

use std::{
    collections::BTreeSet,
    io::{Cursor, Read},
};

use svc_core::zip::archive;
use zip::ZipArchive;

use super::text;

pub fn libraries(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let parts: Vec<_> = text.split('\0').collect();
    let mut names = BTreeSet::new();
    let files: Vec<_> = parts
        .chunks_exact(2)
        .map(|part| (part[0], part[1]))
        // The reader keeps one file of each name.
        .filter(|(name, _)| names.insert(*name))
        .collect();
    let written = archive(&files);
    let mut reader = ZipArchive::new(Cursor::new(written)).expect("a valid archive");
    assert_eq!(reader.len(), files.len());
    for (index, (name, text)) in files.into_iter().enumerate() {
        let mut file = reader.by_index(index).expect("a file");
        assert_eq!(file.name_raw(), name.as_bytes());
        // Reading to the end also checks the checksum.
        let mut read = String::new();
        file.read_to_string(&mut read).expect("readable");
        assert_eq!(read, text);
    }
}
