"""Reads received requests with the official SDK of CloudEvents.

`REQUESTS` is a file with a JSON list of `{headers, body}`. For each request, this script prints one
line of JSON: the attributes and the data that the SDK found. The SDK raises an exception for an
invalid event.
"""

import json
import os

from cloudevents.core.bindings import http

for request in json.load(open(os.environ["REQUESTS"])):
    message = http.HTTPMessage(headers=request["headers"], body=request["body"].encode())
    event = http.from_http_event(message)
    attributes = {
        name: value if isinstance(value, str) else value.isoformat(timespec="milliseconds")
        for name, value in event.get_attributes().items()
    }
    print(json.dumps({"attributes": attributes, "data": event.get_data()}))
