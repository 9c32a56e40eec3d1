"""The archive and the install script: from a web server of this machine, from a folder, and with invalid sources."""

import functools
import http.server
import os
import shutil
import subprocess
import tarfile
import threading
import time
from pathlib import Path

from builders import tarball
from common import binary, binstall
from common.project import PackagingError
from tests import documents, download, first_call
from tests.case import Case


def check(case: Case) -> None:
    archive = case.package(f"svc-{case.target.triple}.tar.gz")
    script = case.package("install.sh")
    case.sizes(archive)
    case.run("sha256sum", "--check", "--quiet", f"{archive.name}.sha256", cwd=case.out.resolve())
    case.run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=case.out.resolve())
    case.say("the checksums are right")
    documents.expect(case, archive)
    top = tarball.top_folder(case.version, case.target.triple)
    with tarfile.open(archive) as opened:
        names = opened.getnames()
        for part in ("svc", "man/svc.1", "completions/svc.bash"):
            case.expect(f"{top}/{part}" in names, f"the archive has {part}")
        program = binstall.download(case.version, case.target.triple).program
        case.expect(program in names, f"cargo binstall finds {program}")
        (case.work / "program").write_bytes(opened.extractfile(f"{top}/svc").read())
    check_build(case, case.work / "program")

    url = _serve(case.out.resolve())
    shells = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]
    for shell in shells:
        command = [shell, "sh", script] if shell == "busybox" else [shell, script]
        env = case.empty_home(shell)
        started = time.monotonic()
        said = case.run(*command, "--from", url, env=env)
        svc = Path(env["HOME"]) / ".local/bin/svc"
        case.expect(f"svc {case.version}" in said, f"install.sh in {shell}: {time.monotonic() - started:.1f} s")
        case.expect("is not on your PATH" in said, "it says that the folder is not on the PATH")
    first_call.demo(case, [svc], env, started)
    case.run(*command, "--from", archive.parent, "--prefix", case.work / "elsewhere", env=env)
    case.expect((case.work / "elsewhere/bin/svc").exists(), "it installs from a folder, with another prefix")
    pages = case.work / "elsewhere/share/man/man1"
    case.expect((pages / "svc-server-start.1").exists(), f"it installs {len(list(pages.iterdir()))} manual pages")
    _check_refusals(case, script, archive)
    download.check(case, script, archive.parent)


def check_build(case: Case, program: Path) -> None:
    """A release build used zig and cargo-auditable. Other builds get a note (see `--release` of packaging/test)."""
    floor = binary.glibc_floor(program)
    limit = tuple(int(part) for part in binary.GLIBC_FLOOR.split("."))
    paths = binary.machine_paths(program)
    faults = {
        f"needs glibc {floor[0]}.{floor[1]}, newer than {binary.GLIBC_FLOOR}: build it with cargo-zigbuild": floor
        > limit,
        "has no list of its crates (section .dep-v0): build it with cargo-auditable": not binary.has_crate_list(
            program
        ),
        f"contains paths of its build machine ({', '.join(paths[:3])}): build it with packaging/build": bool(paths),
    }
    found = [message for message, is_fault in faults.items() if is_fault]
    if found and case.release:
        raise PackagingError("the binary is not for a release: it " + "; it ".join(found))
    for message in found:
        case.say(f"note: not for a release: the binary {message}")
    if not found:
        case.say(f"a release build: glibc {floor[0]}.{floor[1]}, a list of crates, no path of its build machine")


def _check_refusals(case: Case, script: Path, archive: Path) -> None:
    changed = case.work / "changed"
    changed.mkdir()
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    (changed / archive.name).write_bytes(data)
    shutil.copy(f"{archive}.sha256", changed)
    refused = {"the checksum of": ["--from", changed], "is not an https address": ["--from", "ftp://example.com"]}
    refused["cannot get"] = ["--from", case.work / "nothing"]
    for number, (message, arguments) in enumerate(refused.items()):
        env = case.empty_home(f"refused{number}")
        result = subprocess.run(
            ["sh", script, *map(str, arguments)], env=env, capture_output=True, text=True, check=False
        )
        left = os.listdir(env["HOME"]) + os.listdir(env["TMPDIR"])
        case.expect(
            result.returncode == 1 and message in result.stderr and not left,
            f'it refuses and leaves no file: "{message} …"',
        )


def _serve(folder: Path) -> str:
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass
