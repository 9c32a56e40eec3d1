"""Small programs that must print the same on the embedded engine and on CPython.

A file of `suite/programs` holds many of them: `#: title`, the text, and its output as lines that
start with `#>`. `python3 programs.py --write` writes the output of this Python into the files.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

FOLDER = Path(__file__).parent / "suite" / "programs"


class Program(NamedTuple):
    title: str
    text: str
    output: str


def programs(file: Path) -> Iterator[Program]:
    parts = re.split(r"^#: (.*)\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for title, body in zip(parts[1::2], parts[2::2]):
        lines = body.strip("\n").split("\n")
        text = [line for line in lines if not line.startswith("#>")]
        output = [line[3:] + "\n" for line in lines if line.startswith("#>")]
        yield Program(title, "\n".join(text) + "\n", "".join(output))


def run(text: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def write(file: Path) -> None:
    made = []
    for title, text, _ in programs(file):
        printed = run(text)
        lines = printed[:-1].split("\n") if printed else []
        output = "".join(f"#> {line}\n" if line else "#>\n" for line in lines)
        made.append(f"#: {title}\n{text}{output}")
    file.write_text("\n".join(made), encoding="utf-8")


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    for each in sorted(FOLDER.glob("*.txt")):
        write(each)
