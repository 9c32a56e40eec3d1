"""Errors that `svc.jsonrpc`, `svc.event` and `svc.api` raise before they send anything."""

import json

from svc import api, event, jsonrpc

for name, attempt in [
    ("method", lambda: jsonrpc.method(1, "a.b")),
    ("handler", lambda: jsonrpc.method("a", None)),
    ("handler without a library", lambda: jsonrpc.method("a", "b")),
    ("handler without a function", lambda: jsonrpc.method("a", "b.")),
    ("handler without a name", lambda: jsonrpc.method("a", ".b")),
    ("code", lambda: jsonrpc.error("1", "m")),
    ("code bool", lambda: jsonrpc.error(True, "m")),
    ("message", lambda: jsonrpc.error(1, None)),
    ("error", lambda: jsonrpc.error(1, "m", {"a": 1})),
    ("progress", lambda: jsonrpc.progress("1")),
    ("progress bool", lambda: jsonrpc.progress(True)),
    ("progress infinite", lambda: jsonrpc.progress(float("inf"))),
    ("progress none", lambda: jsonrpc.progress(float("nan"))),
    ("progress huge", lambda: jsonrpc.progress(10**400)),
    ("progress total", lambda: jsonrpc.progress(1, [])),
    ("progress message", lambda: jsonrpc.progress(1, 2, 3)),
    ("progress outside a request", lambda: jsonrpc.progress(1, 2, "m")),
    ("emit type", lambda: event.emit(1)),
    ("emit payload", lambda: event.emit("a", [1])),
    ("api path", lambda: api.request("GET", "/healthz")),
    ("api path, not escaped", lambda: api.request("GET", "/api/x?q=a b")),
    ("api path, not ASCII", lambda: api.request("GET", "/api/x?q=ü")),
]:
    try:
        print(json.dumps([name, attempt()]))
    except RuntimeError as error:
        print(json.dumps([name, "RuntimeError", str(error)]))
    except (TypeError, ValueError) as error:
        print(json.dumps([name, type(error).__name__, str(error)]))

print(json.dumps(jsonrpc.method("search", "shop.search")))
