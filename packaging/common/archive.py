"""Archives whose bytes depend on their contents only: sorted entries, fixed owners and times, no machine name."""

import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """A file (`data` is set), a symbolic link (`link` is set) or a folder (neither is set)."""

    data: bytes | None
    mode: int
    owner: int = 0
    link: str = ""


@dataclass
class Tree:
    """The contents of an archive, by path without a leading slash."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def file(self, path: str, data: bytes | str, mode: int = 0o644) -> None:
        self.entries[path] = Entry(data.encode() if isinstance(data, str) else data, mode)

    def folder(self, path: str, mode: int = 0o755, owner: int = 0) -> None:
        self.entries[path] = Entry(None, mode, owner)

    def link(self, path: str, destination: str) -> None:
        self.entries[path] = Entry(None, 0o777, link=destination)

    def with_parents(self) -> dict[str, Entry]:
        """All entries, sorted, with the folders above them."""
        complete = dict(self.entries)
        for path in self.entries:
            for parent in Path(path).parents:
                if str(parent) != ".":
                    complete.setdefault(str(parent), Entry(None, 0o755))
        return dict(sorted(complete.items()))


def tar(tree: Tree, epoch: int, *, prefix: str = "", folders: bool = True) -> bytes:
    """An uncompressed tar. `prefix`, such as `./`, is put before each name. Without `folders`, folders are left out."""
    buffer = io.BytesIO()
    # The GNU format needs no extended headers for these names and times, and all tools can read it.
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        if prefix == "./":
            archive.addfile(_info("./", Entry(None, 0o755), epoch))
        for path, entry in tree.with_parents().items():
            if entry.data is None and not entry.link and not folders:
                continue
            info = _info(prefix + path, entry, epoch)
            archive.addfile(info, io.BytesIO(entry.data) if entry.data is not None else None)
    return buffer.getvalue()


def _info(name: str, entry: Entry, epoch: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mtime = epoch
    info.mode = entry.mode
    info.uid = info.gid = entry.owner
    # Without a name, tools use the number. Debian's tools expect the name `root`.
    info.uname = info.gname = "root" if entry.owner == 0 else ""
    if entry.link:
        info.type, info.linkname = tarfile.SYMTYPE, entry.link
    elif entry.data is None:
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(entry.data)
    return info


def gz(data: bytes) -> bytes:
    """gzip without a name and a time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def xz(data: bytes) -> bytes:
    return lzma.compress(data, format=lzma.FORMAT_XZ, preset=6)


def zip_archive(tree: Tree, epoch: int) -> bytes:
    """A zip of files only, as wheels have them."""
    # Zip cannot store times before 1980.
    time = datetime.fromtimestamp(max(epoch, 315532800), UTC).timetuple()[:6]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, entry in sorted(tree.entries.items()):
            info = zipfile.ZipInfo(path, time)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = (0o100000 | entry.mode) << 16
            archive.writestr(info, entry.data, compresslevel=9)
    return buffer.getvalue()


def ar(members: list[tuple[str, bytes]], epoch: int) -> bytes:
    """The outer archive of a Debian package. The order of members is part of that format."""
    result = b"!<arch>\n"
    for name, data in members:
        header = f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n"
        result += header.encode() + data + (b"\n" if len(data) % 2 else b"")
    return result


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(path: Path, data: bytes) -> Path:
    """Writes under a temporary name first, so that a file with the final name is always complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(data)
    partial.chmod(0o644)
    partial.replace(path)
    return path
