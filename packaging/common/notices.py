"""The licence texts of everything in the binary: the file `THIRD-PARTY.txt`, which is also embedded in the binary.

`packaging/notices` makes and checks the file. Packages contain a copy of it.
"""

import re
from pathlib import Path

from common import crates, sbom
from common.project import FILES, ROOT, TARGETS, PackagingError

FILE = ROOT / "THIRD-PARTY.txt"

LICENSE_FILE = re.compile(r"(?i)^(licen[sc]es?|copying|notice|unlicense|copyright)([._-].*)?$")
LINE = "=" * 100


def text() -> str:
    return FILE.read_text()


def make() -> str:
    """The notices of the binaries for all machines. Equal texts appear once."""
    users: dict[str, list[str]] = {}
    without_text: list[str] = []
    linked = {crate.key: crate for target in TARGETS.values() for crate in crates.linked_crates(target)}
    for key, crate in sorted(linked.items()):
        if crate.own:
            continue
        found = _texts(crate.folder)
        if not found:
            without_text.append(key)
            found = [_standard_text(crate)]
        for body in found:
            users.setdefault(body, []).append(f"{key} ({crate.license})")
    for library in [*sbom.c_libraries(linked.values()), *sbom.web_libraries()]:
        users.setdefault(_clean(library.text.read_text()), []).append(
            f"{library.name}@{library.version} ({library.license})"
        )
    # Without a version: it depends on the compiler and the linker of the build.
    users.setdefault(_clean(sbom.RUST_STD.read_text()), []).append(f"rust-std ({sbom.RUST_STD_LICENSE})")
    users.setdefault(_clean(sbom.LIBUNWIND.read_text()), []).append(f"llvm-libunwind ({sbom.LIBUNWIND_LICENSE})")
    parts = [
        "Third-party software in svc\n\n"
        "svc contains the software named below. The texts are those of the published sources. Where a licence is\n"
        '"A OR B", svc uses the software under either of them.',
    ]
    if without_text:
        parts.append(
            "The published sources of these crates contain no licence text; the standard text of their licence is\n"
            "used:\n" + "\n".join(f"  {key}" for key in without_text)
        )
    for body, names in sorted(users.items(), key=lambda item: item[1]):
        parts.append(f"{LINE}\n" + "\n".join(sorted(names)) + f"\n{LINE}\n\n{body}")
    return "\n\n".join(parts) + "\n"


def _texts(folder: Path) -> list[str]:
    files = [path for path in sorted(folder.iterdir()) if LICENSE_FILE.match(path.name)]
    # Some crates have a folder of texts.
    files = [
        inner for path in files for inner in (sorted(path.rglob("*")) if path.is_dir() else [path]) if inner.is_file()
    ]
    texts = [_clean(path.read_text(errors="replace")) for path in files]
    return [body for body in dict.fromkeys(texts) if body]


def _standard_text(crate: crates.Crate) -> str:
    if "MIT" not in crate.license:
        raise PackagingError(
            f"crate `{crate.key}` has no licence text, and there is no standard text for `{crate.license}`"
        )
    holders = ", ".join(crate.authors) or f"the authors of {crate.name}"
    return _clean((FILES / "licenses" / "MIT.txt").read_text().replace("@HOLDERS@", holders))


def _clean(body: str) -> str:
    """Removes differences in line ends, trailing spaces and outer blank lines."""
    return "\n".join(line.rstrip() for line in body.replace("\r\n", "\n").expandtabs().split("\n")).strip("\n")
