"""Installs the Python library from its wheel and from its source archive, and runs the library's tests."""

import os
import shutil
import sys

from common.project import ROOT
from tests import documents
from tests.case import Case


def check(case: Case) -> None:
    files = [case.package("svc_script_sdk-*.whl"), case.package("svc_script_sdk-*.tar.gz")]
    for number, file in enumerate(files):
        case.say(f"{file.name}: {file.stat().st_size:,} bytes")
        documents.expect(case, file, with_binary=False)
        venv = case.work / f"venv{number}"
        case.run(sys.executable, "-m", "venv", venv)
        # The source archive needs setuptools, which pip gets from its index.
        offline = ["--no-index"] if file.suffix == ".whl" else []
        case.run(venv / "bin/pip", "install", "--quiet", *offline, file, env=dict(os.environ))
        env = case.empty_home(f"home{number}")
        said = case.run(venv / "bin/python", "-c", "import svc; print(svc.__version__, svc.__file__)", env=env)
        case.expect(
            said.startswith(f"{case.version} {venv}"), f"{file.name}: the installed library is version {case.version}"
        )
        # The tests find the installed library, because the copy of the tests has no `src` beside it.
        copy = case.work / f"copy{number}"
        for folder in ("sdk/python/tests", "examples", "docs"):
            shutil.copytree(ROOT / folder, copy / folder)
        case.run(venv / "bin/python", "-m", "unittest", "discover", "-s", "sdk/python/tests", env=env, cwd=copy)
        case.say(f"{file.name}: the tests of sdk/python pass with it")
