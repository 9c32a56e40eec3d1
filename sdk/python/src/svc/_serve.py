"""Serves JSON-RPC over stdin and stdout on CPython: `python3 -m svc.jsonrpc setup.py`.

Each line is a request, and each answer is a line. Requests run on threads, so that a slow request
does not delay the others. The answers equal those of `svc run-script --json-rpc`. Only answers,
progress reports and `$/ready` may be written to stdout: output of handlers and of their child
processes goes to stderr.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, BinaryIO, Callable, Dict, List, Optional, Tuple

from svc import _host

# The maximum size of a request or an answer. The agent discards longer lines.
LINE_BYTES_MAX = 16 * 1024 * 1024
# The maximum size of the text around a result in its line.
ENVELOPE_BYTES = 1024
# More threads than cores, because handlers mostly wait for files and other services.
THREADS = 32
# The maximum number of requests that are read but not answered. Further requests wait in the
# agent, where users take turns.
WAITING_MAX = 2 * THREADS
# Every batch is refused. If it is larger than this, the error names its size.
BATCH_MAX = 1_000
# Newer versions of Python append the value of the float to this message. `_encode` cuts it off.
NOT_FINITE = "Out of range float values are not JSON compliant"

# The folder in which the method server was started.
WORKING_FOLDER = os.path.realpath(os.getcwd())

# Tells the agent that the start has succeeded.
READY = b'{"jsonrpc":"2.0","method":"$/ready"}\n'

Handler = Callable[[Any], Any]


def main(arguments: List[str]) -> int:
    """Runs the setup script as `__main__` and serves the methods that it routed."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python3 -m svc.jsonrpc <setup.py>", file=sys.stderr)
        return 2
    path = os.path.abspath(arguments[0])
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        print(f"cannot read `{arguments[0]}`: {error.strerror}", file=sys.stderr)
        return 2
    # The same environment as with `python3 setup.py`.
    setup = ModuleType("__main__")
    setup.__file__ = path
    sys.modules["__main__"] = setup
    sys.argv = [arguments[0]]
    sys.path.insert(0, os.path.dirname(path))
    streams = _take_streams()
    exec(compile(text, path, "exec"), setup.__dict__)
    _Server(streams).run()
    return 0


def serve() -> None:
    """Serves the routed methods until stdin ends and every request is answered."""
    _Server(_take_streams()).run()


def _take_streams() -> Tuple[BinaryIO, BinaryIO]:
    """Reserves stdin and stdout for the protocol. Handlers get an empty stdin, and print to stderr."""
    sys.stdout.flush()
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # Printed lines then reach the log at once, and in order with the other lines of stderr.
    sys.stdout = sys.stderr
    return requests, answers


class _Server:
    def __init__(self, streams: Tuple[BinaryIO, BinaryIO]) -> None:
        self._requests, self._answers = streams
        self._handlers = {name: _find(handler) for name, handler in _host.routes.items()}
        if not self._handlers:
            raise RuntimeError("nothing is routed: call svc.jsonrpc.method(local_name, handler)")
        self._writing = threading.Lock()
        self._waiting = threading.BoundedSemaphore(WAITING_MAX)

    def run(self) -> None:
        if os.environ.get("SVC_AGENT_SOCKET"):
            # Only an agent expects this line.
            self._write(READY)
        with ThreadPoolExecutor(THREADS, thread_name_prefix="svc-handler") as threads:
            for line in iter(lambda: self._requests.readline(LINE_BYTES_MAX + 1), b""):
                if len(line) > LINE_BYTES_MAX:
                    _log(f"a line of more than {LINE_BYTES_MAX} bytes is ignored")
                    while line and not line.endswith(b"\n"):
                        line = self._requests.readline(LINE_BYTES_MAX)
                    continue
                try:
                    request = json.loads(line, parse_constant=_no_constant)
                except (ValueError, RecursionError) as error:
                    _log(f"a line that is not JSON is ignored: {error}")
                    continue
                self._waiting.acquire()
                threads.submit(self._handle, request)

    def _handle(self, request: Any) -> None:
        try:
            answer = self._answer(request)
            if answer is not None:
                self._write(answer)
        except OSError as error:
            _log(f"an answer cannot be written: {error}")
        finally:
            self._waiting.release()

    def _answer(self, request: Any) -> Optional[bytes]:
        """The line of the answer. None for a notification."""
        why = _mistake(request)
        if why is not None:
            error = {"code": -32600, "message": "Invalid Request", "data": {"reason": why}}
            return _response("error", error, _id_of(request))
        # A context variable, because each thread has its own context.
        _host.reporter.set(lambda report: self._report(request, report))
        _host.trace.set(_host.trace_members(request.get("_meta")))
        try:
            member, outcome = self._outcome(request["method"], request.get("params"))
        finally:
            _host.reporter.set(None)
            _host.trace.set(None)
        if "id" in request:
            return _response(member, outcome, request["id"])
        if member == "error":
            _log(f"notification `{request['method']}` failed: {outcome['message']}")
        return None

    def _report(self, request: Any, report: Dict[str, Any]) -> None:
        """Sends a progress report. A notification sends none."""
        if "id" not in request:
            return
        params = _dump({"id": request["id"], **report})
        self._write(b'{"jsonrpc":"2.0","method":"$/progress","params":%s}\n' % params)

    def _write(self, line: bytes) -> None:
        with self._writing:
            self._answers.write(line)
            self._answers.flush()

    def _outcome(self, name: str, params: Any) -> Tuple[str, Any]:
        """`result` with its JSON, or `error` with its object."""
        handler = self._handlers.get(name)
        if handler is None:
            return "error", {"code": -32601, "message": "Method not found"}
        try:
            return "result", _encode(_host.routes[name], handler({} if params is None else params))
        except _host.RpcError as error:
            return "error", error.error
        except BaseException as error:  # `sys.exit` in a handler must not end other requests.
            return "error", _describe(error)


def _find(handler: str) -> Handler:
    library, _, function = handler.rpartition(".")
    found = getattr(importlib.import_module(library), function, None)
    if found is None:
        raise AttributeError(f"library `{library}` has no function `{function}`")
    make: Handler = found
    return make


def _no_constant(name: str) -> Any:
    raise ValueError(f"`{name}` is not JSON")


def _mistake(request: Any) -> Optional[str]:
    """Why this is not a valid request, in the words of `svc run-script --json-rpc`."""
    if isinstance(request, list):
        if not request:
            return "the batch is empty"
        if len(request) > BATCH_MAX:
            return f"the batch has {len(request)} items; at most {BATCH_MAX} are allowed"
        return "a method server takes no batches"
    if not isinstance(request, dict):
        return "a request must be an object"
    if not _is_id(request.get("id")):
        return "`id` must be a string, a number or null"
    if request.get("jsonrpc") != "2.0":
        return '`jsonrpc` must be "2.0"'
    if not isinstance(request.get("method"), str):
        return "`method` must be a string"
    if not isinstance(request.get("params"), (dict, list, type(None))):
        return "`params` must be an object or an array"
    return None


def _id_of(request: Any) -> Any:
    """The id for the answer to an invalid request: the request's id if that is valid."""
    id = request.get("id") if isinstance(request, dict) else None
    return id if _is_id(id) else None


def _is_id(id: Any) -> bool:
    # In Python, a bool is an int.
    return isinstance(id, (str, int, float, type(None))) and not isinstance(id, bool)


def _encode(handler: str, result: Any) -> bytes:
    try:
        text = _dump(result)
    except (TypeError, ValueError, RecursionError) as error:
        said = str(error)
        if said.startswith(NOT_FINITE):
            said = NOT_FINITE
    else:
        if len(text) <= LINE_BYTES_MAX - ENVELOPE_BYTES:
            return text
        data = {"reason": "answer_too_large", "limit_bytes": LINE_BYTES_MAX}
        said = f"the result has {len(text)} bytes; the line of an answer may have at most {LINE_BYTES_MAX}"
        raise _host.RpcError(-32603, said, data)
    raise TypeError(f"`{handler}` returned a value that JSON cannot represent: {said}")


def _response(member: str, outcome: Any, id: Any) -> bytes:
    text = outcome if isinstance(outcome, bytes) else _dump(outcome)
    return b'{"jsonrpc":"2.0","%s":%s,"id":%s}\n' % (member.encode(), text, _dump(id))


def _dump(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # UTF-8 cannot encode half of a surrogate pair, but a JSON escape can.
    return text.encode("utf-8", "backslashreplace")


def _describe(error: BaseException) -> Dict[str, Any]:
    """The error object for the caller. The log gets the whole traceback.

    Callers may be other users, so the object names the innermost file in the working folder, by its
    path in this folder.
    """
    _log("".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip())
    said = str(error)
    name = type(error).__name__
    data: Dict[str, Any] = {"reason": "exception", "file": None, "line": None}
    ours = os.path.dirname(os.path.realpath(__file__))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = os.path.realpath(frame.filename)
        if _is_inside(path, WORKING_FOLDER) and not _is_inside(path, ours):
            data["file"] = os.path.relpath(path, WORKING_FOLDER)
            data["line"] = frame.lineno
            break
    return {"code": -32603, "message": f"{name}: {said}" if said else name, "data": data}


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
