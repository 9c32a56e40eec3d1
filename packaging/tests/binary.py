"""Two release builds of the same sources, in two folders, give the same binary, without a path of this machine."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from builders import tarball
from common import binary
from common.archive import sha256
from common.project import ROOT, PackagingError, source_epoch
from tests.case import Case


def check(case: Case) -> None:
    digests = []
    for name in ("first", "second-with-a-longer-name"):
        copy = copy_sources(case, case.work / name)
        out = case.work / f"{name}-out"
        # Output goes to the terminal: each build takes many minutes.
        result = subprocess.run(
            [sys.executable, copy / "packaging/build", "binary", "--out", out],
            env={**os.environ, "SOURCE_DATE_EPOCH": str(source_epoch()), "CARGO_TARGET_DIR": str(copy / "target")},
            check=False,
        )
        if result.returncode != 0:
            raise PackagingError("the build failed")
        built = next(out.iterdir())
        case.expect(not binary.machine_paths(built), f"the binary of build `{name}` contains no path of this machine")
        digests.append(sha256(built.read_bytes()))
        shutil.rmtree(copy)
    case.expect(digests[0] == digests[1], f"two builds, one hash: {digests[0]}")
    archive = case.out / tarball.archive_name(case.target.triple)
    if archive.exists():
        with tarfile.open(archive) as opened:
            name = f"{tarball.top_folder(case.version, case.target.triple)}/svc"
            packaged = sha256(opened.extractfile(name).read())
        case.expect(digests[0] == packaged, f"{archive.name} has the same binary")


def copy_sources(case: Case, folder: Path) -> Path:
    """The files that git tracks, without the history."""
    for name in case.run("git", "ls-files", "-z", cwd=ROOT).split("\0")[:-1]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder
