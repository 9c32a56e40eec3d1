"""Builds each package twice, from two copies of the sources, with two time zones and umasks. Expects equal bytes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from common.archive import sha256
from common.project import ROOT, PackagingError, source_epoch
from tests.binary import copy_sources
from tests.case import Case


def check(case: Case, binary: Path) -> None:
    # Both builds have the same time stamp, like two builds of one commit.
    epoch = str(source_epoch())
    copy = copy_sources(case, case.work / "another place")
    other = case.work / "other-name"
    shutil.copy(binary, other)
    first = _build(ROOT, binary, case.work / "first", {"SOURCE_DATE_EPOCH": epoch, "TZ": "UTC"}, 0o022)
    second = _build(
        copy,
        other,
        case.work / "second",
        {"SOURCE_DATE_EPOCH": epoch, "TZ": "Asia/Tokyo", "LC_ALL": "C", "COLUMNS": "40"},
        0o077,
    )
    case.expect(sorted(first) == sorted(second), f"both builds have the same {len(first)} files")
    different = [name for name, digest in first.items() if second[name] != digest]
    for name, digest in sorted(first.items()):
        case.say(f"{digest[:16]}  {name}{'  DIFFERS' if name in different else ''}")
    case.expect(not different, "two builds, one hash for each file")


def _build(root: Path, binary: Path, out: Path, variables: dict, umask: int) -> dict[str, str]:
    command = [sys.executable, str(root / "packaging/build"), "all", "--binary", str(binary), "--out", str(out)]
    result = subprocess.run(
        command,
        env={**os.environ, **variables},
        umask=umask,
        cwd=out.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise PackagingError(f"the build failed:\n{result.stderr}")
    return {file.name: sha256(file.read_bytes()) for file in out.iterdir()}
