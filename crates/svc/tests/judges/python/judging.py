"""The checks for every Python client. A client is a set of functions, one per operation. The
result is one line of JSON on stdout; any deviation ends the script with an error."""

import json
import os

URL = os.environ["MCP_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
# The program `svc`, if the client connects through `svc mcp stdio` (the bridge).
BRIDGE = os.environ.get("MCP_STDIO")
BRIDGE_ENV = {
    "HOME": os.environ["HOME"],
    "SVC_URL": URL.removesuffix("/mcp"),
    "SVC_TOKEN": os.environ["MCP_TOKEN"],
}
# A request that takes longer counts as hung. Long, because the machine may be busy.
LIMIT_SECONDS = 120

ARGUMENTS = {"text": "Grüße \U0001f980", "more": [1, -2]}
SIMPLE_TEXT = [{"type": "text", "text": "This is a simple text response for testing."}]


def expect(value, expected, what):
    if value != expected:
        raise SystemExit(f"{what}: expected {expected!r}, got {value!r}")


def as_json(model):
    """A model of the client library as JSON, in the form that was received."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def names(tools):
    return {tool["name"] for tool in tools}


async def judge(protocol, list_tools, call, code_of_call, change):
    """`change(trigger)` calls `trigger` and waits for the notification that the list of tools has
    changed. `change` is `None` if the client gets no notifications."""
    tools = await list_tools()

    echo = await call("echo", ARGUMENTS)
    expect(echo.get("isError", False), False, "echo")
    expect(echo["structuredContent"], ARGUMENTS, "echo, structured")
    expect(json.loads(echo["content"][0]["text"]), ARGUMENTS, "echo, as text")

    simple = await call("test_simple_text", {})
    expect(simple["content"], SIMPLE_TEXT, "test_simple_text")

    failed = await call("test_error_handling", {})
    expect(failed["isError"], True, "test_error_handling")
    expect("intentionally" in failed["content"][0]["text"], True, "the error's message")

    expect(await code_of_call("no_such_tool", {}), -32602, "an unknown tool")

    if change is not None:
        await change(lambda: call("test_trigger_tool_change", {}))
        changed = names(await list_tools()) ^ names(tools)
        expect(changed, {"changing"}, "the list after a change")

    seen = {"protocol": protocol, "tools": tools, "list_changed": change is not None}
    print(json.dumps(seen), flush=True)
