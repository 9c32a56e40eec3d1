"""npm installs the packages for a new user; `npx` runs the launcher, which passes signals and exit codes on."""

import json
import os
import shutil
import signal
import subprocess
import time

from tests import documents, first_call
from tests.case import Case, need, wait_until


def check(case: Case) -> None:
    need(node="nodejs", npm="npm")
    name = case.names["npm"]
    main = case.package(f"{name}-[0-9]*.tgz")
    platform = case.package(f"{name}-linux-{case.target.npm_cpu}-*.tgz")
    case.sizes(main, platform)
    documents.expect(case, platform)
    documents.expect(case, main, with_binary=False)
    env = case.empty_home()
    folder = case.work / "project"
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}\n')
    started = time.monotonic()
    # The package for the other kind of machine is not published yet. npm skips optional packages that it cannot get.
    case.run("npm", "install", "--no-audit", "--no-fund", "--offline", platform, main, env=env, cwd=folder)
    case.say(f"npm install: {time.monotonic() - started:.1f} s")
    launcher = folder / "node_modules/.bin/svc"
    case.expect(case.run(launcher, "version", env=env).split()[1] == case.version, f"svc version is {case.version}")
    npx = ["npx", "--prefix", folder, "--no", "--", "svc"]
    first_call.demo(case, npx, env, started)

    for extra in ([], ["--require", case.work / "no-execve.js"]):
        (case.work / "no-execve.js").write_text("delete process.execve;\n")
        way = "with spawn" if extra else f"with {_way(case, env)}"
        node = ["node", *map(str, extra), str(launcher.resolve())]
        failed = subprocess.run([*node, "no-such-command"], env=env, capture_output=True, check=False)
        case.expect(failed.returncode == 2, f"{way}: the exit code of svc is passed on")
        _check_signal(case, node, env, way)

    manifest = json.loads((folder / f"node_modules/{name}/package.json").read_text())
    case.expect(
        len(manifest["optionalDependencies"]) == 2, "the main package names the packages of two kinds of machine"
    )
    shutil.rmtree(folder / f"node_modules/{name}-linux-{case.target.npm_cpu}")
    failed = subprocess.run([launcher, "version"], env=env, capture_output=True, text=True, check=False)
    case.expect(
        failed.returncode == 1 and "is missing" in failed.stderr,
        "without the platform package the launcher says what is missing",
    )


def _way(case: Case, env: dict) -> str:
    return case.run("node", "-p", "process.execve ? 'execve' : 'spawn'", env=env).strip()


def _check_signal(case: Case, node: list[str], env: dict, way: str) -> None:
    """SIGTERM to the launcher alone stops the server, and the launcher exits with the exit code of svc."""
    log = case.work / "signal.log"
    with log.open("w") as output:
        data = str(case.work / "signal-data")
        server = subprocess.Popen(
            [*node, "server", "start", "--listen", "127.0.0.1:0", "--data-dir", data],
            env=env,
            stdout=output,
            stderr=output,
        )
    try:
        wait_until(lambda: "/setup?token=" in log.read_text(), 30, "the server prints its setup link")
        os.kill(server.pid, signal.SIGTERM)
        code = server.wait(timeout=30)
    finally:
        if server.poll() is None:
            server.kill()
    case.expect(code == 0, f"{way}: SIGTERM to the launcher stops the server")
