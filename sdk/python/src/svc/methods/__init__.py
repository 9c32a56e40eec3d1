"""Publishes methods from a space (spec 2.1).

    from svc.methods import Server
    from svc.methods import schema as s

    server = Server("python3", args=["notes.py"])
    server.method(
        name="notes.search",
        local_name="search",
        description="Find notes",
        params=s.object(query=s.string()),
    )
    server.register()

Run this script with `svc methods register <file>`, as a startup script, or with any Python of the
space. Outside a space, `register` and `unregister` raise `RuntimeError`.
"""

from __future__ import annotations

from typing import Any, Dict, List, NoReturn, Optional, Sequence

from svc import _host
from svc.methods import schema


class Server:
    """One method server (a program that answers over stdio) and its methods."""

    def __init__(
        self,
        command: str,
        *,
        type: str = "stdio",
        timeout: int = 30,
        args: Optional[Sequence[str]] = None,
        mode: str = "concurrent",
        env: Optional[Dict[str, str]] = None,
        max_in_flight: Optional[int] = None,
        trace: bool = False,
        **unknown: NoReturn,
    ) -> None:
        """`command` and `args` start the program. With a `/`, `command` is relative to the script.

        `timeout` is the time limit of a call in seconds. `mode` "serial" sends one call at a time.
        `env` adds variables to the environment of the program. `max_in_flight` limits the number of
        calls that are in flight at a time; None means no limit. With `trace`, requests have the
        trace context of their calls (`svc.jsonrpc.trace`).
        """
        _refuse("Server", unknown)
        self._server: Dict[str, Any] = {}
        _one_of("Server() type", type, ["stdio"])
        self._server["command"] = _text("Server() command", command)
        if args:
            self._server["args"] = _texts("Server() args", args)
        if _int("Server() timeout", timeout) != 30:
            self._server["timeout"] = timeout
        if _one_of("Server() mode", mode, ["concurrent", "serial"]) != "concurrent":
            self._server["mode"] = mode
        if env:
            self._server["env"] = _environment(env)
        if max_in_flight is not None:
            if _int("Server() max_in_flight", max_in_flight) < 1:
                raise ValueError(f"Server() max_in_flight must be at least 1, not {max_in_flight}")
            if mode == "serial" and max_in_flight > 1:
                raise ValueError('Server() max_in_flight must be 1 with mode "serial"')
            self._server["max_in_flight"] = max_in_flight
        if not isinstance(trace, bool):
            raise TypeError(f"Server() trace must be a bool, not {_kind(trace)}")
        if trace:
            self._server["trace"] = True
        self._methods: List[Dict[str, Any]] = []

    def method(
        self,
        name: str,
        local_name: Optional[str] = None,
        description: Optional[str] = None,
        keywords: Optional[Sequence[str]] = None,
        scope: str = "private",
        groups: Optional[Sequence[str]] = None,
        mcp_tool: bool = False,
        params: Optional[Dict[str, Any]] = None,
        result: Optional[Dict[str, Any]] = None,
        events: Optional[Sequence[str]] = None,
        event_sinks: Optional[Sequence[str]] = None,
        title: Optional[str] = None,
        annotations: Optional[Dict[str, bool]] = None,
        event_overflow: str = "drop",
        journal: str = "outcome",
        journal_redact: Optional[Sequence[str]] = None,
        **unknown: NoReturn,
    ) -> None:
        """Adds a method; nothing is published before `register`.

        `name` is for callers, and may contain `{{space}}`; `local_name` is the name that the method
        server receives. `description` is required. `scope` is "private" or "shared"; `groups`
        restricts a shared method to groups. `params` and `result` are JSON Schemas, built with
        `svc.methods.schema` or written by hand. `events` are patterns: the method is called with
        each matching event. `event_sinks` names the json-rpc sinks that format these events. With
        `event_overflow` "hold", events wait while the method's queue is full or no space offers the
        method; with "drop" such events are dropped.

        `title` is a name for people. `annotations` are hints for MCP clients: a dict with any of
        the keys "read_only", "destructive", "idempotent" and "open_world"; an absent key means
        that nothing is known.

        `journal` is what the server records of each call: "none", its "outcome", or "payloads",
        which adds params, results and errors. Callers see this setting. `journal_redact` are JSON
        pointers to values that are not recorded.
        """
        _refuse("method", unknown)
        if description is None:
            raise TypeError("method() missing required argument: 'description'")
        method: Dict[str, Any] = {"name": _text("method() name", name)}
        if local_name is not None:
            method["local_name"] = _text("method() local_name", local_name)
        method["description"] = _text("method() description", description)
        if keywords:
            method["keywords"] = _texts("method() keywords", keywords)
        if _one_of("method() scope", scope, ["private", "shared"]) != "private":
            method["scope"] = scope
        if groups:
            method["groups"] = _texts("method() groups", groups)
        if title is not None:
            method["title"] = _text("method() title", title)
        if not isinstance(mcp_tool, bool):
            raise TypeError(f"method() mcp_tool must be a bool, not {_kind(mcp_tool)}")
        if mcp_tool:
            method["mcp_tool"] = True
        if annotations:
            method["annotations"] = _annotations(annotations)
        if params is not None:
            method["params_schema"] = _schema("method() params", params)
        if result is not None:
            method["result_schema"] = _schema("method() result", result)
        if events:
            method["events"] = _texts("method() events", events)
        if event_sinks:
            method["event_sinks"] = _texts("method() event_sinks", event_sinks)
        if _one_of("method() event_overflow", event_overflow, ["drop", "hold"]) != "drop":
            method["event_overflow"] = event_overflow
        levels = ["none", "outcome", "payloads"]
        if _one_of("method() journal", journal, levels) != "outcome":
            method["journal"] = journal
        if journal_redact:
            method["journal_redact"] = _texts("method() journal_redact", journal_redact)
        self._methods.append(method)

    def to_dict(self) -> Dict[str, Any]:
        """The registration as a JSON value, with the keys of the TOML file and without defaults."""
        server: Dict[str, Any] = _json("server", self._server)
        methods: List[Dict[str, Any]] = _json("methods", self._methods)
        return {"server": server, "methods": methods}

    def register(self) -> Dict[str, Any]:
        """Publishes the methods and replaces everything that the space published before.

        If the registration is refused, this raises, and the previous methods stay in service.
        Returns `{"methods": [names], "warnings": [texts]}`.
        """
        answer: Dict[str, Any] = _host.call("register", self.to_dict())
        return answer

    def unregister(self, local_name: Optional[str] = None) -> Dict[str, Any]:
        """Unregisters the methods with this local name, or all of them.

        If no method is left, the method server is stopped. The methods are also removed from
        this object: a later `register` does not publish them again. Returns `{"removed": [names],
        "remaining": [names]}`.
        """
        if local_name is not None:
            _text("unregister() local_name", local_name)
        answer: Dict[str, Any] = _host.call("unregister", {"local_name": local_name})
        if local_name is None:
            self._methods = []
        else:
            self._methods = [m for m in self._methods if not _is_known_as(m, local_name)]
        return answer


def _is_known_as(method: Dict[str, Any], local_name: str) -> bool:
    """Whether a method has this local name. The default local name is the published name."""
    own = method.get("local_name")
    if own is not None:
        return bool(own == local_name)
    name: str = method["name"]
    parts = name.split("{{space}}")
    if len(parts) == 1:
        return name == local_name
    # Besides `parts`, the local name has only the name of the space, once for each `{{space}}`.
    rest = len(local_name) - len("".join(parts))
    length = rest // (len(parts) - 1)
    start = len(parts[0])
    space = local_name[start : start + length]
    return length > 0 and space.join(parts) == local_name


def _refuse(function: str, unknown: Dict[str, Any]) -> None:
    for name in unknown:
        raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{where} must be a str, not {_kind(value)}")
    return value


def _int(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{where} must be an int, not {_kind(value)}")
    return value


def _one_of(where: str, value: Any, words: List[str]) -> str:
    if _text(where, value) not in words:
        allowed = " or ".join([f'"{word}"' for word in words])
        raise ValueError(f'{where} must be {allowed}, not "{value}"')
    return str(value)


def _texts(where: str, values: Any) -> List[str]:
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{where} must be a list of str, not {_kind(values)}")
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{where} must be a list of str, but one is {_kind(value)}")
    return list(values)


def _environment(env: Any) -> Dict[str, str]:
    if not isinstance(env, dict):
        raise TypeError(f"Server() env must be a dict of str, not {_kind(env)}")
    for name, value in env.items():
        _text("Server() env name", name)
        _text(f"Server() env '{name}'", value)
    return dict(env)


_HINTS = ["read_only", "destructive", "idempotent", "open_world"]


def _annotations(values: Any) -> Dict[str, bool]:
    if not isinstance(values, dict):
        raise TypeError(f"method() annotations must be a dict of bool, not {_kind(values)}")
    for name, value in values.items():
        _one_of("method() annotations key", name, _HINTS)
        if not isinstance(value, bool):
            where = f"method() annotations '{name}'"
            raise TypeError(f"{where} must be a bool, not {_kind(value)}")
    return dict(values)


def _schema(where: str, value: Any) -> Dict[str, Any]:
    if isinstance(value, schema._Optional):
        raise TypeError(f"{where} cannot be optional(): only a property given to object() can")
    if not isinstance(value, dict):
        raise TypeError(f"{where} must be a schema (dict), not {_kind(value)}")
    copy: Dict[str, Any] = _json(where, value)
    return copy


def _json(where: str, value: Any) -> Any:
    """A deep copy of a JSON value, so that later changes of the original have no effect."""
    # Infinity and NaN are the only numbers whose difference from themselves is not 0.
    if isinstance(value, float) and value - value != 0:
        raise ValueError(f"{where} is {value}, which JSON cannot hold; write a finite number")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_json(f"{where}[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, dict):
        copy: Dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where} has a key that is {_kind(key)}, not str")
            copy[key] = _json(f"{where}.{key}", item)
        return copy
    if isinstance(value, schema._Optional):
        raise TypeError(f"{where} cannot be optional(): only a property given to object() can")
    raise TypeError(f"{where} is {_kind(value)}, which JSON cannot hold")


def _kind(value: Any) -> str:
    return type(value).__name__
