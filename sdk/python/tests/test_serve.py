"""`python3 -m svc.jsonrpc` over real pipes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Dict, List

from support import EXAMPLE, SECONDS, environment, run

HANDLERS = '''
import json, os, subprocess, sys, threading

GATE = threading.Event()


def wait(params):
    """Waits until another call, which runs at the same time, opens the gate."""
    return GATE.wait(20)


def open_gate(params):
    GATE.set()


def loud(params):
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run([sys.executable, "-c", "print('from a child'); import sys; sys.stdin.read()"])
    return sys.stdin.read()


def leave(params):
    sys.exit(3)


def infinite(params):
    return float("inf")


def module(params):
    return {"x": json}


def half(params):
    return "\\ud800"


def huge(params):
    return "x" * (16 * 1024 * 1024)


def bad_error(params):
    from svc import jsonrpc

    raise jsonrpc.error(1, "x", json)


def broken(params):
    return json.loads("{")


def trace(params):
    from svc import jsonrpc

    return jsonrpc.trace()
'''
NAMES = ["wait", "open_gate", "loud", "leave", "infinite", "module", "half", "huge", "bad_error"]
NAMES += ["broken", "trace"]
SETUP = "from svc import jsonrpc\n" + "".join(
    f"jsonrpc.method('{name}', 'handlers.{name}')\n" for name in NAMES
)


def _request(method: str, **members: Any) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **members}


class Serving:
    """A method server and its pipes."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "svc.jsonrpc", "setup.py"],
            cwd=folder,
            env=environment(SVC_SPACE_NAME="desk"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.watchdog = threading.Timer(SECONDS, self.process.kill)
        self.watchdog.start()

    def send(self, *requests: Any) -> None:
        assert self.process.stdin is not None
        for request in requests:
            line = request if isinstance(request, str) else json.dumps(request)
            self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def call(self, method: str, params: Any = None) -> Any:
        self.send({"jsonrpc": "2.0", "method": method, "params": params, "id": method})
        return self.answer()

    def end(self) -> Any:
        """Closes stdin. Returns the remaining output and the exit code."""
        out, err = self.process.communicate(timeout=SECONDS)
        return out, err, self.process.returncode

    def stop(self) -> None:
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate()


class ServingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def serve(self) -> Serving:
        serving = Serving(self.folder)
        self.addCleanup(serving.stop)
        return serving


class ReadyTest(ServingTest):
    def test_only_an_agent_gets_the_ready_notification(self) -> None:
        (self.folder / "setup.py").write_text(SETUP)
        (self.folder / "handlers.py").write_text(HANDLERS)
        serve = ["-m", "svc.jsonrpc", "setup.py"]
        done = run(serve, cwd=self.folder, SVC_AGENT_SOCKET="agent.sock")
        self.assertEqual(done.stdout, '{"jsonrpc":"2.0","method":"$/ready"}\n', done.stderr)
        self.assertEqual(run(serve, cwd=self.folder).stdout, "")
        (self.folder / "setup.py").write_text("1 / 0")
        failed = run(serve, cwd=self.folder, SVC_AGENT_SOCKET="agent.sock")
        self.assertEqual(failed.stdout, "")


class HandlersTest(ServingTest):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "setup.py").write_text(SETUP)
        (self.folder / "handlers.py").write_text(HANDLERS)

    def test_a_slow_call_does_not_delay_others(self) -> None:
        serving = self.serve()
        wait, open_gate = _request("wait", id=1), _request("open_gate", id=2)
        serving.send(wait, open_gate)
        answers = sorted((serving.answer() for _ in range(2)), key=lambda answer: answer["id"])
        self.assertEqual([answer["result"] for answer in answers], [True, None])
        self.assertEqual(serving.end()[2], 0)

    def test_stdout_holds_answers_only(self) -> None:
        serving = self.serve()
        self.assertEqual(serving.call("loud")["result"], "")
        out, err, code = serving.end()
        self.assertEqual((out, code), ("", 0))
        for said in ["printed", "written", "from a child"]:
            self.assertIn(said, err)

    def test_after_a_failed_handler_the_next_request_is_served(self) -> None:
        serving = self.serve()
        for name, message in [
            ("leave", "SystemExit: 3"),
            ("infinite", "TypeError: `handlers.infinite` returned a value that JSON cannot represent: "),
            ("module", "TypeError: `handlers.module` returned a value that JSON cannot represent: "),
            ("bad_error", "TypeError: Object of type module is not JSON serializable"),
        ]:
            error = serving.call(name)["error"]
            self.assertEqual((error["code"], error["data"]["reason"]), (-32603, "exception"))
            self.assertTrue(error["message"].startswith(message), error["message"])
        error = serving.call("huge")["error"]
        self.assertEqual(error["code"], -32603)
        limit = {"reason": "answer_too_large", "limit_bytes": 16 * 1024 * 1024}
        self.assertEqual(error["data"], limit)
        self.assertEqual(serving.call("half")["result"], "\ud800")
        self.assertEqual(serving.end()[2], 0)

    def test_an_error_names_no_path_outside_of_the_working_folder(self) -> None:
        serving = self.serve()
        error = serving.call("broken")["error"]
        line = 1 + HANDLERS.splitlines().index('    return json.loads("{")')
        expected = {"reason": "exception", "file": "handlers.py", "line": line}
        self.assertEqual(error["data"], expected)
        _, err, _ = serving.end()
        # The traceback has the whole paths.
        self.assertIn(str(self.folder / "handlers.py"), err)
        self.assertIn(json.decoder.__file__, err)

    def test_a_handler_gets_the_trace_of_its_own_request(self) -> None:
        serving = self.serve()
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        traced = {"traceparent": parent, "tracestate": "a=1"}
        for meta, expected in [
            (traced, traced),
            ({"traceparent": parent, "tracestate": "a\nb"}, {"traceparent": parent}),
            ({"tracestate": "a=1"}, {}),
            ({"traceparent": 1}, {}),
            ("x", {}),
            (None, {}),
        ]:
            serving.send(_request("trace", id=1, _meta=meta))
            self.assertEqual(serving.answer()["result"], expected)
        self.assertEqual(serving.call("trace")["result"], {})
        self.assertEqual(serving.end()[2], 0)

    def test_invalid_lines_are_refused_or_ignored(self) -> None:
        serving = self.serve()
        for line, id in [
            ("null", None),
            ("[]", None),
            ("[" + ",".join(["1"] * 1_001) + "]", None),
            ("{}", None),
            ('{"method":"leave","id":1}', 1),
            ('{"jsonrpc":"2.0","method":"leave","id":false}', None),
            ('{"jsonrpc":"2.0","method":"leave","params":"x","id":"x"}', "x"),
        ]:
            serving.send(line)
            answer = serving.answer()
            self.assertEqual((answer["error"]["code"], answer["id"]), (-32600, id), line)
            self.assertGreater(len(answer["error"]["data"]["reason"]), 10)
        serving.send("{", "", "\x00", "[" * 100_000, "x" * (16 * 1024 * 1024 + 10))
        self.assertEqual(serving.call("open_gate")["result"], None)
        serving.send(_request("missing"), _request("leave"))
        out, err, code = serving.end()
        self.assertEqual((out, code), ("", 0))
        self.assertIn("a line of more than 16777216 bytes is ignored", err)
        self.assertIn("notification `missing` failed: Method not found", err)

    def test_an_error_at_the_start_ends_the_process(self) -> None:
        for text, words in [
            ("from svc import jsonrpc\njsonrpc.method('a', 'handlers.missing')", "no function"),
            ("from svc import jsonrpc\njsonrpc.method('a', 'nowhere.x')", "No module named"),
            ("pass", "nothing is routed"),
            ("raise ValueError('setup')", "ValueError: setup"),
        ]:
            (self.folder / "setup.py").write_text(text)
            done = run(["-m", "svc.jsonrpc", "setup.py"], cwd=self.folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")
        for arguments in [[], ["missing.py"], ["--help"], ["a", "b"]]:
            done = run(["-m", "svc.jsonrpc", *arguments], cwd=self.folder)
            self.assertEqual(done.returncode, 2, arguments)

    def test_a_script_may_route_and_serve_by_itself(self) -> None:
        text = (
            "from svc import jsonrpc\n"
            "def double(params):\n    return params['n'] * 2\n"
            "jsonrpc.method('double', '__main__.double')\n"
            "jsonrpc.serve()\n"
            "print('after')\n"
        )
        (self.folder / "own.py").write_text(text)
        request = '{"jsonrpc":"2.0","method":"double","params":{"n":4},"id":1}\n'
        done = run(["own.py"], cwd=self.folder, input=request)
        self.assertEqual(done.stdout, '{"jsonrpc":"2.0","result":8,"id":1}\n')
        self.assertEqual(done.stderr, "after\n")


class ExampleTest(ServingTest):
    """`examples/notes` on CPython."""

    def setUp(self) -> None:
        super().setUp()
        shutil.copytree(EXAMPLE, self.folder, dirs_exist_ok=True)

    def test_notes_are_kept_and_found(self) -> None:
        serving = self.serve()
        note = {"id": 1, "text": "Buy milk", "tags": ["home"]}
        params = {"text": "Buy milk", "tags": ["home"]}
        self.assertEqual(serving.call("add_note", params)["result"], note)
        self.assertEqual(serving.call("add_note", {"text": "ünï\u2028"})["result"]["id"], 2)
        self.assertEqual(serving.call("hello")["result"], "Hello you, this is desk!")
        self.assertEqual(serving.call("add", {"a": 2**70, "b": 1})["result"]["sum"], 2**70 + 1)
        self.assertEqual(serving.end()[2], 0)

        again = self.serve()
        self.assertEqual(again.call("list_notes")["result"]["count"], 2)
        found = {"count": 1, "notes": [note]}
        self.assertEqual(again.call("search_notes", {"query": "MILK"})["result"], found)
        tags = {"query": "milk", "tags_only": True}
        self.assertEqual(again.call("search_notes", tags)["result"]["count"], 0)
        self.assertEqual(again.end()[2], 0)

    def test_wrong_params_are_refused(self) -> None:
        serving = self.serve()
        rows: List[Any] = [
            ("add_note", {"text": " "}, "text"),
            ("add_note", {}, "text"),
            ("add_note", {"text": "a", "tags": [1]}, "tags"),
            ("add_note", {"text": "a", "colour": "red"}, "colour"),
            ("list_notes", {"x": 1}, "x"),
            ("search_notes", {}, "query"),
            ("add", {"a": "1", "b": 1}, "a"),
            ("add", {"a": True, "b": 1}, "a"),
            ("hello", {"name": 1}, "name"),
        ]
        for name, params, field in rows:
            error = serving.call(name, params)["error"]
            self.assertEqual((error["code"], error["data"]), (-32602, {"field": field}), error)
        self.assertEqual(serving.call("add", [1, 2])["error"]["code"], -32602)
        self.assertEqual(serving.end()[2], 0)

    def test_notes_written_at_the_same_time_get_different_ids(self) -> None:
        servings = [self.serve(), self.serve()]
        count = 40
        for serving in servings:
            params: Dict[str, Any] = {"text": "the same"}
            serving.send(*(_request("add_note", params=params, id=n) for n in range(count)))
        ids = [serving.answer()["result"]["id"] for serving in servings for _ in range(count)]
        self.assertEqual(sorted(ids), list(range(1, 2 * count + 1)))
        for serving in servings:
            self.assertEqual(serving.end()[2], 0)


if __name__ == "__main__":
    unittest.main()
