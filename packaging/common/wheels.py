"""The wheel format of Python packages."""

import base64
import hashlib
from pathlib import Path

from common import archive
from common.project import Release


def wheel_name(name: str) -> str:
    return name.replace("-", "_")


def write_wheel(release: Release, name: str, tree: archive.Tree, metadata: str, tags: list[str]) -> Path:
    """Adds the files that every wheel has, and writes the wheel."""
    information = f"{wheel_name(name)}-{release.version}.dist-info"
    pure = all(tag.endswith("-none-any") for tag in tags)
    head = ["Wheel-Version: 1.0", "Generator: svc packaging", f"Root-Is-Purelib: {str(pure).lower()}"]
    tree.file(f"{information}/METADATA", metadata)
    tree.file(f"{information}/WHEEL", "\n".join([*head, *(f"Tag: {tag}" for tag in tags)]) + "\n")
    record = [f"{path},sha256={_digest(entry.data)},{len(entry.data)}" for path, entry in sorted(tree.entries.items())]
    tree.file(f"{information}/RECORD", "\n".join([*record, f"{information}/RECORD,,"]) + "\n")
    platforms = ".".join(tag.removeprefix("py3-none-") for tag in tags)
    file = release.out / f"{wheel_name(name)}-{release.version}-py3-none-{platforms}.whl"
    return archive.write(file, archive.zip_archive(tree, release.epoch))


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
