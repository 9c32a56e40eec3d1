"""The checks themselves: each accepts a right input and finds the fault in a wrong one. Needs no package."""

import dataclasses
import shutil
from pathlib import Path

from common import binary, notices
from common.project import PackagingError
from tests import formula, tarball
from tests.case import Case


def check(case: Case) -> None:
    _machine_paths(case)
    _release_build(case)
    _formula(case)


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
