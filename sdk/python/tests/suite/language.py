"""Features of Python that scripts use. CPython and the embedded engine must print the same."""

import base64
import dataclasses
import datetime
import hashlib
import itertools
import json
import math
import re
from collections import Counter
from typing import Dict, List, Optional


@dataclasses.dataclass
class Point:
    x: int
    y: int = 2


class Counts:
    """A class with state."""

    total = 0

    def __init__(self, names: Optional[List[str]] = None) -> None:
        self.names: Dict[str, int] = {}
        for name in names or []:
            self.add(name)

    def add(self, name: str, *, times: int = 1) -> "Counts":
        self.names[name] = self.names.get(name, 0) + times
        return self


def show(*values, **named):
    print(json.dumps([list(values), named], sort_keys=True))


def closure(step):
    count = 0

    def more():
        nonlocal count
        count += step
        return count

    return more


more = closure(3)
show(more(), more(), by=3)
show(Counts(["a", "b", "a"]).add("c", times=5).names)
show(Point(1).x, Point(1).y, Point(1) == Point(1, 2), repr(Point(3)))
show([x * y for x, y in zip(range(3), "abc")], {k: v for k, v in [("a", 1)]}, sorted({3, 1, 2}))
show(f"{3.14159:.2f} {'x'!r:>5} {7:03d} {1_000_000:,}", "%s-%d" % ("a", 1), "{}".format(1))
show(re.findall(r"(\w)(\d+)", "a1 b22"), re.sub(r"\s+", " ", "a  b\n c"))
show(json.loads('{"a": [1, 2.5, null, true, "\\u00fc", 12345678901234567890123]}'))
show(math.floor(-1.5), round(2.5), 7 // -2, -7 % 3, 2**70, 10 / 4, int("ff", 16))
show(hashlib.sha256(b"svc").hexdigest(), base64.b64encode(b"svc").decode())
show(datetime.datetime(2026, 1, 2, 3, 4, 5).isoformat(), str(datetime.timedelta(hours=25)))
show(Counter("abca").most_common(1)[0][0], list(itertools.chain([1], [2])))
show("a,b".split(","), " x ".strip(), "aXb".lower(), "abc"[::-1], "é".encode("utf-8").hex())
show(*[1, 2], **{"key": [*range(3)], "other": {**{"a": 1}, "b": 2}})

for attempt in [
    lambda: {}["missing"],
    lambda: [][1],
    lambda: int("x"),
    lambda: None + 1,
    lambda: undefined_name,
    lambda: "a".missing,
    lambda: 1 / 0,
]:
    try:
        attempt()
    except Exception as error:
        show(type(error).__name__, str(error))

try:
    try:
        raise ValueError("inner")
    finally:
        show("finally")
except ValueError as error:
    show(str(error))
else:
    show("never")
