"""The checks themselves: each accepts a right input and finds the fault in a wrong one. Needs no package."""

import dataclasses
import re
import shutil
import tomllib
from pathlib import Path

from common import binary, crates, lock, migrations, notices, sbom
from common.project import ROOT, TARGETS, PackagingError
from tests import formula, tarball
from tests.case import Case


def check(case: Case) -> None:
    _machine_paths(case)
    _release_build(case)
    _formula(case)
    _migrations(case)
    _contents(case)
    _rust_version(case)


def _machine_paths(case: Case) -> None:
    file = case.work / "program"
    address = b"\0see https://github.com/rust-lang/rust/blob/main/str/iter.rs\0"
    given = b"\0/svc/crates/svc/src/main.rs\0/rustc/0123/library/core/src/str/iter.rs\0"
    file.write_bytes(address + given)
    case.expect(not binary.machine_paths(file), "an address and the names of a release build are no machine paths")
    case.expect(not binary.machine_paths(notices.FILE), "THIRD-PARTY.txt contains no machine path")
    file.write_bytes(address + b"\0/home/x/a.rs\0" + given + b"panicked at /root/.cargo/registry/src/b.c:1")
    found = binary.machine_paths(file)
    case.expect(found == ["/home/x/", "/root/.cargo/"], f"planted machine paths are found: {' '.join(found)}")


def _release_build(case: Case) -> None:
    """Any program of this machine is not a release build of svc."""
    message = ""
    try:
        tarball.check_build(dataclasses.replace(case, release=True), Path(shutil.which("true")))
    except PackagingError as error:
        message = str(error)
    case.expect("build it with cargo-auditable" in message, f"with --release another build is refused: {message}")


def _formula(case: Case) -> None:
    text = '  def install\n    bin.install "a"\n    b.install "b/c" => "d"\n    e.install Dir["e/*.1"], "f"\n  end\n'
    found = formula.installed(text)
    case.expect(found == ["a", "b/c", "e/*.1", "f"], "the paths of a formula are found, without the new names")


def _migrations(case: Case) -> None:
    """The list of released migrations: new ones are added, changed ones are found."""
    folder = case.work / "migrations"
    folder.mkdir()
    (folder / migrations.LIST).write_text("# A comment.\n")
    (folder / "0001_a.sql").write_text("CREATE TABLE a")
    found = list(migrations.problems("1.0.0", folder))
    case.expect(len(found) == 1 and "seal-migrations 1.0.0" in found[0], f"an unlisted migration is found: {found[0]}")
    case.expect(migrations.seal("1.0.0", folder) == ["0001_a"], "a release lists its migrations")
    (folder / "0002_b.sql").write_text("CREATE TABLE b")
    case.expect(migrations.seal("1.1.0", folder) == ["0002_b"], "the next release lists only its own migrations")
    case.expect([each.version for each in migrations.read(folder)] == ["1.0.0", "1.1.0"], "each with its release")
    case.expect(not list(migrations.problems("1.1.0", folder)), "a complete list has no problems")
    (folder / "0001_a.sql").write_text("CREATE TABLE a2")
    message = ""
    try:
        migrations.seal("1.2.0", folder)
    except PackagingError as error:
        message = str(error)
    case.expect("is in release 1.0.0" in message, f"a changed migration is refused: {message}")


def _contents(case: Case) -> None:
    """The list of contents (SBOM) has what Cargo.lock and the manifests say."""
    for target in TARGETS.values():
        components = sbom.crate_components(target)
        wrong = list(lock.problems(components))
        case.expect(
            not wrong, f"the list of contents for {target.name} agrees with Cargo.lock: {'; '.join(wrong) or 'yes'}"
        )
    at = next(at for at, each in enumerate(components) if each["name"] == "serde_json")
    others = components[:at] + components[at + 1 :]
    other_hash = [{"alg": "SHA-256", "content": "0" * 64}]
    for fault, planted in {
        "is missing, which `svc` requires": others,
        "is not in Cargo.lock": [*others, {**components[at], "version": "0.0.0"}],
        "but Cargo.lock has": [*others, {**components[at], "hashes": other_hash}],
        "has the hash none": [*others, {key: value for key, value in components[at].items() if key != "hashes"}],
    }.items():
        found = list(lock.problems(planted))
        case.expect(any(fault in problem for problem in found), f"a fault in the list is found: {found[:1]}")


def _rust_version(case: Case) -> None:
    """The documents name the newest Rust that a dependency declares. It is the reason for `--ignore-rust-version`."""
    own = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    linked = [crate for target in TARGETS.values() for crate in crates.linked_crates(target) if crate.rust_version]
    newest = max(linked, key=lambda crate: _numbers(crate.rust_version))
    case.expect(
        _numbers(newest.rust_version) > _numbers(own),
        f"{newest.key} declares Rust {newest.rust_version}, newer than {own}; otherwise remove `--ignore-rust-version`",
    )
    version = ".".join(map(str, _numbers(newest.rust_version)))
    for path in ("README.md", "CONTRIBUTING.md", "docs/decisions/0002-monty.md", ".cargo/config.toml", "Cargo.toml"):
        text = " ".join((ROOT / path).read_text().replace("\n#", "\n").split())
        named = re.search(r"declares? (?:Rust )?(\d+\.\d+)", text)
        case.expect(
            named is not None and named.group(1) == version,
            f"{path} names Rust {version} as what the script engine declares",
        )


def _numbers(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
