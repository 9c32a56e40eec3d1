"""Emits events; runs in a space."""

import json

import svc.event as event
from svc.event import emit

first = event.emit("suite.done", {"n": 1, "big": 12345678901234567890123, "text": "ü"})
second = emit("suite.done")
print(json.dumps([len(first), first.count("-"), first != second, first < second]))

for name, attempt in [
    ("empty type", lambda: emit("")),
    ("type with a space", lambda: emit("a b")),
    ("too large", lambda: emit("a", {"text": "x" * (256 * 1024)})),
]:
    try:
        print(json.dumps([name, attempt()]))
    except RuntimeError as error:
        print(json.dumps([name, "RuntimeError", str(error)]))
