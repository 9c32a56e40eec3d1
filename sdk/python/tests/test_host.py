"""Tests `svc._host` on CPython with an agent and a server that listen on real sockets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, List, Tuple
from unittest import mock

from listeners import Agent, Answering, FarServer
from support import run

import svc._host as host
from svc import api, event
from svc.methods import Server

PROBLEM = "application/problem+json"


class HostTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.folder)
        self.cwd = os.getcwd()
        self.addCleanup(os.chdir, self.cwd)
        os.chdir(self.folder)
        restore = mock.patch.dict(os.environ)
        restore.start()
        self.addCleanup(restore.stop)
        for name in list(os.environ):
            if name.startswith("SVC_") or name in ("TRACEPARENT", "TRACESTATE"):
                os.environ.pop(name)

    def agent(self, by: str = "environment") -> Agent:
        path = str(self.folder / "agent.sock")
        agent = Agent(path, Answering)
        agent.begin()
        self.addCleanup(agent.end)
        if by == "environment":
            os.environ["SVC_AGENT_SOCKET"] = path
        else:
            self.leave_file(self.folder, path)
        return agent

    def leave_file(self, folder: Path, socket: str) -> None:
        (folder / ".svc").mkdir(parents=True)
        text = json.dumps({"pid": 1, "agent_socket": socket})
        (folder / ".svc" / "agent.json").write_text(text)

    def refused(self, words: str) -> Any:
        return self.assertRaisesRegex(RuntimeError, words)


class AgentTest(HostTest):
    def test_a_registration_goes_to_the_agent_with_the_scripts_path(self) -> None:
        agent = self.agent()
        agent.prepare(200, {"methods": ["a.b"], "warnings": ["mind the gap"]})
        script = self.folder / "methods.py"
        script.write_text(
            "from svc.methods import Server\n"
            "server = Server('cat', args=['-u'])\n"
            "server.method('a.b', 'b', 'B')\n"
            "print(server.register()['methods'])\n"
        )
        done = run(["methods.py"], cwd=self.folder, SVC_AGENT_SOCKET="agent.sock")
        self.assertEqual((done.stdout, done.stderr), ("['a.b']\n", "warning: mind the gap\n"))
        method = {"name": "a.b", "local_name": "b", "description": "B"}
        registration = {"server": {"command": "cat", "args": ["-u"]}, "methods": [method]}
        body = {"path": str(script), "registration": registration}
        self.assertEqual(agent.requests, [("POST", "/registration", body)])

    def test_requests_continue_the_trace_of_the_handled_request_or_of_the_environment(self) -> None:
        agent = self.agent()
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        for _ in range(3):
            agent.prepare(200, {"event_id": "e", "event_type": "custom.x"})
        event.emit("x")
        os.environ["TRACEPARENT"] = parent
        event.emit("x")
        reset = host.trace.set({"traceparent": parent[:-2] + "00", "tracestate": "a=1"})
        self.addCleanup(host.trace.reset, reset)
        event.emit("x")
        expected = [(None, None), (parent, None), (parent[:-2] + "00", "a=1")]
        self.assertEqual(agent.traces, expected)

    def test_a_discovery_file_that_another_user_can_write_is_ignored(self) -> None:
        agent = self.agent(by="file")
        agent.prepare(200, {"methods": [], "warnings": []})
        server = Server("cat")
        server.method("a", "a", "A")
        server.register()
        (self.folder / ".svc").chmod(0o777)
        with self.refused("no agent was found"):
            server.register()
        self.assertEqual(len(agent.requests), 1)

    def test_nothing_is_sent_to_a_socket_of_another_user(self) -> None:
        agent = self.agent()
        words = f"^cannot reach the agent at `.*`: user id {os.geteuid()} listens on this socket, and you are 54321"
        with mock.patch("os.geteuid", return_value=54_321):
            if os.getuid() == 0:
                # Every user trusts root, so a listener of a third user is needed.
                words = "^cannot reach the agent at `.*`: user id 54322 listens on this socket, and you are 54321"
                os.environ["SVC_AGENT_SOCKET"] = self.socket_of(54_322)
            with self.refused(words):
                event.emit("x")
        self.assertEqual(agent.requests, [])

    def socket_of(self, user: int) -> str:
        """A socket on which a process of this user listens. Only root can start such a process."""
        path = str(self.folder / "foreign.sock")
        self.folder.chmod(0o777)
        code = (
            "import os, socket, sys\n"
            f"os.setuid({user})\n"
            "listener = socket.socket(socket.AF_UNIX)\n"
            f"listener.bind({path!r})\n"
            "listener.listen()\n"
            "print('listens', flush=True)\n"
            "sys.stdin.read()\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), "listens\n")
        return path

    def test_a_refusal_is_raised_with_its_text(self) -> None:
        agent = self.agent()
        problem = {"detail": "group `ops` does not exist", "code": "unknown_group"}
        agent.prepare(422, problem, PROBLEM)
        server = Server("cat")
        server.method("a", "a", "A")
        with self.refused("^group `ops` does not exist$"):
            server.register()

    def test_unregister_removes_one_or_all_methods(self) -> None:
        agent = self.agent()
        server = Server("cat")
        server.method("a", "x y", "A")
        server.method("b", "x y", "B")
        server.method("{{space}}.c.{{space}}", description="C", events=["*"])
        server.method("d", description="D", events=["*"])
        server.method("e", "e", "E")

        def names() -> List[str]:
            return [method["name"] for method in server.to_dict()["methods"]]

        for local_name, left in [
            ("x y", ["{{space}}.c.{{space}}", "d", "e"]),
            ("desk.c.other", ["{{space}}.c.{{space}}", "d", "e"]),
            ("desk.c.desk", ["d", "e"]),
            ("d", ["e"]),
            (None, []),
        ]:
            agent.prepare(200, {"removed": [], "remaining": []})
            server.unregister(local_name)
            self.assertEqual(names(), left)
        self.assertEqual(agent.requests[0], ("DELETE", "/registration?local_name=x%20y", None))
        self.assertEqual(agent.requests[-1], ("DELETE", "/registration", None))

    def test_a_failed_unregister_keeps_the_methods(self) -> None:
        self.agent().prepare(404, {"detail": "no method `a`", "code": "x"}, PROBLEM)
        server = Server("cat")
        server.method("a", "a", "A")
        with self.refused("no method `a`"):
            server.unregister("a")
        self.assertEqual(len(server.to_dict()["methods"]), 1)

    def test_an_event_goes_through_the_agent(self) -> None:
        agent = self.agent()
        for payload, sent in [({"n": 2**70}, {"n": 2**70}), (None, {})]:
            agent.prepare(202, {"event_id": "an id", "event_type": "custom.x"})
            self.assertEqual(event.emit("x", payload), "an id")
            body = {"type": "x", "payload": sent}
            self.assertEqual(agent.requests.pop(), ("POST", "/event", body))

    def test_the_api_goes_through_the_agent_without_a_token(self) -> None:
        agent = self.agent()
        os.environ["SVC_URL"], os.environ["SVC_TOKEN"] = "http://127.0.0.1:9", "svc_pat_x"
        agent.prepare(200, {"count": 0, "methods": []})
        self.assertEqual(api.list_methods(q="a b&ü", name="x.y"), [])
        path = "/api/methods?q=a%20b%26%C3%BC&name=x.y"
        self.assertEqual(agent.requests, [("GET", path, None)])
        self.assertEqual(agent.tokens, [None])

    def test_a_call_has_the_long_timeout_with_and_without_a_query(self) -> None:
        os.environ["SVC_AGENT_SOCKET"] = "agent.sock"
        for path, seconds in [
            ("/api/methods/call", host.CALL_SECONDS),
            ("/api/methods/call?trace=1", host.CALL_SECONDS),
            ("/api/methods", host.ANSWER_SECONDS),
        ]:
            answer = host._Answer(200, None)
            with mock.patch.object(host._Peer, "ask", return_value=answer) as ask:
                api.request("POST", path, {})
            self.assertEqual(ask.call_args[0][-1], seconds, path)

    def test_calls_return_results_and_raise_errors(self) -> None:
        agent = self.agent()
        agent.prepare(200, {"jsonrpc": "2.0", "result": None, "id": 1})
        self.assertIsNone(api.call("a.b"))
        agent.prepare(200, {"jsonrpc": "2.0", "result": [1], "id": 1})
        self.assertEqual(api.call("a.b", {"x": 1}), [1])
        first = {"jsonrpc": "2.0", "method": "a.b", "id": 1}
        self.assertEqual(agent.requests[0], ("POST", "/api/methods/call", first))
        self.assertEqual(agent.requests[1][2], {**first, "params": {"x": 1}})
        failed = {"jsonrpc": "2.0", "error": {"code": 404, "message": "no", "data": 1}, "id": 1}
        agent.prepare(200, failed)
        with self.refused("^`a.b` answered error 404: no$"):
            api.call("a.b")
        agent.prepare(200, failed)
        self.assertEqual(api.call_response("a.b"), failed)

    def test_spaces_are_read_page_by_page(self) -> None:
        agent = self.agent()
        spaces = [{"id": str(n), "name": name, "owner_id": n} for n, name in enumerate("aba")]

        def pages() -> None:
            agent.prepare(200, {"spaces": spaces[:2], "next_cursor": "c/1"})
            agent.prepare(200, {"spaces": spaces[2:], "next_cursor": None})

        pages()
        self.assertEqual(api.list_spaces(), spaces)
        self.assertEqual(agent.requests[1][1], "/api/spaces?cursor=c%2F1")
        pages()
        self.assertEqual(api.get_space("b"), spaces[1])
        pages()
        agent.prepare(200, {"id": 2, "username": "ann"})
        self.assertEqual(api.get_space("a"), spaces[2])
        pages()
        with self.refused("there is no space `c`"):
            api.get_space("c")
        agent.prepare(200, {"name": "x"})
        api.get_space("01890000-0000-7000-8000-000000000000")
        path = "/api/spaces/01890000-0000-7000-8000-000000000000"
        self.assertEqual(agent.requests[-1][1], path)

    def test_refusals_of_the_api_name_status_code_and_detail(self) -> None:
        agent = self.agent()
        agent.prepare(403, {"detail": "not you", "code": "permission_denied"}, PROBLEM)
        with self.refused("^GET /api/x: 403 permission_denied: not you$"):
            api.request("GET", "/api/x")
        agent.prepare(502, b"<html>bad gateway", "text/html")
        with self.refused("^GET /api/x: 502 <html>bad gateway$"):
            api.request("GET", "/api/x")
        agent.prepare(200, b"as text", "text/plain")
        self.assertEqual(api.request("GET", "/api/x"), "as text")
        agent.prepare(204, b"")
        self.assertIsNone(api.request("DELETE", "/api/x", {"a": 1}))

    def test_an_answer_over_the_limit_is_refused(self) -> None:
        self.agent().prepare(200, b'"' + b"x" * host.ANSWER_BYTES_MAX + b'"')
        with self.refused("answered more than 8388608 bytes"):
            api.request("GET", "/api/x")

    def test_the_agent_is_found_from_a_folder_below(self) -> None:
        agent = self.agent(by="file")
        # A nearer folder has the file of a crashed agent.
        below = self.folder / "a" / "b"
        self.leave_file(self.folder / "a", str(self.folder / "gone.sock"))
        below.mkdir()
        os.chdir(below)
        agent.prepare(202, {"event_id": "found"})
        self.assertEqual(event.emit("x"), "found")

    def test_an_unreachable_agent_is_reported(self) -> None:
        os.environ["SVC_AGENT_SOCKET"] = str(self.folder / "gone.sock")
        with self.refused("^cannot reach the agent at `.*gone.sock`: "):
            event.emit("x")


class OutsideTest(HostTest):
    def far_server(self) -> Tuple[FarServer, str]:
        server = FarServer(("127.0.0.1", 0), Answering)
        server.begin()
        self.addCleanup(server.end)
        return server, f"http://127.0.0.1:{server.server_address[1]}"

    def test_without_an_agent_nothing_is_published(self) -> None:
        os.environ["SVC_URL"], os.environ["SVC_TOKEN"] = "http://127.0.0.1:9", "svc_pat_x"
        server = Server("cat")
        for attempt in [server.register, server.unregister]:
            with self.refused("^svc.methods works inside a space only: no agent was found"):
                attempt()

    def test_events_and_the_api_go_to_the_server_with_the_token(self) -> None:
        server, url = self.far_server()
        os.environ["SVC_URL"] = f"{url}/under/ , http://127.0.0.1:9"
        os.environ["SVC_TOKEN"] = "svc_pat_x"
        server.prepare(202, {"event_id": "an id"})
        self.assertEqual(event.emit("x", {"a": 1}), "an id")
        server.prepare(200, {"username": "ann"})
        self.assertEqual(api.me(), {"username": "ann"})
        emitted = {"type": "x", "payload": {"a": 1}}
        expected: List[Tuple[str, str, Any]] = [
            ("POST", "/under/api/events/emit", emitted),
            ("GET", "/under/api/auth/me", None),
        ]
        self.assertEqual(server.requests, expected)
        self.assertEqual(server.tokens, ["Bearer svc_pat_x"] * 2)

    def test_without_an_agent_and_a_server_the_error_says_what_to_do(self) -> None:
        for name, attempt in [("svc.api", api.me), ("svc.event", lambda: event.emit("x"))]:
            with self.refused(f"^{name} has no server to ask: .* set SVC_URL and SVC_TOKEN$"):
                attempt()
        os.environ["SVC_URL"], os.environ["SVC_TOKEN"] = "ftp://x", "svc_pat_x"
        with self.refused("SVC_URL `ftp://x` is not an http or https address"):
            api.me()

    def test_there_is_no_event_to_read_and_no_other_operation(self) -> None:
        for operation, words in [("event", "sink scripts"), ("dance", "no operation `dance`")]:
            with self.refused(words):
                host.call(operation, None)


if __name__ == "__main__":
    unittest.main()
