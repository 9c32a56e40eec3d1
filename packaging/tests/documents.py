"""The documents of a package: the licence, the notices of third-party software and the list of contents (SBOM)."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from common import binary, lock, notices
from common.project import ROOT, PackagingError
from tests.case import Case

LICENSES = ("LICENSE", "copyright")
NOTICES = ("THIRD-PARTY.txt", "THIRD-PARTY.txt.gz")
LISTS = (".cdx.json", ".cdx.json.gz")


def expect(case: Case, package: Path, *, with_binary: bool = True) -> None:
    """A package without the binary has no notices, and its list of contents is empty."""
    found = {path: data for path, data in _files(package) if _is_document(path)}
    license_text = _single(package, found, LICENSES).decode()
    # Debian has the text of the licence on every machine, so the package only names it.
    case.expect(
        license_text == (ROOT / "LICENSE").read_text() or "/usr/share/common-licenses/Apache-2.0" in license_text,
        f"{package.name} has the licence",
    )
    document = json.loads(_single(package, found, LISTS))
    case.expect(
        document["metadata"]["component"]["version"] == case.version,
        f"{package.name} has a list of contents: {len(document['components'])} components",
    )
    if not with_binary:
        case.expect(not document["components"], f"{package.name} contains no third-party software")
        return
    wrong = list(lock.problems(document["components"]))
    case.expect(not wrong, f"its list of contents agrees with Cargo.lock{': ' + '; '.join(wrong) if wrong else ''}")
    text = _single(package, found, NOTICES).decode()
    case.expect(text == notices.text(), f"{package.name} has the current THIRD-PARTY.txt")
    missing = [name for name in _third_party(document) if name not in text]
    case.expect(not missing, f"THIRD-PARTY.txt names all components{': ' + ', '.join(missing) if missing else ''}")


def expect_debian_packages(case: Case, package: Path, program: Path) -> None:
    """The image's list of contents names exactly the Debian packages that the image has files of."""
    found = {path: data for path, data in _files(package) if _is_document(path)}
    listed = {part["name"] for part in json.loads(_single(package, found, LISTS))["components"] if _is_debian(part)}
    wanted = {*binary.debian_packages(program), "ca-certificates"}
    case.expect(listed == wanted, f"its list of contents names {', '.join(sorted(listed))} of Debian")


def _third_party(document: dict) -> list[str]:
    """The names as in THIRD-PARTY.txt, where parts that depend on the compiler have no version."""
    names = []
    for part in document["components"]:
        if _is_debian(part) or (part["name"] == "svc" or part["name"].startswith("svc-")):
            continue
        unversioned = part["name"] in ("rust-std", "llvm-libunwind")
        names.append(f"{part['name']} (" if unversioned else f"{part['name']}@{part['version']} (")
    return names


def _is_debian(part: dict) -> bool:
    return part["purl"].startswith("pkg:deb/")


def _is_document(path: str) -> bool:
    """The packages of Debian in the image have files named `copyright`, too."""
    name = Path(path).name
    if name == "copyright":
        return path.endswith("usr/share/doc/svc/copyright")
    return name == "LICENSE" or name in NOTICES or name.endswith(LISTS)


def _single(package: Path, found: dict[str, bytes], ends: tuple[str, ...]) -> bytes:
    matching = [path for path in found if path.endswith(ends)]
    if len(matching) != 1:
        raise PackagingError(f"`{package.name}` has {len(matching)} files whose names end in {' or '.join(ends)}")
    data = found[matching[0]]
    return gzip.decompress(data) if matching[0].endswith(".gz") else data


def _files(package: Path) -> Iterator[tuple[str, bytes]]:
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as opened:
            yield from ((name, opened.read(name)) for name in opened.namelist() if _is_document(name))
    elif package.suffix == ".deb":
        yield from _tar(_member(package.read_bytes(), "data.tar.xz"))
    elif package.suffix == ".tar":
        with tarfile.open(package) as opened:
            manifest = json.loads(opened.extractfile("manifest.json").read())
            for layer in manifest[0]["Layers"]:
                yield from _tar(opened.extractfile(layer).read())
    else:
        yield from _tar(package.read_bytes())


def _tar(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        for member in opened:
            if member.isfile() and _is_document(member.name):
                yield member.name, opened.extractfile(member).read()


def _member(data: bytes, wanted: str) -> bytes:
    """A file of the outer archive of a Debian package."""
    position = len(b"!<arch>\n")
    while position < len(data):
        name, size = data[position : position + 16].decode().strip(), int(data[position + 48 : position + 58])
        position += 60
        if name == wanted:
            return data[position : position + size]
        position += size + size % 2
    raise PackagingError(f"the package has no `{wanted}`")
