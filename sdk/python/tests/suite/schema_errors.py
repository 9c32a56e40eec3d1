"""Arguments that the schema builders reject, and the messages."""

import json

from svc.methods import Server
from svc.methods import schema as s

server = Server("x")

ATTEMPTS = [
    ("unknown keyword", lambda: s.string(minlength=3)),
    ("camelCase", lambda: s.string(minLength=3)),
    ("of another builder", lambda: s.string(minimum=3)),
    ("integer", lambda: s.integer(min_length=3)),
    ("number", lambda: s.number(multiple_of=3)),
    ("boolean", lambda: s.boolean(minimum=3)),
    ("null", lambda: s.null(nullable=True)),
    ("array", lambda: s.array(s.null(), unique_items=True)),
    ("optional", lambda: s.optional(s.null(), required=False)),
    ("array of an optional", lambda: s.array(s.optional(s.null()))),
    ("array of a text", lambda: s.array("string")),
    ("optional twice", lambda: s.optional(s.optional(s.null()))),
    ("optional of a text", lambda: s.optional("string")),
    ("property that is not a schema", lambda: s.object(a="string")),
    ("property that is a builder", lambda: s.object(a=s.string)),
    ("additional optional", lambda: s.object(additional_properties=s.optional(s.null()))),
    ("additional text", lambda: s.object(additional_properties="no")),
    ("description", lambda: s.string(description=1)),
    ("description of an object", lambda: s.object(description=1)),
    ("enum", lambda: s.string(enum="ab")),
    ("enum of an object", lambda: s.object(enum="ab")),
    ("extra", lambda: s.string(extra=["x"])),
    ("params", lambda: server.method("x", description="d", params=s.optional(s.null()))),
    ("result", lambda: server.method("x", description="d", result="string")),
    (
        "optional in a schema by hand",
        lambda: server.method(
            "x", description="d", params={"properties": {"a": s.optional(s.null())}}
        ),
    ),
    (
        "a value that JSON cannot hold",
        lambda: server.method("x", description="d", params=s.object(a=s.null(default=[server]))),
    ),
    (
        "a key that is not text",
        lambda: server.method("x", description="d", params={"properties": {1: {}}}),
    ),
]

for name, attempt in ATTEMPTS:
    try:
        attempt()
        print(json.dumps([name, "accepted"]))
    except (TypeError, ValueError) as error:
        print(json.dumps([name, type(error).__name__, str(error)]))

print(json.dumps(server.to_dict()))
