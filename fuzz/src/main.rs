//! Fuzz targets for the parsers of bytes from outside. `fuzz/run` builds and starts them; the
//! environment variable `SVC_FUZZ_TARGET` chooses the target. All targets are in one program,
//! because building a program takes most of the time of a short run.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

mod targets;

use targets::{TARGETS, Target};

static TARGET: OnceLock<Target> = OnceLock::new();

fuzz_target!(init: {
    let name = std::env::var("SVC_FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let Some((_, target)) = found else {
        let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
        eprintln!("SVC_FUZZ_TARGET must be one of: {}", names.join(" "));
        std::process::exit(2);
    };
    TARGET.get_or_init(|| *target);
}, |data: &[u8]| {
    let target = TARGET.get().expect("set by init");
    target(&targets::expand(data));
});
