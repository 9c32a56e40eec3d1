"""Decodes exported traces with the official Protobuf messages of OpenTelemetry.

Each file of the folder `OTLP_FOLDER` is the body of one request. For each span, this script prints
one line of JSON.
"""

import json
import os
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


def values(attributes):
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes
    }


def check_known(message):
    """Fails if the message has a field that the official definition does not have."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    assert known.SerializeToString() == message.SerializeToString(), message


for path in sorted(Path(os.environ["OTLP_FOLDER"]).iterdir()):
    request = ExportTraceServiceRequest.FromString(path.read_bytes())
    check_known(request)
    for resource_spans in request.resource_spans:
        resource = values(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                shown = {
                    "service": resource["service.name"],
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "state": span.trace_state,
                    "name": span.name,
                    "kind": Span.SpanKind.Name(span.kind),
                    "start": span.start_time_unix_nano,
                    "end": span.end_time_unix_nano,
                    "attributes": values(span.attributes),
                    "status": Status.StatusCode.Name(span.status.code),
                    "remote": bool(span.flags & 0x200),
                }
                print(json.dumps(shown))
