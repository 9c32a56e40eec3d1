"""The Debian package on a booted Debian: installed, used, killed, upgraded, removed, purged."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from common.project import PACKAGING, ROOT, PackagingError
from tests import documents, first_call
from tests.case import MINUTE, Case, need, wait_until
from tests.machine import Machine

# The highest allowed exposure level of `systemd-analyze security`, times ten.
EXPOSURE = 11
OLD_VERSION = "0.0.9"
MIGRATION = "migrating the database: "
READY = ["svc", "server", "health", "--url", "http://127.0.0.1:12200"]


def check(case: Case, binary: Path, older: Path | None) -> None:
    package = case.package(f"svc_*_{case.target.deb}.deb")
    case.sizes(package)
    documents.expect(case, package)
    need(lintian="lintian")
    _lint(case, package)
    older = older.resolve() if older else _build_older(case, binary)
    with Machine(case) as machine:
        before, accounts = machine.files(), _accounts(machine)
        for file in (older, package):
            shutil.copy(file, machine.root / "root")
        _install(case, machine, older.name)
        link = wait_until(lambda: _setup_link(machine), 30, "the journal has the setup link")
        _use(case, machine, link)
        _harden(case, machine)
        _listen_on_443(case, machine)
        _kill(case, machine)
        _hang(case, machine)
        _upgrade(case, machine, package.name)
        _remove(case, machine, before, accounts)


def _build_older(case: Case, binary: Path) -> Path:
    """Builds a package with the same program and an older version number."""
    out = case.work / "older"
    build = [sys.executable, PACKAGING / "build", "deb", "--binary", binary, "--version", OLD_VERSION, "--out", out]
    case.run(*build, limit=10 * MINUTE)
    return next(out.glob("*.deb"))


def _lint(case: Case, package: Path) -> None:
    result = subprocess.run(
        ["lintian", "--fail-on", "error", "--tag-display-limit", "0", package],
        capture_output=True,
        text=True,
        check=False,
    )
    tags = [line for line in result.stdout.splitlines() if line[:2] in ("E:", "W:")]
    for line in tags:
        case.say(line)
    if result.returncode != 0:
        raise PackagingError(f"lintian found errors:\n{result.stdout}{result.stderr}")
    case.say(f"lintian: no errors, {len(tags)} warnings")


def _install(case: Case, machine: Machine, file: str) -> None:
    started = time.monotonic()
    machine.run("apt-get", "install", "-y", "--no-install-recommends", f"/root/{file}")
    case.say(f"apt-get install: {time.monotonic() - started:.1f} s")
    case.expect(machine.run("systemctl", "is-enabled", "svc").strip() == "enabled", "the unit is enabled")
    wait_until(lambda: machine.succeeds(*READY), 30, "the server is ready")
    case.say("the server is active and `svc server health` exits with 0")
    status = _property(machine, "StatusText")
    case.expect("listening on" in status, f"the server has reported to systemd that it is ready: {status}")
    case.expect(_property(machine, "WatchdogUSec") == "1min", "systemd watches the server's progress")
    case.expect(
        machine.run("stat", "-c", "%a %U", "/var/lib/svc").strip() == "700 svc",
        "the data folder is 0700 and belongs to svc",
    )
    case.expect(
        machine.run("stat", "-c", "%a %U %G", "/etc/svc").strip() == "750 root svc", "/etc/svc is 0750 root:svc"
    )
    wait_until(lambda: first_call.SANDBOX_HOLDS in _journal(machine), 30, "the sandbox passes its self-test")
    case.say("the sandbox for scripts of users passes its self-test")
    page = machine.root / "usr/share/man/man1/svc-server-start.1.gz"
    case.expect(
        page.exists() and (machine.root / "usr/share/bash-completion/completions/svc").exists(),
        "manual pages and completions are there",
    )


def _use(case: Case, machine: Machine, link: str) -> None:
    machine.run("useradd", "--create-home", "tester")
    shutil.copytree(
        ROOT / "examples/notes",
        machine.root / "home/tester/notes",
        ignore=shutil.ignore_patterns(".svc", "notes.jsonl"),
    )
    machine.run("chown", "-R", "tester:tester", "/home/tester/notes")
    first_call.on_server(case, machine.prefix("tester", "/home/tester/notes"), "svc", link)
    machine.run("useradd", "--create-home", "newcomer")
    case.say("svc up, as a user of the machine with an empty home:")
    first_call.demo(case, [*machine.prefix("newcomer", "/home/newcomer"), "svc"], case.empty_home())


def _harden(case: Case, machine: Machine) -> None:
    # A small Debian has no `man`, which `verify` would need to find the manual page.
    machine.run("systemd-analyze", "verify", "--man=no", "svc.service")
    case.say("systemd-analyze verify: clean")
    said = machine.run("systemd-analyze", "security", "--no-pager", f"--threshold={EXPOSURE}", "svc.service")
    level = re.search(r"Overall exposure level.*?: ([0-9.]+)", said)
    case.expect(
        level is not None, f"systemd-analyze security: {level.group(1) if level else '?'}, at most {EXPOSURE / 10}"
    )


def _listen_on_443(case: Case, machine: Machine) -> None:
    """Installs the drop-in of the examples as its comment describes, and sets the port to 443."""
    folder = machine.root / "etc/systemd/system/svc.service.d"
    folder.mkdir()
    shutil.copy(machine.root / "usr/share/doc/svc/examples/port-443.conf", folder)
    (folder / "listen.conf").write_text("[Service]\nEnvironment=SVC_LISTEN=127.0.0.1:443\n")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "svc")
    ready = [word.replace(":12200", ":443") for word in READY]
    wait_until(lambda: machine.succeeds(*ready), 30, "the server is ready on port 443")
    case.say("with the drop-in of the examples the server listens on port 443")
    shutil.rmtree(folder)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "svc")
    wait_until(lambda: machine.succeeds(*READY), 30, "the server is ready on its usual port")


def _kill(case: Case, machine: Machine) -> None:
    old = _property(machine, "MainPID")
    started = time.monotonic()
    machine.run("systemctl", "kill", "-s", "KILL", "svc")
    wait_until(lambda: _property(machine, "NRestarts") == "1", 30, "systemd restarts the server")
    wait_until(lambda: machine.succeeds(*READY), 30, "the server is ready again")
    case.expect(
        _property(machine, "MainPID") != old,
        f"after kill -9 the server is ready again within {time.monotonic() - started:.1f} s",
    )


def _hang(case: Case, machine: Machine) -> None:
    """Stops the process of the server with a shorter watchdog time than that of the unit."""
    folder = machine.root / "etc/systemd/system/svc.service.d"
    folder.mkdir()
    (folder / "watchdog.conf").write_text("[Service]\nWatchdogSec=3\n")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "svc")
    wait_until(lambda: machine.succeeds(*READY), 30, "the server is ready")
    old, started = _property(machine, "MainPID"), time.monotonic()
    machine.run("systemctl", "kill", "-s", "STOP", "--kill-whom=main", "svc")
    wait_until(lambda: _property(machine, "MainPID") not in (old, "0"), 90, "systemd restarts the stopped server")
    wait_until(lambda: machine.succeeds(*READY), 30, "the server is ready again")
    case.expect(
        "Watchdog timeout" in _journal(machine),
        f"the watchdog restarts a stopped server; ready again within {time.monotonic() - started:.1f} s",
    )
    shutil.rmtree(folder)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "svc")
    wait_until(lambda: machine.succeeds(*READY), 30, "the server is ready with the usual watchdog time")


def _upgrade(case: Case, machine: Machine, file: str) -> None:
    config = machine.root / "etc/svc/svc.toml"
    config.write_text(config.read_text() + "grace_seconds = 29.0\n")
    old, before = _property(machine, "MainPID"), machine.run("dpkg-query", "-W", "-f", "${Version}", "svc")
    # The first start logged migrations too. A package of the same program, built for the test, has no new ones.
    migrated = _journal(machine).count(MIGRATION)
    machine.run("apt-get", "install", "-y", "--no-install-recommends", f"/root/{file}")
    version = machine.run("dpkg-query", "-W", "-f", "${Version}", "svc")
    case.expect(version.startswith(f"{case.version}-"), f"upgraded from {before} to {version}")
    case.expect(_property(machine, "MainPID") not in (old, "0"), "the upgrade restarted the server")
    wait_until(lambda: machine.succeeds(*READY), 30, "the server is ready after the upgrade")
    case.say(f"the upgrade ran {_journal(machine).count(MIGRATION) - migrated} migrations on the data of {before}")
    case.expect("grace_seconds = 29.0" in config.read_text(), "the changed configuration is kept")
    spaces = case.run(*machine.prefix("tester", "/home/tester"), "svc", "space", "list")
    case.expect("lab" in spaces, "the space that was made before the upgrade is still there")
    started = time.monotonic()
    machine.run("systemctl", "stop", "svc")
    case.expect(_property(machine, "Result") == "success", f"an orderly stop in {time.monotonic() - started:.1f} s")
    machine.run("systemctl", "start", "svc")


def _remove(case: Case, machine: Machine, before: set[str], accounts: dict[str, str]) -> None:
    machine.run("apt-get", "remove", "-y", "svc")
    case.expect(not machine.succeeds("systemctl", "is-active", "svc"), "removal stops the server")
    case.expect((machine.root / "var/lib/svc/svc.db").exists(), "removal keeps the data")
    machine.run("apt-get", "purge", "-y", "svc")
    for user in ("tester", "newcomer"):
        machine.run("userdel", "--remove", user)
    left = sorted(machine.files() - before)
    case.expect(not left, "purge leaves no file" + (f" {left}" if left else ""))
    case.expect(_accounts(machine) == accounts, "purge leaves no user and no group")
    case.expect(
        machine.run("systemctl", "is-system-running").strip() == "running", "the machine is `running` at the end"
    )


def _accounts(machine: Machine) -> dict[str, str]:
    return {kind: machine.run("getent", kind) for kind in ("passwd", "group")}


def _setup_link(machine: Machine) -> str:
    found = re.findall(r"(http://127\.0\.0\.1:12200/setup\?token=\w+)", _journal(machine))
    return found[-1] if found else ""


def _journal(machine: Machine) -> str:
    return machine.run("journalctl", "-u", "svc", "--no-pager", "-o", "cat")


def _property(machine: Machine, name: str) -> str:
    return machine.run("systemctl", "show", "-p", name, "--value", "svc").strip()
