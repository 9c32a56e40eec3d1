"""Serves the handlers on CPython, in one process: one request per line, one answer per line."""

import json
import sys

import handlers

ROUTES = {"search": handlers.search, "echo": handlers.echo}

for line in sys.stdin:
    request = json.loads(line)
    result = ROUTES[request["method"]](request.get("params"))
    answer = {"jsonrpc": "2.0", "result": result, "id": request["id"]}
    sys.stdout.write(json.dumps(answer, separators=(",", ":")) + "\n")
    sys.stdout.flush()
