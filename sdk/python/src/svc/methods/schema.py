"""Builds JSON Schemas for `params` and `result` of a method (spec 2.1).

    from svc.methods import schema as s

    s.object(
        query=s.string(min_length=1, description="what to look for"),
        limit=s.optional(s.integer(minimum=1, maximum=100), default=10),
        tags=s.optional(s.array(s.string(), max_items=5)),
    )

A builder returns a plain dict, so builders and schemas written by hand can be mixed. Every builder
takes `description`, `default`, `enum` and `extra`, a dict of further JSON Schema keywords. Keywords
of the builder override `extra`. A keyword with the value `None` counts as not given, with one
exception: `default=None` sets the default to null (but not in `optional`). An unknown keyword
raises a `TypeError`.

The keys of the dict have a fixed order, independent of the order of the arguments: `type`,
`description`, the builder's own keywords, `default`, `enum`, and then the keywords of `extra`. A
builder's own keywords are in the order of its signature; those of `object` are `properties`,
`required` and `additionalProperties`.
"""

from __future__ import annotations

from typing import Any, Dict, List, NoReturn, Optional, Sequence, Union

class _Absent:
    """Marks a default that was not given, since `default=None` means null."""


_ABSENT: Any = _Absent()


class _Optional:
    """An optional property: created by `optional`, accepted by `object`."""

    def __init__(self, schema: Dict[str, Any]) -> None:
        self.schema = schema


def string(
    *,
    description: Optional[str] = None,
    format: Optional[str] = None,
    min_length: Optional[int] = None,
    max_length: Optional[int] = None,
    pattern: Optional[str] = None,
    default: Any = _ABSENT,
    enum: Optional[Sequence[Any]] = None,
    extra: Optional[Dict[str, Any]] = None,
    **unknown: NoReturn,
) -> Dict[str, Any]:
    """A string. `format` is for example "date-time" or "uri", `pattern` a regular expression."""
    _refuse("string", unknown)
    own = {"format": format, "minLength": min_length, "maxLength": max_length, "pattern": pattern}
    return _build("string", own, description, default, enum, extra)


def integer(
    *,
    description: Optional[str] = None,
    minimum: Optional[int] = None,
    maximum: Optional[int] = None,
    default: Any = _ABSENT,
    enum: Optional[Sequence[Any]] = None,
    extra: Optional[Dict[str, Any]] = None,
    **unknown: NoReturn,
) -> Dict[str, Any]:
    """A whole number. Both bounds are inclusive."""
    _refuse("integer", unknown)
    own = {"minimum": minimum, "maximum": maximum}
    return _build("integer", own, description, default, enum, extra)


def number(
    *,
    description: Optional[str] = None,
    minimum: Optional[float] = None,
    maximum: Optional[float] = None,
    default: Any = _ABSENT,
    enum: Optional[Sequence[Any]] = None,
    extra: Optional[Dict[str, Any]] = None,
    **unknown: NoReturn,
) -> Dict[str, Any]:
    """Any number. Both bounds are inclusive."""
    _refuse("number", unknown)
    own = {"minimum": minimum, "maximum": maximum}
    return _build("number", own, description, default, enum, extra)


def boolean(
    *,
    description: Optional[str] = None,
    default: Any = _ABSENT,
    enum: Optional[Sequence[Any]] = None,
    extra: Optional[Dict[str, Any]] = None,
    **unknown: NoReturn,
) -> Dict[str, Any]:
    """True or false."""
    _refuse("boolean", unknown)
    return _build("boolean", {}, description, default, enum, extra)


def null(
    *,
    description: Optional[str] = None,
    default: Any = _ABSENT,
    enum: Optional[Sequence[Any]] = None,
    extra: Optional[Dict[str, Any]] = None,
    **unknown: NoReturn,
) -> Dict[str, Any]:
    """Only null, for methods that return nothing."""
    _refuse("null", unknown)
    return _build("null", {}, description, default, enum, extra)


def array(
    items: Dict[str, Any],
    *,
    description: Optional[str] = None,
    min_items: Optional[int] = None,
    max_items: Optional[int] = None,
    default: Any = _ABSENT,
    enum: Optional[Sequence[Any]] = None,
    extra: Optional[Dict[str, Any]] = None,
    **unknown: NoReturn,
) -> Dict[str, Any]:
    """A list in which every element matches the schema `items`."""
    _refuse("array", unknown)
    _check_schema("array() items", items)
    own = {"items": items, "minItems": min_items, "maxItems": max_items}
    return _build("array", own, description, default, enum, extra)


def object(
    *,
    additional_properties: Union[bool, Dict[str, Any], None] = None,
    default: Any = _ABSENT,
    extra: Optional[Dict[str, Any]] = None,
    **properties: Any,
) -> Dict[str, Any]:
    """An object with these properties, each required unless it is wrapped in `optional`.

    Other properties are refused, unless `additional_properties` is true or a schema for them.
    `description` and `enum` are keywords here too. But if the value of one of them is a schema, it
    is a property of that name. An object with a property named `default`, `extra` or
    `additional_properties` needs a schema written by hand.
    """
    description = _take_keyword(properties, "description")
    enum = _take_keyword(properties, "enum")
    schemas: Dict[str, Any] = {}
    required: List[str] = []
    for name, schema in properties.items():
        if isinstance(schema, _Optional):
            schemas[name] = schema.schema
        else:
            _check_schema(f"object() property '{name}'", schema)
            schemas[name] = schema
            required.append(name)
    own: Dict[str, Any] = {"properties": schemas, "required": sorted(required) or None}
    if additional_properties is None:
        # `additional_properties` was not given, so `extra` may set it.
        extra_says = isinstance(extra, dict) and "additionalProperties" in extra
        own["additionalProperties"] = None if extra_says else False
    else:
        if not isinstance(additional_properties, bool):
            _check_schema("object() additional_properties", additional_properties)
        own["additionalProperties"] = additional_properties
    return _build("object", own, description, default, enum, extra)


def optional(
    schema: Dict[str, Any],
    default: Any = None,
    *,
    description: Optional[str] = None,
    enum: Optional[Sequence[Any]] = None,
    extra: Optional[Dict[str, Any]] = None,
    **unknown: NoReturn,
) -> Any:
    """An optional property of `object`, with its default value if `default` is given.

    `None` means no default here (spec 2.1). For a property that is null by default, write
    `optional(s.null(default=None))`. The other keywords are added to the wrapped schema.
    """
    _refuse("optional", unknown)
    _check_schema("optional() schema", schema)
    given = _ABSENT if default is None else default
    said = {"description": description, "default": given, "enum": enum}
    return _Optional(_merge("optional", schema, said, extra))


def _build(
    kind: str,
    own: Dict[str, Any],
    description: Any,
    default: Any,
    enum: Any,
    extra: Any,
) -> Dict[str, Any]:
    """The schema of a builder. `kind` is the name of the builder and of its type."""
    said: Dict[str, Any] = {"description": description}
    said.update(own)
    said["default"] = default
    said["enum"] = enum
    return _merge(kind, {"type": kind}, said, extra)


def _merge(
    builder: str, base: Dict[str, Any], said: Dict[str, Any], extra: Any
) -> Dict[str, Any]:
    """`base` with the given keywords, then the keywords of `extra` that are not set yet."""
    description = said["description"]
    if description is not None and not isinstance(description, str):
        raise TypeError(f"{builder}() description must be a str, not {_kind(description)}")
    enum = said["enum"]
    if enum is not None and not isinstance(enum, (list, tuple)):
        raise TypeError(f"{builder}() enum must be a list, not {_kind(enum)}")
    if extra is not None and not isinstance(extra, dict):
        raise TypeError(f"{builder}() extra must be a dict, not {_kind(extra)}")
    schema = dict(base)
    for keyword, value in said.items():
        if value is not _ABSENT and (value is not None or keyword == "default"):
            schema[keyword] = list(value) if keyword == "enum" else value
    for keyword, value in (extra or {}).items():
        if keyword not in schema:
            schema[keyword] = value
    return schema


def _take_keyword(properties: Dict[str, Any], name: str) -> Any:
    """Removes the keyword `name` from the properties and returns its value.

    If the value is a schema, it is a property: it stays, and the result is `None`.
    """
    value = properties.get(name)
    if isinstance(value, (dict, _Optional)):
        return None
    return properties.pop(name, None)


def _check_schema(where: str, schema: Any) -> None:
    if isinstance(schema, _Optional):
        raise TypeError(f"{where} cannot be optional(): only a property given to object() can")
    if not isinstance(schema, dict):
        raise TypeError(f"{where} must be a schema, not {_kind(schema)}")


def _refuse(builder: str, unknown: Dict[str, Any]) -> None:
    for name in unknown:
        raise TypeError(f"{builder}() got an unexpected keyword argument '{name}'")


def _kind(value: Any) -> str:
    return type(value).__name__
