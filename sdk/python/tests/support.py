"""Helpers for the tests: paths, and running a script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

TESTS = Path(__file__).resolve().parent
SOURCES = TESTS.parent / "src"
SUITE = TESTS / "suite"
EXAMPLE = TESTS.parent.parent.parent / "examples" / "notes"
SECONDS = 30

if str(SOURCES) not in sys.path:
    sys.path.insert(0, str(SOURCES))


def environment(**added: str) -> Dict[str, str]:
    """The environment of a script: without the variables of `svc`, except those in `added`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    kept["PYTHONPATH"] = str(SOURCES)
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    kept.update(added)
    return kept


def run(arguments: List[Any], cwd: Optional[Path] = None, input: str = "", **added: str) -> Any:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        input=input,
        env=environment(**added),
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
