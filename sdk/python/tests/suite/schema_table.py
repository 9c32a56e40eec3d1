"""Every row of the schema builder's table (spec 2.1), one JSON line each."""

import json

from svc.methods import schema as s

ROWS = [
    ("string", s.string()),
    (
        "string, all",
        s.string(format="uri", min_length=1, max_length=9, pattern="^[a-z]+$"),
    ),
    ("integer", s.integer()),
    ("integer, all", s.integer(minimum=-1, maximum=12345678901234567890)),
    ("number", s.number()),
    ("number, all", s.number(minimum=0.5, maximum=1)),
    ("boolean", s.boolean()),
    ("null", s.null()),
    ("array", s.array(s.string())),
    ("array, items by keyword", s.array(items=s.null())),
    ("array, all", s.array(s.array(s.integer()), min_items=0, max_items=3)),
    ("array, items by hand", s.array({"type": ["string", "null"]})),
    ("object", s.object()),
    ("object, all required", s.object(b=s.string(), a=s.integer())),
    ("object, one optional", s.object(b=s.string(), a=s.optional(s.integer()))),
    ("object, all optional", s.object(a=s.optional(s.integer()))),
    ("object, open", s.object(a=s.string(), additional_properties=True)),
    ("object, of strings", s.object(additional_properties=s.string())),
    ("object, nested", s.object(inner=s.object(deep=s.array(s.object(x=s.number()))))),
    ("object, by hand", s.object(a={"enum": [1, None]})),
    ("object, odd names", s.object(**{"x-y": s.null(), "ü": s.optional(s.null())})),
    # Keywords that every builder takes.
    ("string, common", s.string(description="d", default="x", enum=["x", "y"])),
    ("integer, common", s.integer(description="d", default=1, enum=(1, 2))),
    ("number, common", s.number(description="d", default=1.5, enum=[1.5])),
    ("boolean, common", s.boolean(description="d", default=False, enum=[False])),
    ("null, common", s.null(description="d", default=None, enum=[None])),
    ("array, common", s.array(s.null(), description="d", default=[], enum=[[]])),
    ("object, common", s.object(description="d", default={}, enum=[{}])),
    # In `object`, an argument such as `enum` is a property if its value is a schema, and
    # otherwise a keyword.
    ("object, property description", s.object(description=s.string())),
    ("object, property enum", s.object(enum=s.array(s.string()), description="d")),
    ("object, optional property enum", s.object(enum=s.optional(s.string()))),
    ("object, property type", s.object(type=s.string(), items=s.null(), required=s.null())),
    # Optional.
    ("optional, default", s.object(a=s.optional(s.integer(), default=10))),
    ("optional, default by position", s.object(a=s.optional(s.integer(), 10))),
    ("optional, default None adds none", s.object(a=s.optional(s.null(), default=None))),
    ("optional, null by default", s.object(a=s.optional(s.null(default=None)))),
    ("optional, default false", s.object(a=s.optional(s.boolean(), default=False))),
    ("optional, default of its own", s.object(a=s.optional(s.integer(default=1)))),
    ("optional, the outer default", s.object(a=s.optional(s.integer(default=1), default=2))),
    ("optional, by hand", s.object(a=s.optional({"const": 1}))),
    ("optional, common", s.object(a=s.optional(s.string(), description="d", enum=["a"]))),
    # Extra.
    ("extra", s.string(extra={"examples": ["a"], "deprecated": True})),
    ("extra loses", s.string(min_length=1, extra={"minLength": 5, "type": "null", "x": 1})),
    ("extra, empty", s.null(extra={})),
    ("extra, array", s.array(s.null(), extra={"uniqueItems": True, "items": {}})),
    ("extra, object", s.object(a=s.null(), extra={"minProperties": 1, "required": []})),
    ("extra, additional", s.object(extra={"additionalProperties": {"type": "null"}})),
    (
        "extra, additional loses",
        s.object(additional_properties=False, extra={"additionalProperties": True}),
    ),
    ("extra, optional", s.object(a=s.optional(s.string(), extra={"title": "A"}))),
    # None means that a keyword is not given.
    ("none", s.string(description=None, min_length=None, enum=None, extra=None)),
]

for name, schema in ROWS:
    print(json.dumps([name, schema]))

# A wrapped schema is not changed.
inner = s.integer()
s.object(a=s.optional(inner, default=3))
print(json.dumps(["unchanged", inner]))
