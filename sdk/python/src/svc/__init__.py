"""The `svc` library for scripts, on any Python.

    svc.methods         publish methods from a space: `Server`
    svc.methods.schema  describe their parameters and results
    svc.jsonrpc         answer calls
    svc.event           emit events; in a sink's script: read the event
    svc.api             list and call methods, read spaces, as the current user

The same source runs in the engine inside the `svc` program and on CPython 3.9 or later. Only
`svc._host` differs. In the engine, `svc` itself performs the operations. On CPython, they are
requests to the agent of the space or, outside a space, to the server. Inside a space, nothing needs
to be configured.
"""

__version__ = "0.2.0"
