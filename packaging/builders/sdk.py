"""The Python library `sdk/python` as a wheel and a source archive, both from its own `pyproject.toml`."""

import tomllib
from pathlib import Path

from common import archive, sbom, wheels
from common.project import ROOT, PackagingError, Release

SDK = ROOT / "sdk/python"


def sdk_name() -> str:
    return _project()["name"]


def build(release: Release) -> list[Path]:
    project = _project()
    name = project["name"]
    metadata = _metadata(project, release)
    sources = sorted(path for path in (SDK / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)

    tree = archive.Tree()
    for path in sources:
        tree.file(str(path.relative_to(SDK / "src")), path.read_bytes())
    information = f"{wheels.wheel_name(name)}-{release.version}.dist-info"
    tree.file(f"{information}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    document = sbom.document(release, name, with_crates=False)
    tree.file(f"{information}/sboms/{name}.cdx.json", document)
    built = wheels.write_wheel(release, name, tree, metadata, ["py3-none-any"])

    source = archive.Tree()
    top = f"{wheels.wheel_name(name)}-{release.version}"
    for path in [*sources, SDK / "pyproject.toml", SDK / "README.md"]:
        source.file(f"{top}/{path.relative_to(SDK)}", path.read_bytes())
    source.file(f"{top}/LICENSE", (ROOT / "LICENSE").read_bytes())
    source.file(f"{top}/sbom.cdx.json", document)
    source.file(f"{top}/PKG-INFO", metadata)
    return [built, archive.write(release.out / f"{top}.tar.gz", archive.gz(archive.tar(source, release.epoch)))]


def _project() -> dict:
    return tomllib.loads((SDK / "pyproject.toml").read_text())["project"]


def _metadata(project: dict, release: Release) -> str:
    version = (SDK / "src/svc/__init__.py").read_text()
    if f'__version__ = "{release.version}"' not in version:
        raise PackagingError(f"`__version__` in sdk/python/src/svc/__init__.py is not `{release.version}`")
    # A new key or dependency of pyproject.toml must be added here and to the lines below.
    unknown = set(project) - {
        "name", "description", "readme", "requires-python", "license", "dependencies", "dynamic", "classifiers"
    }  # fmt: skip
    if unknown or project["dependencies"]:
        raise PackagingError(
            f"packaging/builders/sdk.py does not handle these keys of pyproject.toml: {sorted(unknown) or 'dependencies'}"
        )
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {release.version}",
        f"Summary: {project['description']}",
        f"Project-URL: Source, {release.names['repository']}",
        f"License-Expression: {project['license']['text']}",
        "License-File: LICENSE",
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        "Description-Content-Type: text/markdown",
        "",
        (SDK / "README.md").read_text(),
    ]
    return "\n".join(lines)
