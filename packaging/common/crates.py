"""The crates that a release contains, from cargo's own records. Builds nothing and needs no network."""

import json
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common.project import ROOT, PackagingError, Target


@dataclass(frozen=True)
class Crate:
    name: str
    version: str
    license: str
    authors: tuple[str, ...]
    repository: str
    description: str
    # The oldest Rust that the crate declares, such as 1.96; empty if it declares none.
    rust_version: str
    # sha256 of the crate's archive, from Cargo.lock; empty for crates of this project.
    checksum: str
    folder: Path
    # `name@version` of the crates that this one is linked with.
    needs: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def own(self) -> bool:
        return not self.checksum


@cache
def linked_crates(target: Target) -> tuple[Crate, ...]:
    """Every crate whose code is in the binary `svc`, sorted by name. Includes macros, but no build scripts and tests."""
    # `cargo metadata` resolves the features of all crates of the workspace together and so lists too many crates.
    # `cargo tree` knows the features of `svc` alone.
    tree = _cargo("tree", "-p", "svc", "-e", "normal", "--target", target.triple, "--prefix", "none", "--format", "{p}")
    chosen = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    metadata = json.loads(_cargo("metadata", "--format-version", "1", "--filter-platform", target.triple))
    checksums = {
        (package["name"], package["version"]): package.get("checksum", "")
        for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    }
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}

    def is_chosen(package: dict) -> bool:
        return (package["name"], f"v{package['version']}") in chosen

    crates = []
    for identity, package in packages.items():
        if not is_chosen(package):
            continue
        needs = {
            f"{packages[edge['pkg']]['name']}@{packages[edge['pkg']]['version']}"
            for edge in nodes[identity]["deps"]
            if any(kind["kind"] is None for kind in edge["dep_kinds"]) and is_chosen(packages[edge["pkg"]])
        }
        crates.append(
            Crate(
                name=package["name"],
                version=package["version"],
                # Old crates write `A/B` for `A OR B`.
                license=(package["license"] or "").replace(" / ", " OR ").replace("/", " OR "),
                authors=tuple(package["authors"]),
                repository=package["repository"] or "",
                description=" ".join((package["description"] or "").split()),
                rust_version=package["rust_version"] or "",
                checksum=checksums[(package["name"], package["version"])],
                folder=Path(package["manifest_path"]).parent,
                needs=tuple(sorted(needs)),
            )
        )
    return tuple(sorted(crates, key=lambda crate: (crate.name, crate.version)))


def _cargo(command: str, *arguments: str) -> str:
    result = subprocess.run(
        ["cargo", command, "--locked", "--offline", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise PackagingError(f"`cargo {command}` failed (run `cargo fetch --locked` first?): {result.stderr.strip()}")
    return result.stdout
