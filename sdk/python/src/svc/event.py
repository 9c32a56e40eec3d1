"""Emits events (spec 6.2).

    import svc.event as event

    event.emit("build.done", {"ok": True})     # becomes `custom.build.done`

In a space, the event belongs to the space and goes through its agent. Elsewhere, it belongs to the
caller and to no space. In the script of a sink, `svc.event` is another module, which reads the
event of the sink and cannot emit.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from svc import _host

# Needed in `emit`, where the argument `type` hides the built-in function.
_class_of = type


def emit(type: str, payload: Optional[Dict[str, Any]] = None) -> str:
    """Emits an event and returns its id. `custom.` is always put before the type."""
    if not isinstance(type, str):
        raise TypeError(f"emit() type must be a str, not {_class_of(type).__name__}")
    if payload is not None and not isinstance(payload, dict):
        raise TypeError(f"emit() payload must be a dict, not {_class_of(payload).__name__}")
    answer = _host.call("emit", {"type": type, "payload": {} if payload is None else payload})
    event_id: str = answer["event_id"]
    return event_id
