//! The `svc` Python package of `sdk/python`, and its archive (spec 4.2).

use data_encoding::HEXLOWER;
use svc_crypto::sha256;

/// The path of a file of the package, and its text.
macro_rules! packaged {
    ($path:literal) => {
        (
            $path,
            include_str!(concat!("../../../sdk/python/src/", $path)),
        )
    };
}

/// Path in the package and text of each file, `svc/__init__.py` first.
pub const SVC_PACKAGE: &[(&str, &str)] = &[
    packaged!("svc/__init__.py"),
    packaged!("svc/_host.py"),
    packaged!("svc/_serve.py"),
    packaged!("svc/_sink_event.py"),
    packaged!("svc/api.py"),
    packaged!("svc/event.py"),
    packaged!("svc/jsonrpc.py"),
    packaged!("svc/methods/__init__.py"),
    packaged!("svc/methods/schema.py"),
    packaged!("svc/py.typed"),
];

/// Hex digits of an entity tag.
const ETAG_DIGITS: usize = 32;

/// The archive of [`SVC_PACKAGE`].
pub fn svc_libraries() -> Vec<u8> {
    svc_core::zip::archive(SVC_PACKAGE)
}

/// A strong entity tag of these bytes, quotes included.
pub fn etag(bytes: &[u8]) -> String {
    format!("\"{}\"", HEXLOWER.encode(&sha256(bytes)[..ETAG_DIGITS / 2]))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn cpython_imports_the_svc_package_from_its_archive() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("libraries.zip");
        std::fs::write(&path, svc_libraries()).expect("written");
        let code = "import svc, svc.methods, svc.methods.schema, svc.event, svc.api, svc.jsonrpc\n\
                    print(svc.methods.schema.__file__)";
        let output = Command::new("python3")
            .args(["-B", "-c", code])
            .env("PYTHONPATH", &path)
            .output()
            .expect("python3 runs: the tests of this repository need it");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let file = String::from_utf8(output.stdout).expect("text");
        assert!(
            file.trim().ends_with("libraries.zip/svc/methods/schema.py"),
            "{file}"
        );
    }

    #[test]
    fn other_bytes_have_another_tag() {
        let tag = etag(b"one");
        assert_eq!(tag, etag(b"one"));
        assert_ne!(tag, etag(b"two"));
        assert!(
            tag.starts_with('"') && tag.ends_with('"') && tag.len() == 34,
            "{tag}"
        );
    }
}
