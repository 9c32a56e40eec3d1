"""Signs in with Keycloak, and lets Keycloak end the session.

    python3 crates/svc/tests/judges/oidc/keycloak.py target/debug/svc

Gets Keycloak by name from Maven (160 MB, once, into target/judges/keycloak) and starts it with a realm of its own. Takes more than a minute, so it
is not part of `cargo verify`. Prints SKIPPED where `java` or `mvn` is missing; with SVC_REQUIRE_JUDGES=1 that is a failure.
"""

import html
import http.cookiejar
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

VERSION = "26.4.0"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
SECRET = "a secret of the client"
ADMIN_PASSWORD = "a long password of the admin"
START_LIMIT_S = 240


def main():
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        print(f"SKIPPED: {' and '.join(missing)} not found; install a JDK 17 or 21 and Maven")
        sys.exit(1 if os.environ.get("SVC_REQUIRE_JUDGES") == "1" else 0)
    program = Path(sys.argv[1]).resolve()
    home = install(Path("target/judges/keycloak").resolve())
    running = []
    with tempfile.TemporaryDirectory(prefix="svc-keycloak-") as folder:
        folder = Path(folder)
        try:
            judge(program, home, folder, running)
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(timeout=60)
    print("Keycloak: all steps succeeded")


def judge(program, home, folder, running):
    keycloak, svc = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    issuer = f"{keycloak}/realms/svc"
    start_keycloak(home, folder, keycloak, svc, running)
    start_svc(program, folder, svc, running)
    wait_for(f"{issuer}/.well-known/openid-configuration", "Keycloak")
    wait_for(f"{svc}/readyz", "svc")

    admin = Browser()
    admin.json("POST", f"{svc}/api/auth/login", {"username": "admin", "password": ADMIN_PASSWORD})
    admin.json("POST", f"{svc}/api/groups", {"name": "staff"})
    provider = admin.json("POST", f"{svc}/api/oidc/providers", {
        "name": "corp", "issuer": issuer, "client_id": "svc", "client_secret": SECRET, "create_users": True,
        "required_claims": {"iss": [issuer]}, "groups_claim": "realm_access.roles",
        "mappings": [{"value": "staff", "group": "staff"}],
    })
    check = admin.json("GET", f"{svc}/api/oidc/providers/{provider['id']}/check")
    print("check:", json.dumps(check))

    ann = Browser()
    page = ann.text("GET", f"{svc}/api/auth/oidc/corp/start")
    form = html.unescape(re.search(r'action="([^"]+)"', page).group(1))
    fields = urllib.parse.urlencode({"username": "ann", "password": "password of ann"}).encode()
    ann.text("POST", form, fields)
    me = ann.json("GET", f"{svc}/api/auth/me")
    assert me["username"] == "ann", me
    assert me["groups"] == ["staff"], me
    print("signed in as ann, with the group of the provider")

    end_sessions(keycloak)
    deadline = time.monotonic() + 30
    while ann.status("GET", f"{svc}/api/auth/me") != 401:
        assert time.monotonic() < deadline, "the session did not end with the one at Keycloak"
        time.sleep(0.1)
    print("Keycloak ended the session")


def install(folder):
    """The unpacked distribution."""
    home = folder / f"keycloak-{VERSION}"
    if home.exists():
        return home
    artifact = f"org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
    subprocess.run(
        ["mvn", "-q", "-B", PLUGIN, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"], check=True
    )
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:
        with zipfile.ZipFile(folder / f"keycloak-quarkus-dist-{VERSION}.zip") as archive:
            archive.extractall(unpacked)
        (Path(unpacked) / home.name).rename(home)
    (home / "bin" / "kc.sh").chmod(0o755)
    return home


def start_keycloak(home, folder, keycloak, svc, running):
    callback = f"{svc}/api/auth/oidc/corp"
    realm = {
        "realm": "svc", "enabled": True, "sslRequired": "none",
        "roles": {"realm": [{"name": "staff"}]},
        "users": [{
            "username": "ann", "enabled": True, "email": "ann@example.com", "emailVerified": True,
            "firstName": "Ann", "lastName": "Example", "realmRoles": ["staff"],
            "credentials": [{"type": "password", "value": "password of ann", "temporary": False}],
        }],
        "clients": [{
            "clientId": "svc", "secret": SECRET, "protocol": "openid-connect", "publicClient": False,
            "standardFlowEnabled": True, "directAccessGrantsEnabled": False, "redirectUris": [f"{callback}/callback"],
            "attributes": {
                "backchannel.logout.url": f"{callback}/backchannel-logout",
                "backchannel.logout.session.required": "true",
                "pkce.code.challenge.method": "S256",
            },
            "protocolMappers": [{
                "name": "roles in the id_token", "protocol": "openid-connect",
                "protocolMapper": "oidc-usermodel-realm-role-mapper",
                "config": {
                    "claim.name": "realm_access.roles", "jsonType.label": "String", "multivalued": "true",
                    "id.token.claim": "true", "access.token.claim": "true",
                },
            }],
        }],
    }
    # A copy: Keycloak writes into its own folder.
    copy = folder / "keycloak"
    shutil.copytree(home, copy)
    imports = copy / "data" / "import"
    imports.mkdir(parents=True, exist_ok=True)
    (imports / "svc-realm.json").write_text(json.dumps(realm))
    port = urllib.parse.urlsplit(keycloak).port
    environment = os.environ | {"KC_BOOTSTRAP_ADMIN_USERNAME": "root", "KC_BOOTSTRAP_ADMIN_PASSWORD": ADMIN_PASSWORD}
    log = open(folder / "keycloak.log", "wb")
    running.append(subprocess.Popen(
        [copy / "bin" / "kc.sh", "start-dev", f"--http-port={port}", "--http-host=127.0.0.1", "--import-realm"],
        env=environment, stdout=log, stderr=subprocess.STDOUT,
    ))


def start_svc(program, folder, svc, running):
    environment = os.environ | {
        "SVC_ADMIN_PASSWORD": ADMIN_PASSWORD, "SVC_OIDC_ALLOW": "127.0.0.0/8", "HOME": str(folder),
    }
    running.append(subprocess.Popen(
        [program, "server", "start", "--data-dir", folder / "data", "--listen", svc.removeprefix("http://")],
        env=environment, stdout=subprocess.DEVNULL, stderr=open(folder / "svc.log", "wb"),
    ))


def end_sessions(keycloak):
    """What an administrator of Keycloak does: sign ann out everywhere."""
    root = Browser()
    fields = {"grant_type": "password", "client_id": "admin-cli", "username": "root", "password": ADMIN_PASSWORD}
    token = json.loads(root.text(
        "POST", f"{keycloak}/realms/master/protocol/openid-connect/token", urllib.parse.urlencode(fields).encode()
    ))["access_token"]
    root.headers["Authorization"] = f"Bearer {token}"
    [ann] = root.json("GET", f"{keycloak}/admin/realms/svc/users?username=ann&exact=true")
    root.text("POST", f"{keycloak}/admin/realms/svc/users/{ann['id']}/logout", b"")


def wait_for(url, name):
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            if Browser().status("GET", url) == 200:
                return
        except (OSError, urllib.error.URLError):
            pass
        assert time.monotonic() < deadline, f"{name} did not start within {START_LIMIT_S} s"
        time.sleep(0.25)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Browser:
    """Cookies, and redirects that are followed."""

    def __init__(self):
        jar = http.cookiejar.CookieJar()
        # Proxies of the environment are for other machines.
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar)
        )
        self.headers = {}

    def text(self, method, url, body=None, headers=None):
        request = urllib.request.Request(url, data=body, method=method, headers=self.headers | (headers or {}))
        try:
            with self.opener.open(request, timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {url}: {error.code} {error.read()[:2000]}") from error

    def json(self, method, url, body=None):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        data = json.dumps(body).encode() if body is not None else None
        return json.loads(self.text(method, url, data, headers) or "null")

    def status(self, method, url):
        try:
            with self.opener.open(urllib.request.Request(url, method=method), timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code


if __name__ == "__main__":
    main()
