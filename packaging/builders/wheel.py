"""The PyPI package with the binary: no Python code, one wheel per machine."""

from pathlib import Path

from builders.sdk import sdk_name
from common import archive, binary, notices, sbom, wheels
from common.project import FILES, ROOT, Release, fill


def build(release: Release) -> list[Path]:
    name = release.names["pypi"]
    # 2.17 is the lowest version of glibc for which all tools know the platform name.
    major, minor = max(binary.glibc_floor(release.binary), (2, 17))
    platforms = [f"manylinux_{major}_{minor}_{release.target.name}"]
    if (major, minor) == (2, 17):
        # The older name of the same platform, for older versions of pip.
        platforms.append(f"manylinux2014_{release.target.name}")
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {name}",
        f"Version: {release.version}",
        f"Summary: {release.names['summary']}",
        f"Project-URL: Source, {release.names['repository']}",
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        "License-File: THIRD-PARTY.txt",
        "Requires-Python: >=3.8",
        "Classifier: Operating System :: POSIX :: Linux",
        "Description-Content-Type: text/markdown",
        "",
        fill(
            (FILES / "pypi.md").read_text(),
            {"PYPI": name, "SDK": sdk_name(), "REPOSITORY": release.names["repository"]},
        ),
    ]
    tree = archive.Tree()
    data = f"{wheels.wheel_name(name)}-{release.version}.data"
    tree.file(f"{data}/scripts/svc", release.binary.read_bytes(), 0o755)
    information = f"{wheels.wheel_name(name)}-{release.version}.dist-info"
    tree.file(f"{information}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    tree.file(f"{information}/licenses/THIRD-PARTY.txt", notices.text())
    tree.file(f"{information}/sboms/svc.cdx.json", sbom.document(release, name))
    return [
        wheels.write_wheel(release, name, tree, "\n".join(metadata), [f"py3-none-{platform}" for platform in platforms])
    ]
