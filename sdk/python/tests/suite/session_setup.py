"""A method server for the suite.

The tests send it `session.requests.jsonl` and expect `session.answers.jsonl`.
"""

from svc import jsonrpc

for name in [
    "price",
    "search",
    "echo",
    "nothing",
    "big",
    "text",
    "tuples",
    "bare_error",
    "returned_error",
    "caught_error",
    "value_error",
    "no_message",
    "key_error",
    "divide",
    "not_json",
    "infinite",
    "bad_error_data",
    "prints",
    "steps",
]:
    jsonrpc.method(name, f"shop.{name}")

# The last route of a name replaces the earlier ones.
jsonrpc.method("again", "shop.nothing")
jsonrpc.method("again", "shop.big")
print("setup prints to the log too")
