from svc import jsonrpc

jsonrpc.method("search", "handlers.search")
jsonrpc.method("echo", "handlers.echo")
