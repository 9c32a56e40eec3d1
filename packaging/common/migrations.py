"""The migrations of the database, and the list of those that a release contains.

A released migration is never changed: databases that ran the old text would differ from new databases. The list has the
SHA-256 of each released migration; a test of `crates/store` compares the list with the migrations.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common.project import ROOT, PackagingError

FOLDER = ROOT / "crates/store/src/migrations"
LIST = "released.txt"


@dataclass(frozen=True)
class Released:
    hash: str
    # The name of the file without `.sql`.
    name: str
    # The first release that contains the migration.
    version: str


def read(folder: Path = FOLDER) -> list[Released]:
    lines = (folder / LIST).read_text().splitlines()
    released = [line.split() for line in lines if line and not line.startswith("#")]
    for parts in released:
        if len(parts) != 3:
            raise PackagingError(f"{LIST}: `{' '.join(parts)}` is not a hash, a name and a version")
    return [Released(*parts) for parts in released]


def problems(version: str, folder: Path = FOLDER) -> Iterator[str]:
    """What must be corrected before the release of this version."""
    hashes = _hashes(folder)
    listed = read(folder)
    for released in listed:
        if hashes.get(released.name) != released.hash:
            yield (
                f"migration `{released.name}` is in release {released.version}, but its text was changed or removed: "
                "restore the text, and write a new migration for the change"
            )
    for name in sorted(hashes.keys() - {released.name for released in listed}):
        yield f"migration `{name}` is not in {LIST}: run packaging/seal-migrations {version}"


def seal(version: str, folder: Path = FOLDER) -> list[str]:
    """Adds every new migration to the list. Returns the names of the new migrations."""
    wrong = [problem for problem in problems(version, folder) if "was changed or removed" in problem]
    if wrong:
        raise PackagingError("\n".join(wrong))
    listed = {released.name for released in read(folder)}
    new = {name: hash for name, hash in _hashes(folder).items() if name not in listed}
    with (folder / LIST).open("a") as file:
        file.writelines(f"{hash} {name} {version}\n" for name, hash in new.items())
    return list(new)


def _hashes(folder: Path) -> dict[str, str]:
    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.sql"))}
