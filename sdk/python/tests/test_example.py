"""`examples/notes`: both forms of its registration are equal."""

from __future__ import annotations

import json
import runpy
import unittest
from typing import Any, List
from unittest import mock

from support import EXAMPLE

import svc._host as host

try:
    import tomllib
except ImportError:  # Before Python 3.11. A test of `svc` compares both forms, too.
    tomllib = None  # type: ignore[assignment]


class RegistrationTest(unittest.TestCase):
    maxDiff = None

    @unittest.skipIf(tomllib is None, "this Python reads no TOML")
    def test_the_toml_and_the_script_are_equal_including_the_order_of_keys(self) -> None:
        asked: List[Any] = []
        with mock.patch.object(host, "call", lambda *question: asked.append(question)):
            runpy.run_path(str(EXAMPLE / "methods.py"))
        with open(EXAMPLE / "methods.toml", "rb") as file:
            written = tomllib.load(file)
        self.assertEqual(written.pop("version"), 1)
        [(operation, built)] = asked
        self.assertEqual(operation, "register")
        self.assertEqual(json.dumps(built, indent=1), json.dumps(written, indent=1))

    def test_every_published_method_is_routed_to_a_handler(self) -> None:
        asked: List[Any] = []
        with mock.patch.object(host, "call", lambda *question: asked.append(question)):
            runpy.run_path(str(EXAMPLE / "methods.py"))
            runpy.run_path(str(EXAMPLE / "setup.py"))
        published = {method["local_name"] for method in asked[0][1]["methods"]}
        self.assertEqual(published, {question["local_name"] for _, question in asked[1:]})


if __name__ == "__main__":
    unittest.main()
