"""The Debian package: binary, systemd unit, configuration, manual pages, completions."""

import hashlib
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from common import archive, binary, manual, notices, sbom
from common.project import FILES, ROOT, Release, fill

# The paths in the unit and in the configuration contain this name too.
NAME = "svc"
# Counts changes of the package that do not change svc itself.
REVISION = 1


def build(release: Release) -> list[Path]:
    tree = _contents(release)
    size = sum(len(entry.data or b"") for entry in tree.entries.values())
    control = _control(release, tree, size)
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", archive.xz(archive.tar(control, release.epoch, prefix="./"))),
        ("data.tar.xz", archive.xz(archive.tar(tree, release.epoch, prefix="./"))),
    ]
    file = release.out / f"{NAME}_{release.version}-{REVISION}_{release.target.deb}.deb"
    return [archive.write(file, archive.ar(members, release.epoch))]


def _contents(release: Release) -> archive.Tree:
    tree = archive.Tree()
    tree.file("usr/bin/svc", release.binary.read_bytes(), 0o755)
    tree.file("usr/lib/systemd/system/svc.service", _file("svc.service"))
    tree.file("usr/lib/sysusers.d/svc.conf", _file("sysusers.conf"))
    tree.file("usr/lib/tmpfiles.d/svc.conf", _file("tmpfiles.conf"))
    tree.file("etc/svc/svc.toml", _file("svc.toml"))
    for name, page in manual.pages(release).items():
        tree.file(f"usr/share/man/man1/{name}.gz", archive.gz(page.encode()))
    for shell, (_, path) in manual.COMPLETIONS.items():
        tree.file(path, manual.completion(release, shell))
    documents = f"usr/share/doc/{NAME}"
    tree.file(f"{documents}/copyright", _file("copyright"))
    tree.file(f"{documents}/changelog.Debian.gz", archive.gz(_changelog(release).encode()))
    tree.file(f"{documents}/changelog.gz", archive.gz((ROOT / "CHANGELOG.md").read_bytes()))
    tree.file(f"{documents}/THIRD-PARTY.txt.gz", archive.gz(notices.text().encode()))
    tree.file(f"{documents}/sbom.cdx.json.gz", archive.gz(sbom.document(release, NAME)))
    tree.file(f"{documents}/config.default.toml", (ROOT / "crates/svc/config.default.toml").read_bytes())
    tree.file(f"{documents}/examples/port-443.conf", _file("port-443.conf"))
    tree.file(f"usr/share/lintian/overrides/{NAME}", fill(_file("lintian-overrides"), {"NAME": NAME}))
    return tree


def _control(release: Release, tree: archive.Tree, size: int) -> archive.Tree:
    major, minor = binary.glibc_floor(release.binary)
    values = {
        "NAME": NAME,
        "VERSION": f"{release.version}-{REVISION}",
        "ARCHITECTURE": release.target.deb,
        "MAINTAINER": release.names["maintainer"],
        "HOMEPAGE": release.names["repository"],
        "SUMMARY": release.names["summary"][0].lower() + release.names["summary"][1:],
        "LIBRARIES": ", ".join(
            f"{package} (>= {major}.{minor})" if package == "libc6" else package
            for package in binary.debian_packages(release.binary)
        ),
        "SIZE": -(-size // 1024),
    }
    control = archive.Tree()
    control.file("control", fill(_file("control"), values))
    control.file("conffiles", "/etc/svc/svc.toml\n")
    for script in ("postinst", "prerm", "postrm"):
        control.file(script, _file(script), 0o755)
    sums = [
        f"{hashlib.md5(entry.data, usedforsecurity=False).hexdigest()}  {path}"
        for path, entry in sorted(tree.entries.items())
        if entry.data is not None and not path.startswith("etc/")
    ]
    control.file("md5sums", "\n".join(sums) + "\n")
    return control


def _changelog(release: Release) -> str:
    date = format_datetime(datetime.fromtimestamp(release.epoch, UTC))
    return (
        f"{NAME} ({release.version}-{REVISION}) stable; urgency=medium\n\n"
        f"  * Release {release.version}. The changes are in changelog.gz.\n\n"
        f" -- {release.names['maintainer']}  {date}\n"
    )


def _file(name: str) -> str:
    return (FILES / "deb" / name).read_text()
