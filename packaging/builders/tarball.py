"""The archive for the install script, cargo-binstall and Homebrew; the install script; the Homebrew formula."""

from pathlib import Path

from common import archive, binary, manual, notices, sbom
from common.project import FILES, ROOT, TARGETS, PackagingError, Release, fill


def archive_name(triple: str) -> str:
    """The name has no version, so that the address of the newest release stays the same."""
    return f"svc-{triple}.tar.gz"


def top_folder(version: str, triple: str) -> str:
    """The folder that contains all files of the archive. `bin-dir` in crates/svc/Cargo.toml contains this name too."""
    return f"svc-{version}-{triple}"


def build(release: Release) -> list[Path]:
    top = top_folder(release.version, release.target.triple)
    tree = archive.Tree()
    tree.file(f"{top}/svc", release.binary.read_bytes(), 0o755)
    for name in ("LICENSE", "README.md", "CHANGELOG.md"):
        tree.file(f"{top}/{name}", (ROOT / name).read_bytes())
    tree.file(f"{top}/THIRD-PARTY.txt", notices.text())
    tree.file(f"{top}/sbom.cdx.json", sbom.document(release, "svc"))
    tree.file(f"{top}/config.default.toml", (ROOT / "crates/svc/config.default.toml").read_bytes())
    for page, text in manual.pages(release).items():
        tree.file(f"{top}/man/{page}", text)
    for shell, (file, _) in manual.COMPLETIONS.items():
        tree.file(f"{top}/completions/{file}", manual.completion(release, shell))
    name = archive_name(release.target.triple)
    built = archive.write(release.out / name, archive.gz(archive.tar(tree, release.epoch)))
    checksum = archive.write(release.out / f"{name}.sha256", f"{archive.sha256(built.read_bytes())}  {name}\n".encode())
    return [built, checksum, _installer(release)]


def _installer(release: Release) -> Path:
    major, minor = binary.glibc_floor(release.binary)
    values = {"REPOSITORY": release.names["repository"], "VERSION": release.version, "GLIBC": f"{major}.{minor}"}
    return archive.write(release.out / "install.sh", fill((FILES / "install.sh").read_text(), values).encode())


def build_formula(out: Path, version: str, names: dict) -> list[Path]:
    """The Homebrew formula. It contains the checksums of all archives, which must be in `out`."""
    values = {"SUMMARY": names["summary"], "REPOSITORY": names["repository"], "VERSION": version}
    for target in TARGETS.values():
        file = out / archive_name(target.triple)
        if not file.is_file():
            raise PackagingError(
                f"the formula needs `{file.name}` in `{out}`: build the tarball for {target.name} first"
            )
        values[f"SHA256_{target.name.upper()}"] = archive.sha256(file.read_bytes())
    return [archive.write(out / "svc.rb", fill((FILES / "homebrew/svc.rb").read_text(), values).encode())]
