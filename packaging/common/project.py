"""Facts about the project: folders, version, time stamp, names, targets."""

import os
import platform
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

PACKAGING = Path(__file__).resolve().parent.parent
ROOT = PACKAGING.parent
FILES = PACKAGING / "files"


class PackagingError(Exception):
    """A problem that the user can solve; printed without a traceback."""


@dataclass(frozen=True)
class Target:
    """One kind of machine, with its name in every package format."""

    name: str
    triple: str
    deb: str
    npm_cpu: str
    oci: str
    loader: str
    elf_machine: int


TARGETS = {
    "x86_64": Target("x86_64", "x86_64-unknown-linux-gnu", "amd64", "x64", "amd64", "/lib64/ld-linux-x86-64.so.2", 62),
    "aarch64": Target(
        "aarch64", "aarch64-unknown-linux-gnu", "arm64", "arm64", "arm64", "/lib/ld-linux-aarch64.so.1", 183
    ),
}


def host_target() -> Target:
    """The kind of this machine."""
    name = platform.machine()
    if name not in TARGETS:
        raise PackagingError(f"packages are for {', '.join(TARGETS)}; this machine is `{name}`")
    return TARGETS[name]


@dataclass(frozen=True, eq=False)
class Release:
    """The input of every builder: one version for one target, built from one binary into one folder."""

    version: str
    target: Target
    binary: Path
    # A `svc` that runs on this machine. Prints the manual pages and the completions.
    runnable: Path
    out: Path
    epoch: int
    names: dict
    # The root folder that the libraries of the image are taken from.
    libraries: Path


def read_names() -> dict:
    return tomllib.loads((PACKAGING / "names.toml").read_text())


def workspace_version() -> str:
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def check_version(version: str) -> str:
    """Accepts only versions that dpkg, pip, npm and cargo read in the same way."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise PackagingError(f"version `{version}` is not of the form 1.2.3, which every package format accepts")
    return version


def source_epoch() -> int:
    """Time stamp of everything in the packages: SOURCE_DATE_EPOCH, or else the time of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        if not given.isdigit():
            raise PackagingError(f"SOURCE_DATE_EPOCH is `{given}`; it must be seconds since 1970")
        return int(given)
    result = subprocess.run(
        ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False
    )
    if result.returncode != 0 or not result.stdout.strip():
        raise PackagingError("this folder has no git history: set SOURCE_DATE_EPOCH to the time of the release")
    return int(result.stdout)


def fill(template: str, values: dict) -> str:
    """Replaces each `@NAME@`; a name without a value is an error."""

    def value(match: re.Match) -> str:
        name = match.group(1)
        if name not in values:
            raise PackagingError(f"template has `@{name}@`, but no value for it")
        return str(values[name])

    return re.sub(r"@([A-Z][A-Z0-9_]*)@", value, template)
