"""pip, uvx and pipx install the wheel for a new user, without an index."""

import os
import sys
import time

from common.wheels import wheel_name
from tests import documents, first_call
from tests.case import Case


def check(case: Case) -> None:
    name = case.names["pypi"]
    wheel = case.package(f"{wheel_name(name)}-*.whl")
    case.sizes(wheel)
    documents.expect(case, wheel)

    env = case.empty_home("pip")
    started = time.monotonic()
    case.run(sys.executable, "-m", "venv", case.work / "venv", env=env)
    pip = case.work / "venv/bin/pip"
    case.run(pip, "install", "--no-index", "--no-cache-dir", wheel, env=env)
    case.say(f"venv and pip install: {time.monotonic() - started:.1f} s")
    svc = case.work / "venv/bin/svc"
    case.expect(case.run(svc, "version", env=env).split()[1] == case.version, f"svc version is {case.version}")
    first_call.demo(case, [svc], env, started)
    case.run(pip, "uninstall", "-y", name, env=env)
    case.expect(not svc.exists(), "pip uninstall removes the program")

    tools = _tools(case)
    env = case.empty_home("uvx")
    case.say("uvx, with an empty cache:")
    first_call.demo(case, [tools / "uvx", "--offline", "--from", wheel, "svc"], env)
    env = case.empty_home("pipx")
    started = time.monotonic()
    said = case.run(tools / "pipx", "run", "--pip-args=--no-index", "--spec", wheel, "svc", "version", env=env)
    case.expect(said.split()[1] == case.version, f"pipx run: svc version, {time.monotonic() - started:.1f} s")


def _tools(case: Case):
    """uv and pipx, installed once with pip's usual settings."""
    folder = case.cache / "python-tools"
    if not (folder / "bin/pipx").exists():
        case.run(sys.executable, "-m", "venv", folder)
        case.run(folder / "bin/pip", "install", "--quiet", "uv", "pipx", env=dict(os.environ))
    return folder / "bin"
