"""Performs the operations of the library on CPython.

The engine inside `svc` replaces this module with another one that has the same `call`. This module
sends requests to the space's agent over its Unix socket. Outside a space, it sends events and API
requests to the server, with `SVC_URL` and `SVC_TOKEN`, and rejects registrations.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import struct
import sys
from contextvars import ContextVar
from typing import Any, Callable, Dict, Iterator, NamedTuple, NoReturn, Optional
from urllib.parse import quote, urlsplit

CONNECT_SECONDS = 10
# A registration waits for the new method server and for the server's decision.
REGISTER_SECONDS = 120
ANSWER_SECONDS = 30
# A method may take an hour (spec 8). The request itself gets 15 seconds more.
CALL_SECONDS = 3615
ANSWER_BYTES_MAX = 8 * 1024 * 1024

# The routes of `svc.jsonrpc.method`: local name to handler.
routes: Dict[str, str] = {}
# Sends the progress reports of a request; None outside of a request.
reporter: ContextVar[Optional[Callable[[Any], None]]] = ContextVar("svc_reporter", default=None)
# The trace context of a request: `traceparent` and `tracestate`; None outside of a request.
trace: ContextVar[Optional[Dict[str, str]]] = ContextVar("svc_trace", default=None)


class RpcError(RuntimeError):
    """Ends a handler with the JSON-RPC error of `svc.jsonrpc.error`."""

    def __init__(self, code: int, message: str, data: Any) -> None:
        super().__init__(message)
        self.error: Dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


def call(operation: str, argument: Any) -> Any:
    """Performs an operation. Arguments and answers are JSON values."""
    do = _OPERATIONS.get(operation)
    if do is None:
        raise RuntimeError(f"there is no operation `{operation}`")
    return do(argument)


def serve() -> None:
    """Serves the routed methods over stdin and stdout."""
    from svc import _serve

    _serve.serve()


def _register(registration: Any) -> Any:
    body = {"path": _script_path(), "registration": registration}
    answer = _agent_for_methods().ask("POST", "/registration", body, REGISTER_SECONDS)
    registered = answer.get()
    for warning in registered.get("warnings", []):
        print(f"warning: {warning}", file=sys.stderr)
    return registered


def _unregister(argument: Any) -> Any:
    path = "/registration"
    if argument["local_name"] is not None:
        path += "?local_name=" + quote(argument["local_name"], safe="")
    return _agent_for_methods().ask("DELETE", path, None, REGISTER_SECONDS).get()


def _emit(argument: Any) -> Any:
    agent = _find_agent()
    if agent is not None:
        return agent.ask("POST", "/event", argument, ANSWER_SECONDS).get()
    server = _server("svc.event")
    return server.ask("POST", "/api/events/emit", argument, ANSWER_SECONDS).get()


def _api(argument: Any) -> Any:
    path = argument["path"]
    is_call = path.split("?")[0] == "/api/methods/call"
    seconds = CALL_SECONDS if is_call else ANSWER_SECONDS
    peer = _find_agent() or _server("svc.api")
    answer = peer.ask(argument["method"], path, argument.get("body"), seconds)
    return {"status": answer.status, "body": answer.body}


def _trace(_argument: Any) -> Dict[str, str]:
    """The trace context for new requests: from the handled request, or from the environment."""
    found = trace.get()
    if found is not None:
        return dict(found)
    named = {"traceparent": os.environ.get("TRACEPARENT"), "tracestate": os.environ.get("TRACESTATE")}
    return trace_members(named)


def trace_members(given: Any) -> Dict[str, str]:
    """`traceparent` and `tracestate`, if they can be headers. Empty without a `traceparent`."""
    members: Dict[str, str] = {}
    for name in ("traceparent", "tracestate"):
        value = given.get(name) if isinstance(given, dict) else None
        if isinstance(value, str) and value and all(" " <= letter <= "~" for letter in value):
            members[name] = value
    return members if "traceparent" in members else {}


def _event(_argument: Any) -> NoReturn:
    raise RuntimeError("event accessors are for sink scripts, which run on the server")


def _route(argument: Any) -> None:
    routes[argument["local_name"]] = argument["handler"]


def _progress(argument: Any) -> None:
    report = reporter.get()
    if report is None:
        raise RuntimeError("progress() is for a handler, while it answers a request")
    report(argument)


def _rpc_error(argument: Any) -> NoReturn:
    # Fail here, in the handler, if JSON cannot represent the data.
    json.dumps(argument, allow_nan=False)
    raise RpcError(argument["code"], argument["message"], argument["data"])


_OPERATIONS: Dict[str, Callable[[Any], Any]] = {
    "register": _register,
    "unregister": _unregister,
    "emit": _emit,
    "api": _api,
    "event": _event,
    "route": _route,
    "rpc_error": _rpc_error,
    "progress": _progress,
    "trace": _trace,
}


class _Answer(NamedTuple):
    status: int
    body: Any

    def get(self) -> Any:
        """The body. Raises if the status is an error."""
        if self.status < 400:
            return self.body
        if isinstance(self.body, dict) and "detail" in self.body:
            raise RuntimeError(str(self.body["detail"]))
        raise RuntimeError(f"the agent or server answered with status {self.status}")


class _Peer:
    """An agent or a server, and how to send HTTP requests to it."""

    def __init__(
        self,
        name: str,
        connect: Callable[[], http.client.HTTPConnection],
        token: Optional[str] = None,
        prefix: str = "",
    ) -> None:
        self.name = name
        self._connect = connect
        self._token = token
        self._prefix = prefix

    def ask(self, method: str, path: str, body: Any, seconds: float) -> _Answer:
        headers = {"Accept": "application/json", **_trace(None)}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, allow_nan=False).encode()
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        connection = self._connect()
        try:
            connection.connect()
            connection.sock.settimeout(seconds)
            connection.request(method, self._prefix + path, data, headers)
            answer = connection.getresponse()
            text = answer.read(ANSWER_BYTES_MAX + 1)
        except socket.timeout:
            raise RuntimeError(f"{self.name} did not answer within {seconds} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise RuntimeError(f"cannot reach {self.name}: {error}") from None
        finally:
            connection.close()
        if len(text) > ANSWER_BYTES_MAX:
            raise RuntimeError(f"{self.name} answered more than {ANSWER_BYTES_MAX} bytes")
        return _Answer(answer.status, _read_body(text, answer.headers.get_content_type()))


def _read_body(text: bytes, content_type: str) -> Any:
    if not text:
        return None
    if content_type == "application/json" or content_type.endswith("+json"):
        return json.loads(text)
    return text.decode("utf-8", "replace")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=CONNECT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = _connect_unix(self._path)


def _connect_unix(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(path)
        _check_listener(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_listener(connection: socket.socket) -> None:
    """Raises if another user listens on the socket: nothing may be sent to that user.

    Only Linux reports the user of the listener to Python.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return
    _pid, user, _group = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, 12))
    if user not in (0, os.geteuid()):
        raise PermissionError(
            f"user id {user} listens on this socket, and you are {os.geteuid()}; nothing was sent,"
            " because only an agent of yours or of root is used"
        )


def _agent_for_methods() -> _Peer:
    agent = _find_agent()
    if agent is None:
        raise RuntimeError(
            "svc.methods works inside a space only: no agent was found (SVC_AGENT_SOCKET is not"
            " set, and no .svc/agent.json is in this folder or above)"
        )
    return agent


def _find_agent() -> Optional[_Peer]:
    path = _find_agent_socket()
    if path is None:
        return None
    return _Peer(f"the agent at `{path}`", lambda: _UnixConnection(path))


def _find_agent_socket() -> Optional[str]:
    """The agent's socket, from the environment or from the agent's discovery file."""
    named = os.environ.get("SVC_AGENT_SOCKET")
    if named:
        return os.path.abspath(named)
    for folder in _folders_up(os.getcwd()):
        try:
            with open(os.path.join(folder, ".svc", "agent.json"), encoding="utf-8") as file:
                if not _is_safe(file.fileno(), file.name):
                    continue
                path = str(json.load(file)["agent_socket"])
            # Connect, because a crashed agent leaves its file behind.
            _connect_unix(path).close()
        except (OSError, ValueError, KeyError, TypeError):
            continue
        return path
    return None


def _is_safe(descriptor: int, name: str) -> bool:
    """Whether file and folder belong to this user or root, and no other user can change the file.

    A parent folder can belong to another user, who must not receive requests for the agent.
    """
    folder = os.path.dirname(name)
    trusted = (0, os.geteuid())
    for link in (os.lstat(name), os.lstat(folder)):
        if link.st_uid not in trusted:
            return False
    for found, sticky in ((os.fstat(descriptor), 0), (os.stat(folder), 0o1000)):
        if found.st_uid not in trusted or (found.st_mode & 0o022 and not found.st_mode & sticky):
            return False
    return True


def _folders_up(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _server(module: str) -> _Peer:
    url, token = os.environ.get("SVC_URL"), os.environ.get("SVC_TOKEN")
    if not url or not token:
        raise RuntimeError(
            f"{module} has no server to ask: no agent was found (SVC_AGENT_SOCKET is not set), and"
            " no server is known; run inside a space, or set SVC_URL and SVC_TOKEN"
        )
    # The variable may name several servers, as for an agent. Only the first is used.
    url = url.split(",")[0].strip()
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port
    if parts.scheme not in ("http", "https") or host is None:
        raise RuntimeError(f"SVC_URL `{url}` is not an http or https address")

    def connect() -> http.client.HTTPConnection:
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        trust = ssl.create_default_context()
        if os.environ.get("SVC_CA_FILE"):
            trust.load_verify_locations(os.environ["SVC_CA_FILE"])
        return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=trust)

    return _Peer(f"the server at `{url}`", connect, token, parts.path.rstrip("/"))


def _script_path() -> str:
    """The path of this script. The method server runs in its folder."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(path or "script.py")
