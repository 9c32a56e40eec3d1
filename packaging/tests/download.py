"""How install.sh downloads: with curl and with GNU wget, only over TLS, also after a redirection."""

import functools
import http.server
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from tests.case import Case

SHELLS = ("dash", "bash")
CLIENTS = ("curl", "wget")
# Everything else that install.sh runs. A folder with these programs and one client is the whole PATH.
TOOLS = "chmod cp cut gzip mkdir mktemp mv rm sed sha256sum tail tar tr uname".split()


def check(case: Case, script: Path, folder: Path) -> None:
    """Installs from a server with TLS on this machine, and from servers that redirect to another one."""
    key, certificate = _certificate(case)
    requests: list[str] = []
    plain = _serve(_answers(folder, requests, None))
    secure = _serve(_answers(folder, None, None), key, certificate)
    address = {
        "secure": f"https://localhost:{secure}",
        "plain": f"http://localhost:{plain}",
    }
    for name, target in (("to-tls", address["secure"]), ("to-plain", address["plain"])):
        port = _serve(_answers(folder, None, lambda path, target=target: target + path), key, certificate)
        address[name] = f"https://localhost:{port}"
    endless = _serve(_answers(folder, None, lambda path: path), key, certificate)
    address["endless"] = f"https://localhost:{endless}"
    relative = address["to-tls"].removeprefix("https://")
    refused = {
        address["to-plain"]: "",
        address["endless"]: "",
        address["plain"]: "is not an https address",
        f"http://127.0.0.1:x@localhost:{plain}": "is not an https address",
        f"http://127.0.0.1:1@localhost:{plain}/": "is not an https address",
        f"http://127.0.0.1:{plain}\\@localhost": "is not an https address",
        f"https://user@{relative}": "is not an https address",
        f"https://{{localhost:{secure},localhost:{plain}}}": "is not an https address",
        f"{address['secure']}/?": "has a query",
        f"HTTPS://localhost:{secure}": "is not an https address",
    }
    for shell in filter(shutil.which, SHELLS):
        for client in filter(shutil.which, CLIENTS):
            what = f"{client} in {shell}"
            run = functools.partial(_run, case, script, shell, client, certificate)
            for name in ("secure", "to-tls"):
                code, said, home = run(address[name])
                case.expect(code == 0 and (home / ".local/bin/svc").exists(), f"{what}: it installs, {name}: {said}")
            for source, message in refused.items():
                code, said, home = run(source)
                case.expect(
                    code == 1 and message in said and not (home / ".local").exists(),
                    f"{what}: it refuses {source}: {message or 'a redirection'}",
                )
    case.expect(not requests, f"no request was sent in clear text: {requests}")


def _run(case: Case, script: Path, shell: str, client: str, certificate: Path, source: str) -> tuple[int, str, Path]:
    _run.count = getattr(_run, "count", 0) + 1
    env = case.empty_home(f"download{_run.count}")
    home = Path(env["HOME"])
    # The certificate of the test is trusted by this user only.
    (home / ".wgetrc").write_text(f"ca_certificate = {certificate}\n")
    env |= {"CURL_CA_BUNDLE": str(certificate), "PATH": str(_path(case, shell, client))}
    command = [shutil.which(shell), str(script), "--from", source]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    return result.returncode, result.stderr, home


def _path(case: Case, shell: str, client: str) -> Path:
    folder = case.work / f"path-{shell}-{client}"
    if not folder.exists():
        folder.mkdir()
        for tool in [*TOOLS, client]:
            (folder / tool).symlink_to(shutil.which(tool))
    return folder


def _certificate(case: Case) -> tuple[Path, Path]:
    key, certificate = case.work / "key.pem", case.work / "certificate.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", certificate]
    case.run("openssl", "req", *made, *names)
    return key, certificate


def _answers(folder: Path, requests: list[str] | None, redirect: Callable[[str], str] | None) -> type:
    class Answers(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=os.fspath(folder))

        def do_GET(self) -> None:
            if requests is not None:
                requests.append(self.path)
            if redirect is None:
                super().do_GET()
                return
            self.send_response(302)
            self.send_header("Location", redirect(self.path))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Answers


def _serve(handler: type, key: Path | None = None, certificate: Path | None = None) -> int:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if key and certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
