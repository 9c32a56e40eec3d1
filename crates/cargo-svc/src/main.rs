//! The program behind the alias `cargo svc`: announces the first build, which takes minutes, and
//! then lets cargo build and run `svc`. This program has no dependencies, so its own build takes a
//! second.

use std::{
    env,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// A profile with short builds and slow programs. `Cargo.toml` compares it with `release`.
const PROFILE: &str = "quick";

fn main() -> ExitCode {
    if let Ok(this) = env::current_exe()
        && let Some(program) = built_program(&this)
        && !program.exists()
    {
        eprintln!(
            "This first run builds svc, which takes 5 to 10 minutes on two cores. Later runs start at once.\n\
             This svc is built without optimisation and runs slowly: `cargo install --locked \
             --ignore-rust-version --path crates/svc` builds a fast svc."
        );
    }
    // `cargo run` sets this variable to the path of cargo.
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["run", "--profile", PROFILE, "--ignore-rust-version"])
        .args(["--package", "svc", "--"])
        .args(env::args_os().skip(1));
    // Cargo set these variables for this program. The build script of the crate `ring` depends on
    // them: with them, cargo would build `ring` again after a plain `cargo build`.
    for (name, _) in env::vars_os() {
        let name_bytes = name.as_encoded_bytes();
        if name_bytes.starts_with(b"CARGO_PKG_") || name_bytes.starts_with(b"CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    let error = command.exec();
    eprintln!("cannot start cargo: {error}");
    ExitCode::FAILURE
}

/// The path at which cargo writes `svc`. `this` is `<target>/debug/cargo-svc`.
fn built_program(this: &Path) -> Option<PathBuf> {
    let target = this.parent()?.parent()?;
    Some(target.join(PROFILE).join("svc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_in_the_folder_of_its_profile() {
        let program = built_program(Path::new("/a/target/debug/cargo-svc"));
        assert_eq!(program.as_deref(), Some(Path::new("/a/target/quick/svc")));
    }
}
