"""An agent and a server that record their requests and return prepared answers."""

from __future__ import annotations

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any, List, Tuple


class Answering(BaseHTTPRequestHandler):
    """Records each request and returns the next prepared answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        listener: Any = self.server
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        listener.requests.append((self.command, self.path, json.loads(body) if body else None))
        listener.tokens.append(self.headers.get("Authorization"))
        listener.traces.append((self.headers.get("traceparent"), self.headers.get("tracestate")))
        status, kind, answer = listener.answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_DELETE = do_GET

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            pass  # The client has disconnected.

    def address_string(self) -> str:
        return "a test"

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class Talking:
    requests: List[Tuple[str, str, Any]]
    answers: List[Tuple[int, str, bytes]]
    tokens: List[Any]
    traces: List[Tuple[Any, Any]]

    def prepare(self, status: int, body: Any, kind: str = "application/json") -> None:
        answer = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers.append((status, kind, answer))

    def begin(self) -> None:
        self.requests, self.answers, self.tokens, self.traces = [], [], [], []
        serve: Any = self
        self.thread = threading.Thread(target=serve.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def end(self) -> None:
        serve: Any = self
        serve.shutdown()
        serve.server_close()
        self.thread.join()


class Agent(Talking, socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class FarServer(Talking, socketserver.ThreadingTCPServer):
    daemon_threads = True
