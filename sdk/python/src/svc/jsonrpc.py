"""Answers the calls of a space's methods (spec 4.4).

A setup script routes each local name to a handler:

    from svc import jsonrpc

    jsonrpc.method("search", "notes.search")     # `search` in notes.py, in the same folder

A handler takes the params, a dict or a list, and returns a JSON value:

    def search(params):
        if not params.get("query"):
            raise jsonrpc.error(-32602, "query is missing")
        return {"notes": []}

A slow handler can report progress, for callers that ask for it:

    def index(params):
        for done, name in enumerate(names):
            jsonrpc.progress(done, len(names), name)

With `trace = true` in the registration, calls and events of a handler belong to the trace of its
request. A handler can add spans of its own with OpenTelemetry:

    def search(params):
        context = propagate.extract(jsonrpc.trace())
        with tracer.start_as_current_span("search", context):
            ...

`svc run-script --json-rpc setup.py` serves the handlers without an installed Python, each request
in a fresh evaluator, so that handlers share only files. `python3 -m svc.jsonrpc setup.py` serves
the same handlers on CPython, on threads of one process, where globals of a module are shared. Both
are method servers for a registration. An exception in a handler becomes a JSON-RPC error; output
of a handler goes to the space's log.
"""

from __future__ import annotations

from typing import Any, Dict, NoReturn, Optional

from svc import _host

# The maximum length of a message, so that a report always fits into its limit of 4 KiB.
MESSAGE_MAX = 500


def method(local_name: str, handler: str) -> None:
    """Routes calls of `local_name` to `handler`, written as "library.function"."""
    if not isinstance(local_name, str):
        raise TypeError(f"method() local_name must be a str, not {type(local_name).__name__}")
    if not isinstance(handler, str):
        raise TypeError(
            f'method() handler must be a str "library.function", not {type(handler).__name__}'
        )
    library, dot, function = handler.rpartition(".")
    if not library or not function:
        raise ValueError(f"method() handler `{handler}` is not of the form `library.function`")
    _host.call("route", {"local_name": local_name, "handler": handler})


def error(code: int, message: str, data: Any = None) -> NoReturn:
    """Ends the handler with this JSON-RPC error. Raises even without `raise`."""
    if isinstance(code, bool) or not isinstance(code, int):
        raise TypeError(f"error() code must be an int, not {type(code).__name__}")
    if not isinstance(message, str):
        raise TypeError(f"error() message must be a str, not {type(message).__name__}")
    _host.call("rpc_error", {"code": code, "message": message, "data": data})
    raise RuntimeError(message)


def progress(
    progress: float, total: Optional[float] = None, message: Optional[str] = None
) -> None:
    """Reports the progress of a request to its caller. Only for handlers that answer a request.

    `progress` must increase from report to report. Callers that did not ask for reports get none.
    """
    for name, value in [("progress", progress), ("total", total)]:
        if name == "total" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"progress() {name} must be a number, not {type(value).__name__}")
        if not -1e308 <= value <= 1e308:
            raise ValueError(f"progress() {name} must be a finite number")
    if message is not None and not isinstance(message, str):
        raise TypeError(f"progress() message must be a str, not {type(message).__name__}")
    report: Dict[str, Any] = {"progress": progress}
    if total is not None:
        report["total"] = total
    if message is not None:
        report["message"] = message[:MESSAGE_MAX]
    _host.call("progress", report)


def trace() -> Dict[str, str]:
    """The trace of the request: a dict with `traceparent`, and `tracestate` if there is one.

    Outside of a handler, the trace of the variables `TRACEPARENT` and `TRACESTATE`. Empty without a
    trace.
    """
    found: Dict[str, str] = _host.call("trace", None)
    return found


def serve() -> None:
    """Serves stdin and stdout until stdin ends. CPython only.

    Call it at the end of a script that routes methods, and run the script with `python3`.
    """
    if not hasattr(_host, "serve"):
        raise RuntimeError(
            "serve() is for CPython only; use `svc run-script --json-rpc <setup.py>` instead"
        )
    _host.serve()


if __name__ == "__main__":
    import sys

    from svc import _serve

    sys.exit(_serve.main(sys.argv[1:]))
