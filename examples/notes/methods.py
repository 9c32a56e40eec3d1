"""The registration of this space in Python; `methods.toml` is the same registration in TOML.

    svc methods validate methods.py     only check it
    svc methods register methods.py     publish it; replaces what the space published before
"""

from svc.methods import Server
from svc.methods import schema as s

server = Server("svc", args=["run-script", "--json-rpc", "setup.py"], timeout=10)

# A schema is a plain dict: made by the builders, written by hand, or both.
note = s.object(id=s.integer(minimum=1), text=s.string(), tags=s.array(s.string()))
notes = s.object(count=s.integer(), notes=s.array({"type": "object"}))

# Private, the default: only you see it, under this name. As an MCP tool it is `notes_add`.
server.method(
    name="notes.add",
    local_name="add_note",  # what setup.py routes to a handler
    description="Keep a note; it stays in the space's folder",
    keywords=["note", "write", "remember"],
    title="Add a note",
    mcp_tool=True,
    annotations={
        "read_only": False,
        "destructive": False,
        "idempotent": False,
        "open_world": False,
    },
    params=s.object(
        text=s.string(min_length=1, description="What to remember"),
        tags=s.optional(
            s.array(s.string(), max_items=20, description="Words to find it by"), default=[]
        ),
    ),
    result=note,
)

server.method(
    name="notes.list",
    local_name="list_notes",
    description="All notes, oldest first",
    keywords=["note", "read"],
    params=s.object(),
    result=notes,
)

# Shared: others call it as `user.<your name>.notes.search`.
server.method(
    name="notes.search",
    local_name="search_notes",
    description="Find notes by a word in their text or tags",
    keywords=["note", "find", "search"],
    scope="shared",
    title="Search notes",
    mcp_tool=True,
    annotations={"read_only": True, "open_world": False},
    params=s.object(
        query=s.string(description="Upper and lower case are the same"),
        tags_only=s.optional(
            s.boolean(description="Look at tags, not at the text"), default=False
        ),
    ),
    result=notes,
)

server.method(
    name="math.add",
    local_name="add",
    description="The sum of two numbers; integers of any size stay exact",
    keywords=["sum", "plus"],
    params=s.object(a=s.number(), b=s.number()),
    result=s.object(sum=s.number()),
)

# `{{space}}` becomes the name of the space, so every space has its own method.
server.method(
    name="{{space}}.hello",
    local_name="hello",
    description="A greeting from this very space",
    keywords=["greeting"],
    params=s.object(name=s.optional(s.string(description="Whom to greet"))),
    result=s.string(),
)

server.register()
