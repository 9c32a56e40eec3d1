"""The Homebrew formula: its syntax, and that the archive has every file that it installs. Homebrew itself is not run."""

import fnmatch
import re
import shutil
import tarfile

from builders import tarball
from common.archive import sha256
from common.project import TARGETS, PackagingError
from tests.case import Case


def check(case: Case) -> None:
    archive = case.package(tarball.archive_name(case.target.triple))
    # The formula needs the archives of all machines. This test has one and uses it for all.
    folder = case.work / "archives"
    folder.mkdir()
    for target in TARGETS.values():
        shutil.copy(archive, folder / tarball.archive_name(target.triple))
    formula = tarball.build_formula(folder, case.version, case.names)[0]
    text = formula.read_text()
    case.expect(
        text.count(sha256(archive.read_bytes())) == len(TARGETS),
        f"the formula has {len(TARGETS)} checksums of archives",
    )
    if shutil.which("ruby"):
        case.run("ruby", "-c", formula)
        case.say("ruby accepts the syntax of the formula")
    else:
        case.say("ruby is not installed: the syntax of the formula is not checked")
    with tarfile.open(archive) as opened:
        # Homebrew enters the only folder of an archive.
        names = [name.split("/", 1)[1] for name in opened.getnames() if "/" in name]
    for pattern in installed(text):
        found = fnmatch.filter(names, pattern)
        case.expect(bool(found), f"the archive has {pattern} ({len(found)})")


def installed(formula: str) -> list[str]:
    """The paths and patterns of the method `install`. After `=>` is the name that an installed file gets."""
    body = re.search(r"^  def install\n(.*?)^  end\n", formula, re.MULTILINE | re.DOTALL)
    if not body:
        raise PackagingError("the formula has no method `install`")
    return [path for renamed, path in re.findall(r'(=> )?"([^"]+)"', body.group(1)) if not renamed]
