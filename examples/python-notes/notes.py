#!/usr/bin/env python3
"""A method server: a notebook kept in memory.

It is an ordinary program. Each line on stdin is a JSON-RPC request, each line on stdout is a
response with the same `id`. Responses may come in any order, so every request has its own thread
and a slow request does not delay the others. Logs go to stderr; `svc methods logs` shows them.
"""

import json
import sys
import threading
import time


class MethodError(Exception):
    """An error for the caller: a code, a message, and data that a program can act on."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class Notebook:
    """Every public function here is a method; its name is the `local_name` in methods.toml."""

    def __init__(self):
        self._notes = {}
        self._lock = threading.Lock()

    def add(self, text, tags=()):
        if not text.strip():
            # The schema documents the params; the method server must check them.
            raise MethodError(-32602, "a note needs some text", {"field": "text"})
        with self._lock:
            note = {"id": len(self._notes) + 1, "text": text, "tags": list(tags)}
            self._notes[note["id"]] = note
        return note

    def get(self, id):
        with self._lock:
            if id not in self._notes:
                raise MethodError(404, f"there is no note {id}", {"id": id, "count": len(self._notes)})
            return self._notes[id]

    def search(self, query, delay_ms=0):
        time.sleep(delay_ms / 1000)  # Simulates slow work: other calls are answered meanwhile.
        with self._lock:
            notes = list(self._notes.values())
        word = query.lower()
        return [n for n in notes if word in n["text"].lower() or word in n["tags"]]

    def clear(self):
        with self._lock:
            self._notes.clear()


NOTEBOOK = Notebook()
METHODS = {name: getattr(NOTEBOOK, name) for name in ("add", "get", "search", "clear")}
STDOUT_LOCK = threading.Lock()


def answer(response):
    """Writes one whole line and flushes it: a response in a buffer does not reach the caller."""
    with STDOUT_LOCK:
        sys.stdout.write(json.dumps(response) + "\n")
        sys.stdout.flush()


def outcome(request):
    """The `result` or `error` member of a response."""
    try:
        name = request.get("method")
        if not isinstance(name, str):
            raise MethodError(-32600, "Invalid Request")
        method = METHODS.get(name)
        if method is None:
            raise MethodError(-32601, f"this notebook has no method `{name}`")
        return {"result": method(**request.get("params", {}))}
    except MethodError as failed:
        return {"error": failed.error}
    except TypeError as wrong_params:
        return {"error": {"code": -32602, "message": str(wrong_params)}}
    except Exception as bug:  # A bug in one method must not end the program.
        print(f"{request.get('method')} failed: {bug!r}", file=sys.stderr, flush=True)
        return {"error": {"code": -32603, "message": "internal error"}}


def read(line):
    """The request of a line; None if the line is not a request. Such a line must not end the program."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        print(f"a line is not JSON: {error}", file=sys.stderr, flush=True)
        answer({"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": None})
        return None
    if not isinstance(request, dict):
        answer({"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": None})
        return None
    return request


def handle(request):
    said = outcome(request)
    if "id" in request:  # Without an id it is a notification: do the work, write no answer.
        answer({"jsonrpc": "2.0", **said, "id": request["id"]})


def main():
    print("the notebook is open", file=sys.stderr, flush=True)
    threads = []
    for line in sys.stdin:
        request = read(line)
        if request is None:
            continue
        thread = threading.Thread(target=handle, args=(request,))
        thread.start()
        threads = [t for t in threads if t.is_alive()] + [thread]
    # End of file means: stop. Calls that are still running get their answer first.
    for thread in threads:
        thread.join()
    print("the notebook is closed", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
