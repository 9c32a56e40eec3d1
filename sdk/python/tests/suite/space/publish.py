"""Registers, unregisters one method, registers again, unregisters all; runs in a space."""

import json

from svc import api
from svc.methods import Server
from svc.methods import schema as s


def published():
    return [method["name"] for method in api.list_methods()]


server = Server("cat")
server.method("suite.one", "one", "The first", params=s.object(a=s.string()))
server.method("suite.two", "two", "The second")
server.method("{{space}}.suite.three", description="The third", events=["custom.never"])
print(json.dumps(server.register()))
print(json.dumps(published()))

print(json.dumps(server.unregister("one")))
print(json.dumps(published()))

# An unregistered method is not registered again.
print(json.dumps(server.register()))
print(json.dumps([method["name"] for method in server.to_dict()["methods"]]))

# A refusal changes nothing.
server.method("suite.two", "again", "A name for the second time")
try:
    server.register()
except RuntimeError as error:
    print(json.dumps(["refused", "suite.two" in str(error)]))
print(json.dumps(published()))

print(json.dumps(server.unregister()))
print(json.dumps([published(), server.to_dict()["methods"]]))
