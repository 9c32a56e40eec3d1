"""The image, run by runc: without root, with a read-only root file system, with its health check."""

import json
import os
import re
import resource
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

from common.project import ROOT, PackagingError
from tests import documents, first_call
from tests.case import Case, need, need_root, wait_until

USER = 65532


def check(case: Case) -> None:
    need(umoci="umoci", runc="runc", skopeo="skopeo", nsenter="util-linux")
    need_root()
    archive = case.package(f"{case.names['image']}-*-image-{case.target.oci}.tar")
    case.sizes(archive)
    for form in ("oci-archive", "docker-archive"):
        found = json.loads(case.run("skopeo", "inspect", "--config", f"{form}:{archive}"))
        case.expect(found["config"]["User"] == f"{USER}:{USER}", f"skopeo reads it as {form}; its user is {USER}")
    layout = case.work / "layout"
    with tarfile.open(archive) as opened:
        opened.extractall(layout, filter="data")
    bundle = case.work / "bundle"
    case.run("umoci", "unpack", "--image", f"{layout}:{case.version}", bundle)
    size = sum(
        file.stat().st_size for file in (bundle / "rootfs").rglob("*") if file.is_file() and not file.is_symlink()
    )
    case.say(f"unpacked: {size / 1e6:.1f} MB")
    documents.expect(case, archive)
    documents.expect_debian_packages(case, archive, bundle / "rootfs/usr/bin/svc")
    test = _image_config(layout)["Healthcheck"]["Test"]
    _configure(case, bundle)
    _run(case, bundle, test[1:])


def _image_config(layout: Path) -> dict:
    def blob(digest: str) -> dict:
        return json.loads((layout / "blobs" / digest.replace(":", "/")).read_text())

    index = json.loads((layout / "index.json").read_text())
    return blob(blob(index["manifests"][0]["digest"])["config"]["digest"])["config"]


def _configure(case: Case, bundle: Path) -> None:
    """The same options as `docker run --read-only --tmpfs /tmp --cap-drop ALL -v data:/var/lib/svc`, for runc."""
    data = case.work / "data"
    data.mkdir(mode=0o700)
    os.chown(data, USER, USER)
    # Users other than root need access to the parent folders.
    for folder in (case.work, bundle):
        folder.chmod(0o755)
    file = bundle / "config.json"
    config = json.loads(file.read_text())
    config["process"]["terminal"] = False
    config["process"]["noNewPrivileges"] = True
    config["process"]["capabilities"] = {}
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    config["process"]["rlimits"] = [{"type": "RLIMIT_NOFILE", "soft": files, "hard": files}]
    config["root"]["readonly"] = True
    config["mounts"] = [mount for mount in config["mounts"] if mount["destination"] not in ("/var/lib/svc", "/tmp")]
    config["mounts"].append(
        {"destination": "/var/lib/svc", "type": "bind", "source": str(data), "options": ["bind", "rw"]}
    )
    config["mounts"].append(
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]}
    )
    file.write_text(json.dumps(config))


def _run(case: Case, bundle: Path, health: list[str]) -> None:
    name = f"svc-test-{os.getpid()}"
    runc = ["runc", "--root", str(case.work / "runc")]
    log = case.work / "server.log"
    started = time.monotonic()
    with log.open("w") as output:
        container = subprocess.Popen(
            [*runc, "run", "--no-pivot", "-b", str(bundle), name],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        link = wait_until(lambda: _link(container, log), 30, "the server prints its setup link")
        wait_until(lambda: _healthy(runc, name, health), 30, "the health check passes")
        case.say(f"started and healthy within {time.monotonic() - started:.1f} s; health check: {' '.join(health)}")
        case.expect(
            not _healthy(runc, name, health, "SVC_URL=http://127.0.0.1:1"),
            "the health check fails where no server listens",
        )
        wait_until(lambda: first_call.SANDBOX_HOLDS in log.read_text(), 30, "the sandbox passes its self-test")
        case.say("the sandbox for scripts of users passes its self-test")
        process = json.loads(case.run(*runc, "state", name))["pid"]
        status = Path(f"/proc/{process}/status").read_text()
        case.expect(
            f"Uid:\t{USER}\t{USER}" in status and "CapEff:\t0000000000000000" in status,
            f"the server runs as {USER} without capabilities",
        )
        mounts = Path(f"/proc/{process}/mountinfo").read_text()
        case.expect(re.search(r" / / ro[, ]| \S+ / ro[, ]", mounts) is not None, "the root file system is read-only")
        _use(case, bundle, process, link)
        stopped = time.monotonic()
        case.run(*runc, "kill", name, "TERM")
        code = container.wait(timeout=30)
        case.expect(code == 0, f"SIGTERM stops it with exit code 0 in {time.monotonic() - stopped:.1f} s")
    except BaseException:
        print(log.read_text())
        raise
    finally:
        if container.poll() is None:
            subprocess.run([*runc, "kill", name, "KILL"], check=False)
            container.wait(timeout=10)
        subprocess.run([*runc, "delete", "--force", name], capture_output=True, check=False)
    case.expect((case.work / "data/svc.db").exists(), "the data is in the volume")


def _link(container: subprocess.Popen, log: Path) -> str:
    if container.poll() is not None:
        raise PackagingError(f"runc ended with {container.returncode}")
    found = re.search(r"http://\S+/setup\?token=\w+", log.read_text())
    # The link contains the address that the server listens on.
    return found.group(0).replace("0.0.0.0", "127.0.0.1") if found else ""


def _healthy(runc: list[str], name: str, command: list[str], *variables: str) -> bool:
    options = [word for variable in variables for word in ("--env", variable)]
    result = subprocess.run(
        [*runc, "exec", *options, name, *command], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return result.returncode == 0


def _use(case: Case, bundle: Path, process: int, link: str) -> None:
    """Uses the program of the image as the command line and as an agent, in the network of the container."""
    env = case.empty_home("client")
    notes = Path(env["HOME"]) / "notes"
    shutil.copytree(ROOT / "examples/notes", notes, ignore=shutil.ignore_patterns(".svc", "notes.jsonl"))
    path = f"PATH={bundle}/rootfs/usr/bin:/usr/bin:/bin"
    prefix = ["nsenter", "-t", str(process), "-n", "--", "env", "-i", "-C", str(notes), path, f"HOME={env['HOME']}"]
    first_call.on_server(case, prefix, "svc", link)
