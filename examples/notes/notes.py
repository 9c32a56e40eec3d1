"""The handlers: each takes the params as a dict and returns a JSON value.

Every request runs in a fresh evaluator, so the notes are kept in a file in the folder of the
registration, one note per line. Lines are only added, each in one write, so requests that run at the
same time do not disturb each other. The number of a note is the number of its line.
"""

import json
import os
import time

from svc import jsonrpc

FILE = "notes.jsonl"
INVALID_PARAMS = -32602


def add_note(params):
    check(params, {"text": str, "tags": list})
    text = params.get("text", "")
    tags = params.get("tags", [])
    if not text.strip():
        raise jsonrpc.error(INVALID_PARAMS, "`text` is empty", {"field": "text"})
    if not all(isinstance(tag, str) for tag in tags):
        raise jsonrpc.error(INVALID_PARAMS, "`tags` must be texts", {"field": "tags"})
    line = json.dumps({"text": text, "tags": tags, "at_ns": time.time_ns()})
    with open(FILE, "a", encoding="utf-8") as file:
        file.write(line + "\n")
    return {"id": lines().index(line) + 1, "text": text, "tags": tags}


def list_notes(params):
    check(params, {})
    return listing(read_notes())


def search_notes(params):
    check(params, {"query": str, "tags_only": bool}, required=["query"])
    word = params["query"].lower()
    found = []
    for note in read_notes():
        places = list(note["tags"])
        if not params.get("tags_only", False):
            places.append(note["text"])
        if any(word in place.lower() for place in places):
            found.append(note)
    return listing(found)


def add(params):
    check(params, {"a": (int, float), "b": (int, float)}, required=["a", "b"])
    return {"sum": params["a"] + params["b"]}


def hello(params):
    check(params, {"name": str})
    space = os.getenv("SVC_SPACE_NAME", "nowhere")
    return f"Hello {params.get('name', 'you')}, this is {space}!"


def check(params, kinds, required=()):
    """Checks the params: svc passes them on without checking them against the schema."""
    if not isinstance(params, dict):
        raise jsonrpc.error(INVALID_PARAMS, "params must be an object")
    for name in required:
        if name not in params:
            raise jsonrpc.error(INVALID_PARAMS, f"`{name}` is missing", {"field": name})
    for name, value in params.items():
        if name not in kinds:
            raise jsonrpc.error(INVALID_PARAMS, f"there is no parameter `{name}`", {"field": name})
        # To Python, True is an int.
        is_wrong_bool = isinstance(value, bool) and kinds[name] is not bool
        if is_wrong_bool or not isinstance(value, kinds[name]):
            raise jsonrpc.error(INVALID_PARAMS, f"`{name}` is of the wrong type", {"field": name})


def lines():
    if not os.path.exists(FILE):
        return []
    with open(FILE, encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line]


def read_notes():
    notes = []
    for index, line in enumerate(lines()):
        note = json.loads(line)
        notes.append({"id": index + 1, "text": note["text"], "tags": note["tags"]})
    return notes


def listing(notes):
    return {"count": len(notes), "notes": notes}
