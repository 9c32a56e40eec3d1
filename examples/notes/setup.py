"""Which handler answers which local name; runs once, before the first request.

    svc run-script --json-rpc setup.py     with nothing installed
    python3 -m svc.jsonrpc setup.py        on a Python of your own
"""

from svc import jsonrpc

jsonrpc.method("add_note", "notes.add_note")
jsonrpc.method("list_notes", "notes.list_notes")
jsonrpc.method("search_notes", "notes.search_notes")
jsonrpc.method("add", "notes.add")
jsonrpc.method("hello", "notes.hello")
