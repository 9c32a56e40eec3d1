"""The service's API from inside a space, without any configuration."""

import json
import os

from svc import api

me = api.me()
space = api.get_space(os.environ["SVC_SPACE_NAME"])
print(json.dumps([space["owner"] == me["username"], space["state"]]))
print(json.dumps(api.get_space(space["id"]) == space))
print(json.dumps(space["name"] in [other["name"] for other in api.list_spaces()]))
print(json.dumps(api.call_response("suite.nowhere", {"a": 1})))

for name, attempt in [
    ("call", lambda: api.call("suite.nowhere")),
    ("no such space", lambda: api.get_space("nowhere")),
    ("no such id", lambda: api.get_space("00000000-0000-0000-0000-000000000000")),
    ("not an agent's", lambda: api.request("GET", "/api/tokens")),
    ("no such route", lambda: api.request("GET", "/api/nothing/at%20all?x=%C3%BC")),
]:
    try:
        print(json.dumps([name, attempt()]))
    except RuntimeError as error:
        print(json.dumps([name, "RuntimeError", str(error)]))
