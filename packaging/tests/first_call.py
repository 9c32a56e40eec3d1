"""The first call of the README, made with an installed `svc`."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

from common.project import PackagingError
from tests.case import MINUTE, Case, wait_until

# The server logs this line after its sandbox has passed the self-test.
SANDBOX_HOLDS = "the sandbox for scripts of users passed its self-test"
# The maximum time in seconds until a new user gets the first result, without the download.
FIRST_RESULT_LIMIT = 60.0


def demo(case: Case, program: list[str | Path], env: dict, started: float | None = None) -> None:
    """Runs `svc up`, then the calls of the README in other processes. `program` is the command before `up`.

    `started` is the time when the installation began. The first result must arrive within a minute after this time.
    """
    started = started or time.monotonic()
    program = [str(word) for word in program]
    log = case.work / "up.log"
    with log.open("w") as output:
        # A separate session, so that a signal reaches all its processes, as Ctrl-C in a terminal does.
        up = subprocess.Popen(
            [*program, "up", "--listen", "127.0.0.1:0"],
            env=env,
            cwd=env["HOME"],
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        found = wait_until(
            lambda: re.search(r"svc is up at (\S+)", _alive(up, log)), MINUTE, "`svc up` says that it is up"
        )
        added = json.loads(case.run(*program, "method", "call", "notes.add", '{"text":"hello"}', "--result", env=env))
        first = time.monotonic() - started
        listed = case.run(*program, "method", "list", env=env)
        result = case.run(*program, "method", "call", "math.add", '{"a":1,"b":2}', "--result", env=env)
    except PackagingError as error:
        raise PackagingError(f"{error}\noutput of `svc up`:\n{log.read_text()}") from error
    finally:
        if up.poll() is None:
            os.killpg(up.pid, signal.SIGINT)
        code = up.wait(timeout=30)
    case.expect(added.get("text") == "hello", f"notes.add returned the note, {first:.1f} s after the start")
    case.expect("notes.add" in listed and "math.add" in listed, "method list shows the demo methods")
    case.expect(json.loads(result) == {"sum": 3}, "math.add of 1 and 2 is 3")
    # The signal also ends npx, so the exit code may be that of npx.
    case.expect(code in (0, 130, -signal.SIGINT), f"Ctrl-C ends `svc up` (exit code {code})")
    case.expect(first < FIRST_RESULT_LIMIT, f"the first result is there within {FIRST_RESULT_LIMIT:.0f} s")
    wait_until(lambda: not answers(found.group(1)), 5, "the server is gone after Ctrl-C")


def _alive(process: subprocess.Popen, log: Path) -> str:
    if process.poll() is not None:
        raise PackagingError(f"the process ended with {process.returncode}")
    return log.read_text()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def on_server(case: Case, prefix: list[str], svc: str, link: str) -> None:
    """On a running server: create the administrator with the setup link, make a space, start its agent, call a method.

    `prefix` is put before each command. It runs the command where the server can be reached, with a home folder, in a
    copy of `examples/notes`.
    """
    case.run(*prefix, svc, "login", link, "--password-stdin", stdin="a-long-password")
    token = json.loads(case.run(*prefix, svc, "space", "create", "lab", "-o", "json"))["agent_token"]
    variables = [f"SVC_URL={link.split('/setup')[0]}", f"SVC_AGENT_TOKEN={token}", "SVC_AGENT_LISTEN=127.0.0.1:0"]
    log = case.work / "agent.log"
    with log.open("w") as output:
        command = [*prefix, "env", *variables, svc, "agent", "start", "--methods-file", "methods.toml"]
        agent = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output, start_new_session=True)
    try:
        listed = [*prefix, svc, "method", "list"]
        wait_until(
            lambda: (_alive(agent, log), "notes.add" in case.run(*listed))[1], 30, "the space publishes its methods"
        )
        result = case.run(*prefix, svc, "method", "call", "notes.add", '{"text":"hello"}', "--result")
        case.expect(json.loads(result).get("text") == "hello", "a space on the packaged server answers notes.add")
    except PackagingError as error:
        raise PackagingError(f"{error}\noutput of the agent:\n{log.read_text()}") from error
    finally:
        os.killpg(agent.pid, signal.SIGTERM)
        agent.wait(timeout=30)
