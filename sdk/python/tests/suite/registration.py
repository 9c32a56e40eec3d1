"""Prints the registrations that calls of `Server` build, and the errors of invalid calls."""

import json

from svc.methods import Server
from svc.methods import schema as s


def show(name, server):
    print(json.dumps([name, server.to_dict()]))


show("least", Server("python3"))
show("defaults said", Server("x", type="stdio", timeout=30, args=[], mode="concurrent", env={}))
show(
    "everything",
    Server("x", timeout=5, args=("a", "b"), mode="serial", env={"A": "1", "B": ""}),
)
show("max_in_flight", Server("x", max_in_flight=4))
show("max_in_flight serial", Server("x", mode="serial", max_in_flight=1))
show("max_in_flight absent", Server("x", max_in_flight=None))
show("trace", Server("x", trace=True))
show("trace off", Server("x", trace=False))

server = Server("svc", args=["run-script", "--json-rpc", "setup.py"])
server.method("a.b", description="least")
server.method("a.c", "c", "by position", ["k"], "shared", ["ops"], True, s.object(), s.null())
server.method(
    event_sinks=["slack"],
    event_overflow="hold",
    events=["space.*", "custom.build.*"],
    result=s.string(),
    params=s.object(query=s.string(min_length=1), limit=s.optional(s.integer(), default=10)),
    mcp_tool=True,
    groups=["ops", "dev"],
    scope="shared",
    keywords=("one", "two"),
    description="by keyword",
    local_name="d",
    name="{{space}}.d",
)
server.method(
    "a.f",
    description="hints",
    title="Add",
    annotations={"read_only": False, "open_world": True},
    journal="payloads",
    journal_redact=("/password", "/cards/*/number"),
)
server.method(
    "a.e",
    local_name=None,
    description="defaults said",
    keywords=[],
    scope="private",
    groups=None,
    mcp_tool=False,
    params=None,
    result=None,
    events=[],
    event_sinks=None,
    event_overflow="drop",
    title=None,
    annotations={},
    journal="outcome",
    journal_redact=[],
)
show("methods", server)

# Later changes of the arguments do not change the registration.
params = s.object(a=s.string())
words = ["k"]
server = Server("x", args=words)
server.method("a", description="d", keywords=words, params=params)
words.append("later")
params["properties"]["a"]["type"] = "null"
server.to_dict()["methods"].append("a copy")
show("kept", server)

ATTEMPTS = [
    ("command", lambda: Server(1)),
    ("timeout text", lambda: Server("x", timeout="30")),
    ("timeout float", lambda: Server("x", timeout=1.5)),
    ("timeout bool", lambda: Server("x", timeout=True)),
    ("args text", lambda: Server("x", args="a b")),
    ("args number", lambda: Server("x", args=["a", 1])),
    ("mode", lambda: Server("x", mode=None)),
    ("mode word", lambda: Server("x", mode="parallel")),
    ("type", lambda: Server("x", type=1)),
    ("type word", lambda: Server("x", type="tcp")),
    ("env list", lambda: Server("x", env=["A=1"])),
    ("env number", lambda: Server("x", env={"A": 1})),
    ("env name", lambda: Server("x", env={1: "A"})),
    ("max_in_flight text", lambda: Server("x", max_in_flight="4")),
    ("max_in_flight bool", lambda: Server("x", max_in_flight=True)),
    ("max_in_flight zero", lambda: Server("x", max_in_flight=0)),
    ("max_in_flight serial", lambda: Server("x", mode="serial", max_in_flight=2)),
    ("trace text", lambda: Server("x", trace="yes")),
    ("server keyword", lambda: Server("x", cwd="/")),
    ("method keyword", lambda: server.method("x", description="d", parameters={})),
    ("no description", lambda: server.method("x")),
    ("name", lambda: server.method(None, description="d")),
    ("local_name", lambda: server.method("x", 1, "d")),
    ("description", lambda: server.method("x", "x", 1)),
    ("keywords text", lambda: server.method("x", description="d", keywords="k")),
    ("keywords numbers", lambda: server.method("x", description="d", keywords=[1])),
    ("scope", lambda: server.method("x", description="d", scope=["shared"])),
    ("scope word", lambda: server.method("x", description="d", scope="public")),
    ("groups", lambda: server.method("x", description="d", groups="ops")),
    ("mcp_tool", lambda: server.method("x", description="d", mcp_tool="yes")),
    ("events", lambda: server.method("x", description="d", events="space.*")),
    ("event_sinks", lambda: server.method("x", description="d", event_sinks={"a": 1})),
    ("event_overflow", lambda: server.method("x", description="d", event_overflow=None)),
    ("event_overflow word", lambda: server.method("x", "x", "d", event_overflow="keep")),
    ("journal", lambda: server.method("x", description="d", journal=True)),
    ("journal word", lambda: server.method("x", description="d", journal="all")),
    ("journal_redact", lambda: server.method("x", description="d", journal_redact="/a")),
    ("params inf", lambda: server.method("x", description="d", params={"maximum": float("inf")})),
    ("result nan", lambda: server.method("x", description="d", result={"enum": [float("nan")]})),
    ("title", lambda: server.method("x", description="d", title=1)),
    ("annotations list", lambda: server.method("x", description="d", annotations=["read_only"])),
    ("annotations key", lambda: server.method("x", description="d", annotations={"safe": True})),
    ("annotations value", lambda: server.method("x", "x", "d", annotations={"read_only": 1})),
    ("unregister", lambda: server.unregister(1)),
]

for name, attempt in ATTEMPTS:
    try:
        attempt()
        print(json.dumps([name, "accepted"]))
    except (TypeError, ValueError) as error:
        print(json.dumps([name, type(error).__name__, str(error)]))

show("still kept", server)
