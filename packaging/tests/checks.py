"""The checks themselves: each accepts a right input and finds the fault in a wrong one. Needs no package."""

from common import binary, notices
from tests.case import Case


def check(case: Case) -> None:
    _machine_paths(case)


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
