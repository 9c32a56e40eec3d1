"""The list of contents (SBOM) of a package, in CycloneDX 1.5. The same input gives the same bytes."""

import json
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from common import binary, crates
from common.project import FILES, ROOT, PackagingError, Release, Target

TEXTS = FILES / "licenses"
# Rust's standard library: its licence texts and its licence.
RUST_STD = TEXTS / "rust-std.txt"
RUST_STD_LICENSE = "MIT OR Apache-2.0"
# LLVM's libunwind, which a build with zig links instead of libgcc_s.
LIBUNWIND = TEXTS / "llvm-libunwind.txt"
LIBUNWIND_LICENSE = "Apache-2.0 WITH LLVM-exception"

VENDOR = ROOT / "web/app/vendor"
# The libraries of the web interface: for each npm package its files in `VENDOR` and the file of its licence text.
WEB_LIBRARIES = {
    "@preact/signals": ({"signals.js"}, "LICENSE.signals.txt"),
    "@preact/signals-core": ({"signals-core.js"}, "LICENSE.signals-core.txt"),
    "htm": ({"htm.js"}, "LICENSE.htm.txt"),
    "preact": ({"preact.js", "hooks.js"}, "LICENSE.preact.txt"),
}


@dataclass(frozen=True)
class Library:
    """A part that is not a crate, such as a C library."""

    name: str
    version: str
    license: str
    purl: str
    # The file of its licence text; None if the package already contains the text.
    text: Path | None = None


def embedded_libraries(release: Release) -> list[Library]:
    """C code inside crates, the libraries of the web interface, libunwind, and Rust's standard library."""
    found = [*c_libraries(crates.linked_crates(release.target)), *web_libraries()]
    unwind = binary.libunwind(release.binary)
    if unwind:
        purl = f"pkg:generic/llvm-libunwind@{unwind}"
        found.append(Library("llvm-libunwind", unwind, LIBUNWIND_LICENSE, purl, LIBUNWIND))
    rust = binary.compiler(release.binary)
    if rust:
        found.append(Library("rust-std", rust, RUST_STD_LICENSE, f"pkg:generic/rust-std@{rust}", RUST_STD))
    return sorted(found, key=lambda library: library.name)


def c_libraries(linked: Iterable[crates.Crate]) -> list[Library]:
    """C code inside crates."""
    found = []
    for crate in linked:
        if crate.name == "libsqlite3-sys":
            version = _search(crate.folder / "sqlite3/sqlite3.h", r'SQLITE_VERSION\s+"([0-9.]+)"')
            found.append(Library("sqlite", version, "blessing", f"pkg:generic/sqlite@{version}", TEXTS / "sqlite.txt"))
        if crate.name == "libmimalloc-sys":
            found.append(_mimalloc(crate.folder))
    return found


def web_libraries() -> list[Library]:
    """The libraries of the web interface, which the binary contains."""
    known = set().union(*(files for files, _ in WEB_LIBRARIES.values()))
    found = {path.name for path in VENDOR.glob("*.js")}
    if found != known:
        raise PackagingError(
            f"web/app/vendor has other files than before ({', '.join(sorted(found ^ known))}): change packaging/common/sbom.py"
        )
    packages = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    libraries = []
    for name, (_, text) in WEB_LIBRARIES.items():
        package = packages[f"node_modules/{name}"]
        purl = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        libraries.append(Library(name, package["version"], package["license"], purl, VENDOR / text))
    return libraries


def _mimalloc(folder: Path) -> Library:
    # The crate contains the versions 2 and 3 of the C library. Without its feature `v2` it compiles version 3.
    source = folder / "c_src/mimalloc/v3"
    number = _search(source / "include/mimalloc.h", r"MI_MALLOC_VERSION\s+(\d+)")
    # The number 30302 means version 3.3.2.
    version = f"{int(number[:-4])}.{int(number[-4:-2])}.{int(number[-2:])}"
    return Library("mimalloc", version, "MIT", f"pkg:generic/mimalloc@{version}", source / "LICENSE")


def _search(file: Path, pattern: str) -> str:
    match = re.search(pattern, file.read_text(errors="replace"))
    if not match:
        raise PackagingError(f"`{file}` has its version in another form than before: change packaging/common/sbom.py")
    return match.group(1)


def document(release: Release, package: str, extra: list[Library] | None = None, *, with_crates: bool = True) -> bytes:
    """`package` is the name of the package that contains the document; `extra` are parts that only this package has."""
    root = f"pkg:generic/{package}@{release.version}"
    linked = crates.linked_crates(release.target) if with_crates else ()
    libraries = [*(embedded_libraries(release) if with_crates else []), *(extra or [])]
    references = {crate.key: _purl(crate) for crate in linked}
    components = [*(crate_components(release.target) if with_crates else []), *map(_library, libraries)]
    direct = [references[crate.key] for crate in linked if crate.name == "svc"] + [
        library.purl for library in libraries
    ]
    body = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(release.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": package,
                "version": release.version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
            # A package without crates is the same for all targets.
            **({"properties": [{"name": "svc:target", "value": release.target.triple}]} if with_crates else {}),
        },
        "components": components,
        "dependencies": [
            {"ref": root, "dependsOn": sorted(direct)},
            *(
                {"ref": references[crate.key], "dependsOn": sorted(references[key] for key in crate.needs)}
                for crate in linked
            ),
        ],
    }
    # The serial number is computed from the contents of the document.
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    return (json.dumps({**body, "serialNumber": f"urn:uuid:{serial}"}, indent=1) + "\n").encode()


def crate_components(target: Target) -> list[dict]:
    return [_crate(crate) for crate in crates.linked_crates(target)]


def _purl(crate: crates.Crate) -> str:
    # The crates of this project are not on a registry.
    return f"pkg:{'generic' if crate.own else 'cargo'}/{crate.name}@{crate.version}"


def _crate(crate: crates.Crate) -> dict:
    component = {
        "type": "library",
        "bom-ref": _purl(crate),
        "name": crate.name,
        "version": crate.version,
        "purl": _purl(crate),
        "licenses": [{"expression": crate.license}],
    }
    if crate.description:
        component["description"] = crate.description
    if crate.checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": crate.checksum}]
    if crate.repository:
        component["externalReferences"] = [{"type": "vcs", "url": crate.repository}]
    return component


def _library(library: Library) -> dict:
    return {
        "type": "library",
        "bom-ref": library.purl,
        "name": library.name,
        "version": library.version,
        "purl": library.purl,
        "licenses": [{"expression": library.license}],
    }
