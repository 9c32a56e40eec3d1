"""Compares a list of contents (SBOM) with Cargo.lock and with the manifests, which say what the binary must contain."""

import tomllib
from collections.abc import Iterator

from common.project import ROOT


def problems(components: list[dict]) -> Iterator[str]:
    """`components` as in CycloneDX. Empty if the list agrees with the lock file."""
    packages = _packages()
    found = set()
    for component in components:
        name, version = component["name"], component["version"]
        if not component["purl"].startswith("pkg:cargo/") and name not in _own_crates():
            continue
        found.add(name)
        if (name, version) not in packages:
            yield f"`{name}@{version}` is not in Cargo.lock"
            continue
        wanted = packages[name, version]
        hashes = [each["content"] for each in component.get("hashes", [])]
        if hashes != ([wanted] if wanted else []):
            yield f"`{name}@{version}` has the hash {hashes or 'none'}, but Cargo.lock has {wanted or 'none'}"
    for crate, dependency in _required("svc"):
        if dependency not in found:
            yield f"`{dependency}` is missing, which `{crate}` requires"


def _packages() -> dict[tuple[str, str], str]:
    """Name and version of every package, with its checksum. The crates of this project have none."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(package["name"], package["version"]): package.get("checksum", "") for package in lock["package"]}


def _own_crates() -> dict[str, dict]:
    manifests = [tomllib.loads(file.read_text()) for file in sorted(ROOT.glob("crates/*/Cargo.toml"))]
    return {manifest["package"]["name"]: manifest for manifest in manifests}


def _required(root: str) -> Iterator[tuple[str, str]]:
    """What `root` and the crates of this project that it needs depend on for every machine and with all features."""
    own = _own_crates()
    waiting, seen = [root], {root}
    while waiting:
        crate = waiting.pop()
        for name, entry in own[crate].get("dependencies", {}).items():
            if isinstance(entry, dict) and entry.get("optional"):
                continue
            dependency = entry.get("package", name) if isinstance(entry, dict) else name
            yield crate, dependency
            if dependency in own and dependency not in seen:
                seen.add(dependency)
                waiting.append(dependency)
