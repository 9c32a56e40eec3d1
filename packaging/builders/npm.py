"""npm packages: a package with the binary for one kind of machine, and the main package, whose launcher finds it."""

import json
from pathlib import Path

from common import archive, notices, sbom
from common.project import FILES, ROOT, TARGETS, Release, Target, fill


def build(release: Release) -> list[Path]:
    return [_platform(release), _main(release)]


def platform_name(release: Release, target: Target) -> str:
    return f"{release.names['npm']}-linux-{target.npm_cpu}"


def _platform(release: Release) -> Path:
    name = platform_name(release, release.target)
    tree = archive.Tree()
    tree.file("package/bin/svc", release.binary.read_bytes(), 0o755)
    tree.file(
        "package/README.md",
        f"The program `svc` for Linux on {release.target.name}. Install `{release.names['npm']}`.\n",
    )
    tree.file("package/THIRD-PARTY.txt", notices.text())
    manifest = {
        "os": ["linux"],
        "cpu": [release.target.npm_cpu],
        "libc": ["glibc"],
        "files": ["bin", "THIRD-PARTY.txt", "sbom.cdx.json"],
    }
    return _write(release, name, tree, manifest, sbom.document(release, name))


def _main(release: Release) -> Path:
    name = release.names["npm"]
    tree = archive.Tree()
    packages = {target.npm_cpu: platform_name(release, target) for target in TARGETS.values()}
    launcher = fill((FILES / "npm/svc.js").read_text(), {"PACKAGES": json.dumps(packages)})
    tree.file("package/bin/svc.js", launcher, 0o755)
    tree.file(
        "package/README.md",
        fill((FILES / "npm/README.md").read_text(), {"NPM": name, "REPOSITORY": release.names["repository"]}),
    )
    manifest = {
        "bin": {"svc": "bin/svc.js"},
        "engines": {"node": ">=18"},
        "files": ["bin", "sbom.cdx.json"],
        # npm installs the package whose `os`, `cpu` and `libc` match, and skips the others.
        "optionalDependencies": {package: release.version for package in packages.values()},
    }
    return _write(release, name, tree, manifest, sbom.document(release, name, with_crates=False))


def _write(release: Release, name: str, tree: archive.Tree, manifest: dict, document: bytes) -> Path:
    complete = {
        "name": name,
        "version": release.version,
        "description": release.names["summary"],
        "license": "Apache-2.0",
        "repository": {"type": "git", "url": f"git+{release.names['repository']}.git"},
        **manifest,
    }
    tree.file("package/package.json", json.dumps(complete, indent=2) + "\n")
    tree.file("package/LICENSE", (ROOT / "LICENSE").read_bytes())
    tree.file("package/sbom.cdx.json", document)
    file = release.out / f"{name}-{release.version}.tgz"
    # npm expects no entries for folders.
    return archive.write(file, archive.gz(archive.tar(tree, release.epoch, folders=False)))
