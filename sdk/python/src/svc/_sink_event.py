"""Reads the event of a sink's script, which imports this module as `svc.event` (spec 6.3).

    import svc.event as event

    if event.type() == "space.unhealthy" and event.get_int("consecutive_failures") > 3:
        print(f"{event.space()['name']} is unhealthy")

Output is stored with the delivery. There is no `emit` here, because a sink that emits events could
cause an endless loop.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from svc import _host

_read: List[Dict[str, Any]] = []


def _event() -> Dict[str, Any]:
    # Read once, because calls to the host are limited.
    if not _read:
        _read.append(_host.call("event", None))
    return _read[0]


def id() -> str:
    """The event's UUID. The same for every attempt, so that a script can detect repeated work."""
    return str(_event()["id"])


def type() -> str:
    """The type, such as `space.started` or `custom.build.done`."""
    return str(_event()["type"])


def ts() -> str:
    """The time of the event: RFC 3339, UTC."""
    return str(_event()["ts"])


def space() -> Any:
    """`{"id", "name", "urls"}`. An event without a space has the nil UUID and no name."""
    return _event()["space"]


def actor() -> Any:
    """The user, agent or system that caused the event: `{"id", "username", "kind"}`."""
    return _event()["actor"]


def custom() -> Any:
    """The values of the space's custom fields, a dict."""
    return _event()["custom"]


def data() -> Any:
    """The whole payload, a dict."""
    return _event()["data"]


def get(name: str, default: Any = None) -> Any:
    """A value of the payload of any type; `default` if it is missing or null."""
    value = (_event()["data"] or {}).get(name)
    return default if value is None else value


def get_string(name: str, default: str = "") -> str:
    """A string of the payload; `default` if the value is missing or not a string."""
    value = get(name)
    return value if isinstance(value, str) else default


def get_int(name: str, default: int = 0) -> int:
    """A whole number of the payload, such as 3 or 3.0; `default` for any other value."""
    value = get(name)
    if isinstance(value, float) and value == value // 1:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def get_bool(name: str, default: bool = False) -> bool:
    """A boolean of the payload; `default` if the value is missing or not a boolean."""
    value = get(name)
    return value if isinstance(value, bool) else default


def get_list(name: str, default: Optional[List[Any]] = None) -> List[Any]:
    """A list of the payload; `default`, or an empty list, if the value is missing or not a list."""
    value = get(name)
    if isinstance(value, list):
        return value
    return [] if default is None else default


def get_dict(name: str, default: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """A dict of the payload; `default`, or an empty dict, if the value is missing or not a dict."""
    value = get(name)
    if isinstance(value, dict):
        return value
    return {} if default is None else default
