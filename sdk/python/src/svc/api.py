"""The service's API, as the current user (spec 4.1).

    from svc import api

    api.call("notes.search", {"query": "milk"})
    [method["name"] for method in api.list_methods(q="notes")]

Inside a space, requests go through the agent as the space's owner. In a script on the server, they
run as the script's user. Both work without an address and a token. Elsewhere, set `SVC_URL` and
`SVC_TOKEN`. A request that fails raises `RuntimeError`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Union

from svc import _host

_VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
# Endless responses, which this module cannot read, and the paths to ask instead.
_STREAMS = {"/api/events/stream": "/api/events", "/api/calls/stream": "/api/calls"}
# Characters that need no escape in a path or a query (RFC 3986).
_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


def call(name: str, params: Union[Dict[str, Any], List[Any], None] = None) -> Any:
    """Calls a method, by its name as the current user sees it, and returns its result."""
    response = call_response(name, params)
    error = response.get("error")
    if error is not None:
        raise RuntimeError(f"`{name}` answered error {error['code']}: {error['message']}")
    return response["result"]


def call_response(
    name: str, params: Union[Dict[str, Any], List[Any], None] = None
) -> Dict[str, Any]:
    """Calls a method and returns the JSON-RPC response, `error` and its `data` included."""
    message: Dict[str, Any] = {"jsonrpc": "2.0", "method": name, "id": 1}
    if params is not None:
        message["params"] = params
    response: Dict[str, Any] = request("POST", "/api/methods/call", message)
    return response


def list_methods(q: Optional[str] = None, name: Optional[str] = None) -> List[Dict[str, Any]]:
    """The methods that the user may call; `q` searches names, descriptions and keywords."""
    methods: List[Dict[str, Any]] = request("GET", _path("/api/methods", q=q, name=name))["methods"]
    return methods


def list_spaces() -> List[Dict[str, Any]]:
    """The spaces that the user sees."""
    spaces: List[Dict[str, Any]] = []
    cursor: Optional[str] = None
    while True:
        page = request("GET", _path("/api/spaces", cursor=cursor))
        spaces.extend(page["spaces"])
        cursor = page["next_cursor"]
        if cursor is None:
            return spaces


def get_space(id_or_name: str) -> Dict[str, Any]:
    """One space, by its id or its name."""
    if len(id_or_name) == 36 and id_or_name.count("-") == 4:
        space: Dict[str, Any] = request("GET", f"/api/spaces/{_quote(id_or_name)}")
        return space
    found = [space for space in list_spaces() if space["name"] == id_or_name]
    if len(found) > 1:
        # A user who sees the spaces of all users may see this name more than once.
        own = me()["id"]
        found = [space for space in found if space["owner_id"] == own]
    if len(found) != 1:
        raise RuntimeError(f"there is no space `{id_or_name}`")
    return found[0]


def me() -> Dict[str, Any]:
    """The current user, with roles and permissions."""
    user: Dict[str, Any] = request("GET", "/api/auth/me")
    return user


def request(method: str, path: str, body: Any = None) -> Any:
    """Sends any request to `/api/...`. Returns the parsed body, or None if the body is empty."""
    verb = _checked(method, path)
    argument = {"method": verb, "path": path}
    if body is not None:
        argument["body"] = body
    answer = _host.call("api", argument)
    status = answer["status"]
    if status >= 400:
        raise RuntimeError(f"{verb} {path}: {status} {_problem(answer['body'])}")
    return answer["body"]


def _checked(method: Any, path: Any) -> str:
    """The verb in capitals. Rejects paths outside the API and paths of endless streams."""
    for name, value in [("method", method), ("path", path)]:
        if not isinstance(value, str):
            raise TypeError(f"request() {name} must be a str, not {type(value).__name__}")
    route = path.split("?")[0]
    dots = any(segment in [".", ".."] for segment in route.split("/"))
    plain = all("!" <= letter <= "~" and letter not in "#\\" for letter in path)
    if not route.startswith("/api/") or dots or not plain:
        raise ValueError(f"request() path `{path}` must be `/api/...`, escaped as in a URL")
    if route in _STREAMS:
        raise ValueError(f"request() path `{route}` is an endless stream; use `{_STREAMS[route]}`")
    verb = str(method).upper()
    if verb not in _VERBS:
        raise ValueError(f"request() method `{method}` must be one of {', '.join(_VERBS)}")
    return verb


def _problem(body: Any) -> str:
    if isinstance(body, dict) and "detail" in body:
        return f"{body.get('code')}: {body['detail']}"
    return "" if body is None else str(body)[:200]


def _path(path: str, **query: Optional[str]) -> str:
    pairs = [f"{key}={_quote(value)}" for key, value in query.items() if value is not None]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def _quote(text: str) -> str:
    quoted = ""
    for byte in text.encode("utf-8"):
        letter = chr(byte)
        quoted += letter if letter in _UNRESERVED else f"%{byte:02X}"
    return quoted
