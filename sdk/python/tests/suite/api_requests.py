"""Requests that `svc.api.request` rejects without sending them."""

import json

from svc import api

ATTEMPTS = [
    ("stream", "GET", "/api/events/stream"),
    ("stream with a query", "GET", "/api/events/stream?pattern=*"),
    ("stream of calls", "GET", "/api/calls/stream"),
    ("another verb", "BREW", "/api/events"),
    ("a verb with a line end", "GET /x\r\n", "/api/events"),
    ("no verb", "", "/api/events"),
    ("dots", "GET", "/api/../mcp"),
    ("a dot", "GET", "/api/./events"),
    ("dots at the end", "GET", "/api/.."),
    ("not the API", "GET", "/mcp"),
    ("no path", "GET", ""),
    ("an address", "GET", "http://example.com/api/events"),
    ("a space", "GET", "/api/a b"),
    ("a fragment", "GET", "/api/events#x"),
    ("a backslash", "GET", "/api/\\..\\mcp"),
    ("letters", "GET", "/api/ü"),
    ("a path that is not text", "GET", None),
    ("a verb that is not text", 1, "/api/events"),
]

for name, method, path in ATTEMPTS:
    try:
        api.request(method, path)
        print(json.dumps([name, "asked"]))
    except (TypeError, ValueError) as error:
        print(json.dumps([name, type(error).__name__, str(error)]))
