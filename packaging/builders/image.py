"""The container image, written without a container engine. It contains no program except svc, and so no shell.

The archive is an OCI image layout, and `docker load` reads it too.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from common import archive, binary, notices, sbom
from common.project import FILES, ROOT, PackagingError, Release, fill

# A common user id of images that do not run as root. compose.yaml and kubernetes.yaml contain it too.
USER = 65532
PORT = 12200
DATA = "var/lib/svc"
# The Debian packages that the image may have files of.
LICENSES = {
    "libc6": "LGPL-2.1-or-later",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "ca-certificates": "MPL-2.0 AND GPL-2.0-or-later",
}


def build(release: Release) -> list[Path]:
    layers = [archive.tar(tree, release.epoch) for tree in (_base(release), _program(release))]
    compressed = [archive.gz(layer) for layer in layers]
    config = _json(_config(release, layers))
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor("application/vnd.oci.image.config.v1+json", config),
            "layers": [_descriptor("application/vnd.oci.image.layer.v1.tar+gzip", layer) for layer in compressed],
        }
    )
    name, version = release.names["image"], release.version
    reference = {
        **_descriptor("application/vnd.oci.image.manifest.v1+json", manifest),
        "platform": {"architecture": release.target.oci, "os": "linux"},
        "annotations": {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"{name}:{version}"},
    }
    tree = archive.Tree()
    for blob in [config, manifest, *compressed]:
        tree.file(_path(blob), blob)
    tree.file("oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
    tree.file("index.json", _json({"schemaVersion": 2, "manifests": [reference]}))
    # For `docker load`.
    docker = {
        "Config": _path(config),
        "RepoTags": [f"{name}:{version}"],
        "Layers": [_path(layer) for layer in compressed],
    }
    tree.file("manifest.json", _json([docker]))
    file = release.out / f"{name}-{version}-image-{release.target.oci}.tar"
    files = [archive.write(file, archive.tar(tree, release.epoch))]
    for source in ("image/compose.yaml", "image/kubernetes.yaml"):
        text = fill((FILES / source).read_text(), {"IMAGE": f"{name}:{version}"})
        files.append(archive.write(release.out / f"svc-{Path(source).name}", text.encode()))
    return files


def _base(release: Release) -> archive.Tree:
    """The files that rarely change, in a separate layer."""
    root, target = release.libraries, release.target
    tree = archive.Tree()
    loader = Path(target.loader).name
    tree.file(target.loader[1:], _read(root, target.loader), 0o755)
    folder = f"lib/{target.name}-linux-gnu"
    for library in binary.needed_libraries(release.binary):
        if library != loader:
            tree.file(f"{folder}/{library}", _read(root, f"/{folder}/{library}"), 0o755)
    tree.file("etc/ssl/certs/ca-certificates.crt", _read(root, "/etc/ssl/certs/ca-certificates.crt"))
    tree.file("etc/passwd", f"svc:x:{USER}:{USER}:svc:/{DATA}:/nonexistent\n")
    tree.file("etc/group", f"svc:x:{USER}:\n")
    # Without this file, the C library may query the DNS before it reads /etc/hosts.
    tree.file("etc/nsswitch.conf", "hosts: files dns\n")
    tree.folder("tmp", 0o1777)
    tree.folder(DATA, 0o700, USER)
    for package in _packages(release):
        tree.file(f"usr/share/doc/{package}/copyright", _read(root, f"/usr/share/doc/{package}/copyright"))
    return tree


def _program(release: Release) -> archive.Tree:
    tree = archive.Tree()
    tree.file("usr/bin/svc", release.binary.read_bytes(), 0o755)
    tree.file("usr/share/doc/svc/LICENSE", (ROOT / "LICENSE").read_bytes())
    tree.file("usr/share/doc/svc/THIRD-PARTY.txt", notices.text())
    document = sbom.document(release, f"{release.names['image']}-image", _debian_packages(release))
    tree.file("usr/share/doc/svc/sbom.cdx.json", document)
    return tree


def _config(release: Release, layers: list[bytes]) -> dict:
    created = datetime.fromtimestamp(release.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "created": created,
        "architecture": release.target.oci,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {f"{PORT}/tcp": {}},
            "Env": [
                "PATH=/usr/bin",
                f"HOME=/{DATA}",
                f"SVC_LISTEN=0.0.0.0:{PORT}",
                f"SVC_DATA_DIR=/{DATA}",
            ],
            "Entrypoint": ["/usr/bin/svc"],
            "Cmd": ["server", "start"],
            "Volumes": {f"/{DATA}": {}},
            "WorkingDir": f"/{DATA}",
            "StopSignal": "SIGTERM",
            # Not in the OCI specification. Docker and Podman read it; Kubernetes uses its own probes.
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/svc", "server", "health"],
                "Interval": 10_000_000_000,
                "Timeout": 5_000_000_000,
                "StartPeriod": 30_000_000_000,
                "Retries": 3,
            },
            "Labels": {
                "org.opencontainers.image.title": release.names["image"],
                "org.opencontainers.image.description": release.names["summary"],
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.source": release.names["repository"],
                "org.opencontainers.image.licenses": "Apache-2.0",
                "org.opencontainers.image.created": created,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{archive.sha256(layer)}" for layer in layers]},
        "history": [
            {"created": created, "created_by": "packaging/build image: C library and certificates"},
            {"created": created, "created_by": "packaging/build image: svc"},
        ],
    }


def _packages(release: Release) -> list[str]:
    """The names of the Debian packages that the image has files of."""
    return [*binary.debian_packages(release.binary), "ca-certificates"]


def _debian_packages(release: Release) -> list[sbom.Library]:
    status = _read(release.libraries, "/var/lib/dpkg/status").decode()
    found = []
    for package in _packages(release):
        block = re.search(rf"^Package: {re.escape(package)}\n(?:.+\n)*", status, re.MULTILINE)
        version = re.search(r"^Version: (.+)$", block.group(0), re.MULTILINE) if block else None
        if not version:
            raise PackagingError(f"package `{package}` is not installed in `{release.libraries}`")
        number = version.group(1)
        found.append(
            sbom.Library(package, number, LICENSES[package], f"pkg:deb/debian/{package}@{number.replace('+', '%2B')}")
        )
    return found


def _read(root: Path, path: str) -> bytes:
    file = root / path.lstrip("/")
    try:
        # `root` is the root folder of a Debian system, so an absolute link refers to a file below `root`.
        while file.is_symlink():
            link = file.readlink()
            file = root / str(link).lstrip("/") if link.is_absolute() else file.parent / link
        return file.read_bytes()
    except OSError as error:
        raise PackagingError(
            f"the image needs `{path}` of a Debian system, but `{root}` does not have it (see --libraries): {error}"
        ) from error


def _descriptor(media_type: str, blob: bytes) -> dict:
    return {"mediaType": media_type, "digest": f"sha256:{archive.sha256(blob)}", "size": len(blob)}


def _path(blob: bytes) -> str:
    return f"blobs/sha256/{archive.sha256(blob)}"


def _json(value: dict | list) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
