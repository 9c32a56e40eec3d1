"""Runs the suite on this Python and compares its output with the files beside it.

The tests of `svc` run the same scripts on the embedded engine, against the same files.
"""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import programs
from support import SUITE, run


class Suite(unittest.TestCase):
    maxDiff = None

    def test_every_script_prints_its_expected_output(self) -> None:
        expected = sorted(SUITE.glob("*.out"))
        self.assertGreater(len(expected), 5)
        for file in expected:
            with self.subTest(file.stem):
                done = run([file.with_suffix(".py")], cwd=SUITE)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout, file.read_text(encoding="utf-8"))

    def test_every_program_prints_its_expected_output(self) -> None:
        count = 0
        for file in sorted(programs.FOLDER.glob("*.txt")):
            for program in programs.programs(file):
                count += 1
                with self.subTest(file=file.name, program=program.title):
                    self.assertNotEqual(program.output, "")
                    self.assertEqual(programs.run(program.text), program.output)
        self.assertGreaterEqual(count, 300)

    def test_every_program_that_the_engine_lacks_runs_on_this_python(self) -> None:
        count = 0
        for file in sorted((SUITE / "engine").glob("*.txt")):
            for program in programs.programs(file):
                count += 1
                with self.subTest(file=file.name, program=program.title):
                    try:
                        compile(program.text, "<program>", "exec")
                    except SyntaxError:
                        continue  # The program needs a newer Python.
                    self.assertEqual(programs.run(program.text).strip(), "")
        self.assertGreaterEqual(count, 90)

    def test_this_python_prints_the_output_in_the_guide(self) -> None:
        """Checks the tables of the guide on CPython. Tests of `svc` check them on the engine."""
        guide = (SUITE / "../../../../docs/SCRIPTS.md").read_text(encoding="utf-8")
        before = "import re\nd, items, text = {'a': 1}, [3, 1, 2], 'abc'\n"
        count = 0
        for title in ("Supported", "Differs"):
            table = guide.split(f"\n| {title} | ")[1].split("\n\n")[0]
            for row in table.split("\n")[2:]:
                example, printed = (cell.strip() for cell in row.strip("|").split("|")[:2])
                if not printed.startswith("`"):
                    continue
                count += 1
                code = example.split("`")[1].replace(" ⏎ ", "\n")
                with self.subTest(code):
                    self.assertEqual(programs.run(before + code).strip(), printed.split("`")[1])
        self.assertGreater(count, 20)

    def test_a_session_gets_its_expected_answers(self) -> None:
        requests = (SUITE / "session.requests.jsonl").read_text(encoding="utf-8")
        done = run(["-m", "svc.jsonrpc", "session_setup.py"], cwd=SUITE, input=requests)
        self.assertEqual(done.returncode, 0, done.stderr)
        # Not `splitlines`, because an answer contains an unescaped Unicode line separator.
        answers = sorted(map(_placeless, done.stdout.strip("\n").split("\n")))
        expected = (SUITE / "session.answers.jsonl").read_text(encoding="utf-8")
        self.assertEqual("\n".join(answers) + "\n", expected)
        for said in ["setup prints", "this is for the log", "not JSON", "ValueError: no such note"]:
            self.assertIn(said, done.stderr)


def _placeless(line: str) -> str:
    """The answer with file names instead of paths."""
    answer: Any = json.loads(line)
    data = answer.get("error", {}).get("data")
    if isinstance(data, dict) and data.get("file"):
        data["file"] = Path(data["file"]).name
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    unittest.main()
