"""The measured handlers: one does some work, the other does none."""

import json
import re

NOTES = [{"id": i, "title": f"note {i}", "tags": ["a", "b"] if i % 2 else ["c"]} for i in range(20)]


def search(params):
    found = []
    for note in NOTES:
        if re.search(params["query"], note["title"]):
            found.append({"title": note["title"].upper(), "tags": sorted(note["tags"])})
    return {"results": found[: params.get("limit", 10)], "echo": json.loads(json.dumps(params))}


def echo(params):
    return params
