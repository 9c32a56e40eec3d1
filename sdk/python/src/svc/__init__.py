"""The `svc` library: what a script says to the service, on any Python.

    svc.methods         publish methods from a space: `Server`
    svc.methods.schema  describe their parameters and results
    svc.jsonrpc         answer the calls
    svc.event           emit events; in a sink's script: read the event it runs for
    svc.api             list and call methods, look at spaces, as oneself

The same text runs in the engine inside the `svc` program and on CPython 3.9 or later. What only
the surroundings can do goes through `svc._host`: natively in the engine, over the agent's socket
elsewhere. Inside a space nothing needs to be configured.
"""

__version__ = "0.1.0"
