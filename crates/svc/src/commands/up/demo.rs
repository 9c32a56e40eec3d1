//! The demo space: writes `examples/notes` into the space's folder.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use svc_private::{FolderKind, own_folder};

/// The registration file of the demo.
pub const METHODS_FILE: &str = "methods.toml";

/// Name and text of each file.
const FILES: [(&str, &str); 4] = [
    (METHODS_FILE, METHODS),
    ("methods.py", METHODS_SCRIPT),
    ("setup.py", SETUP),
    ("notes.py", NOTES),
];

const METHODS: &str = include_str!("../../../../../examples/notes/methods.toml");
const METHODS_SCRIPT: &str = include_str!("../../../../../examples/notes/methods.py");
const SETUP: &str = include_str!("../../../../../examples/notes/setup.py");
const NOTES: &str = include_str!("../../../../../examples/notes/notes.py");

/// Writes missing files; never overwrites a file.
pub fn write_missing(folder: &Path) -> io::Result<()> {
    own_folder(folder, FolderKind::Chosen)?;
    for (name, text) in FILES {
        match File::create_new(folder.join(name)) {
            Ok(mut file) => file.write_all(text.as_bytes())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use svc_core::{SpaceName, UserName};
    use svc_protocol::registration_file::read_file;

    use super::*;

    #[test]
    fn the_registration_is_valid_and_the_setup_routes_every_method() {
        let space = SpaceName::parse("demo").expect("a name");
        let owner = UserName::parse("admin").expect("a name");
        let (_, checked) = read_file(METHODS_FILE, METHODS, &space, &owner).expect("valid");
        assert!(checked.warnings.is_empty());
        let (_, setup) = FILES[2];
        for method in checked.methods {
            let route = format!("jsonrpc.method(\"{}\"", method.local_name);
            assert!(setup.contains(&route), "`{}` is not routed", method.name);
        }
    }

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let folder = std::env::temp_dir().join(format!("svc-demo-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        write_missing(&folder).expect("writable");
        fs::write(folder.join("notes.py"), "# mine").expect("writable");
        fs::remove_file(folder.join("setup.py")).expect("removable");
        write_missing(&folder).expect("writable");
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("there");
        assert_eq!(read("notes.py"), "# mine");
        assert!(read("setup.py").contains("jsonrpc.method"));
        fs::remove_dir_all(&folder).expect("removable");
    }
}
