"""A Debian that a real systemd boots, in a container of systemd-nspawn."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from tests.case import MINUTE, Case, need, need_root, wait_until

SUITE = "trixie"
PACKAGES = "systemd,systemd-sysv,dbus,ca-certificates"
PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"


class Machine:
    """Used with `with`: boots on entry, is switched off at the end."""

    def __init__(self, case: Case):
        need(mmdebstrap="mmdebstrap", systemd_nspawn="systemd-container", nsenter="util-linux")
        need_root()
        self.case = case
        self.root = case.work / "root"
        self.leader = 0

    def __enter__(self) -> "Machine":
        self._unpack()
        log = (self.case.work / "boot.log").open("w")
        # Not registered with the host's systemd, and without a separate unit: the host may run without systemd.
        self.process = subprocess.Popen(
            ["systemd-nspawn", "-D", str(self.root), "--boot", "--register=no", "--keep-unit", "--private-network", "--quiet"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            self.leader = wait_until(self._find_leader, 30, "systemd-nspawn starts the machine")
            state = wait_until(self._state, 2 * MINUTE, "the machine has booted")
        except BaseException:
            self.__exit__()
            raise
        self.case.expect(state == "running", f"the machine has booted, systemd says `{state}`")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            # On this signal, systemd-nspawn shuts the machine down in order.
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _unpack(self) -> None:
        archive = self.case.cache / f"{SUITE}.tar"
        if not archive.exists():
            partial = archive.with_suffix(".partial.tar")
            self.case.run("mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, partial, limit=20 * MINUTE)
            partial.rename(archive)
        self.root.mkdir()
        self.case.run("tar", "-xf", archive, "-C", self.root, "--numeric-owner")
        shutil.rmtree(self.root / "var/lib/apt/lists", ignore_errors=True)

    def _find_leader(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for child in children.read_text().split() if children.exists() else []:
            # The first process of the machine has the id 1 in its namespace. At first it is a copy of systemd-nspawn,
            # so its name is checked, too.
            try:
                status = Path(f"/proc/{child}/status").read_text()
            except FileNotFoundError:
                continue
            if re.search(r"^Name:\tsystemd$", status, re.MULTILINE) and re.search(
                r"^NSpid:.*\t1$", status, re.MULTILINE
            ):
                return int(child)
        return 0

    def _state(self) -> str:
        result = subprocess.run(
            [*self.prefix(), "systemctl", "is-system-running"], capture_output=True, text=True, check=False
        )
        state = result.stdout.strip()
        return state if state in ("running", "degraded") else ""

    def prefix(self, user: str = "", folder: str = "/") -> list[str]:
        """The words that run a command in the machine, with a clean environment."""
        enter = ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-r", "--"]
        home = f"/home/{user}" if user else "/root"
        switch = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        return [
            *enter,
            *switch,
            "env",
            "-i",
            "-C",
            folder,
            PATH,
            f"HOME={home}",
            "LC_ALL=C.UTF-8",
            "DEBIAN_FRONTEND=noninteractive",
        ]

    def run(self, *command: str, **options) -> str:
        return self.case.run(*self.prefix(), *command, **options)

    def succeeds(self, *command: str) -> bool:
        return subprocess.run([*self.prefix(), *command], capture_output=True, check=False).returncode == 0

    def files(self) -> set[str]:
        """All paths that a package could leave behind."""
        changing = (
            "proc",
            "sys",
            "run",
            "tmp",
            "dev",
            "home",
            "root",
            "var/log",
            "var/cache",
            "var/tmp",
            "var/lib/apt",
        )
        found = set()
        for folder, folders, files in os.walk(self.root):
            inside = os.path.relpath(folder, self.root)
            folders[:] = [name for name in folders if os.path.normpath(f"{inside}/{name}") not in changing]
            found.update(os.path.normpath(f"{inside}/{name}") for name in [*files, *folders])
        # Copies that `useradd` makes of these files when a test adds a user.
        return found - {"etc/subuid-", "etc/subgid-"}
