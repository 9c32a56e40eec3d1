"""The same handlers on CPython: one process, one line in, one line out."""

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
