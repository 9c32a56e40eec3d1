"""The manual pages and the shell completions, from the binary itself."""

import tempfile
from pathlib import Path

from common import binary
from common.project import Release

# For each shell: the name of its completion script in an archive, and the path where Debian's shells search for it.
COMPLETIONS = {
    "bash": ("svc.bash", "usr/share/bash-completion/completions/svc"),
    "zsh": ("_svc.zsh", "usr/share/zsh/vendor-completions/_svc"),
    "fish": ("svc.fish", "usr/share/fish/vendor_completions.d/svc.fish"),
}


def completion(release: Release, shell: str) -> str:
    return binary.run(release.runnable, "completions", shell)


def pages(release: Release) -> dict[str, str]:
    """A page for each command, by its file name such as `svc-server-start.1`."""
    with tempfile.TemporaryDirectory() as folder:
        binary.run(release.runnable, "man", folder)
        return {path.name: path.read_text() for path in sorted(Path(folder).iterdir())}
