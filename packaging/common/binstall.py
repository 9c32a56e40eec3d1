"""What `cargo binstall` downloads, from `[package.metadata.binstall]` of `crates/svc/Cargo.toml`."""

import tomllib
from dataclasses import dataclass

from common.project import ROOT

MANIFEST = ROOT / "crates/svc/Cargo.toml"


@dataclass(frozen=True)
class Download:
    # The address of the archive; begins with the text `{ repo }`.
    url: str
    # The path of the program in the archive.
    program: str


def repository() -> str:
    """The address that `{ repo }` stands for; empty if it is not set."""
    return _package().get("repository", "")


def download(version: str, triple: str) -> Download:
    metadata = _package()["metadata"]["binstall"]

    def expand(template: str) -> str:
        for name, value in {"version": version, "target": triple, "bin": "svc"}.items():
            template = template.replace(f"{{ {name} }}", value)
        return template

    return Download(expand(metadata["pkg-url"]), expand(metadata["bin-dir"]))


def _package() -> dict:
    return tomllib.loads(MANIFEST.read_text())["package"]
