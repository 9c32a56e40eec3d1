"""The `svc.event` of a sink's script. The test replaces `host.call`, which returns the event."""

from __future__ import annotations

import unittest
from typing import Any, Dict, List, Tuple

import support  # noqa: F401  Puts the library on the path.

import svc._host as host
from svc import _sink_event as sink


class SinkEventTest(unittest.TestCase):
    def test_accessors_return_the_values_of_the_event(self) -> None:
        data: Dict[str, Any] = {
            "text": "t", "n": 3, "whole": 4.0, "half": 4.5, "yes": True, "no": False,
            "list": [1], "dict": {"a": 1}, "null": None, "empty": "", "zero": 0,
        }  # fmt: skip
        given = {
            "id": "i", "type": "custom.x", "ts": "now", "data": data,
            "space": None, "actor": {"username": "ann"}, "custom": {"team": "ops"},
        }  # fmt: skip
        asked: List[str] = []

        def call(operation: str, argument: Any) -> Any:
            asked.append(operation)
            return given

        real, host.call = host.call, call
        self.addCleanup(setattr, host, "call", real)
        self.addCleanup(sink._read.clear)
        self.assertEqual((sink.id(), sink.type(), sink.ts()), ("i", "custom.x", "now"))
        self.assertEqual((sink.space(), sink.custom()), (None, {"team": "ops"}))
        self.assertEqual((sink.actor(), sink.data()), ({"username": "ann"}, data))
        rows: List[Tuple[Any, Any]] = [
            (sink.get_string("text"), "t"),
            (sink.get_string("empty", "x"), ""),
            (sink.get_string("n", "x"), "x"),
            (sink.get_string("missing"), ""),
            (sink.get_int("n"), 3),
            (sink.get_int("whole"), 4),
            (sink.get_int("half", -1), -1),
            (sink.get_int("yes", -1), -1),
            (sink.get_int("zero", 9), 0),
            (sink.get_int("text"), 0),
            (sink.get_bool("yes"), True),
            (sink.get_bool("no", True), False),
            (sink.get_bool("n", True), True),
            (sink.get_bool("missing"), False),
            (sink.get_list("list"), [1]),
            (sink.get_list("text"), []),
            (sink.get_list("null", [2]), [2]),
            (sink.get_dict("dict"), {"a": 1}),
            (sink.get_dict("list"), {}),
            (sink.get_dict("missing", {"b": 2}), {"b": 2}),
            (sink.get("null", 1), 1),
            (sink.get("missing"), None),
            (sink.get("no", 1), False),
        ]
        for index, (found, expected) in enumerate(rows):
            self.assertEqual(found, expected, index)
        self.assertEqual(asked, ["event"])
        self.assertFalse(hasattr(sink, "emit"))


if __name__ == "__main__":
    unittest.main()
