"""OAuth with the `mcp` package 2.x. At first the client has only the address of the server. It gets a token
and a result and renews the token. Then the user disconnects it. The user agrees in a real browser."""

import asyncio
import os
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from judging import ARGUMENTS, LIMIT_SECONDS, URL, as_json, expect
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

CALLBACK = "http://127.0.0.1:51234/callback"
COOKIE = {"cookie": os.environ["MCP_COOKIE"]}


class Memory:
    """The values that the client stores."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


class Browser:
    """Opens the page on which an app asks the user, and agrees."""

    logins = 0

    async def open(self, address):
        self.logins += 1
        self.address = address

    async def answer(self):
        browser = [*os.environ["MCP_BROWSER_SCRIPT"].split("\n"), self.address, "judge"]
        agreeing = await asyncio.create_subprocess_exec(*browser, stdout=asyncio.subprocess.PIPE)
        output, _ = await agreeing.communicate()
        expect(agreeing.returncode, 0, "the browser")
        fields = parse_qs(urlsplit(output.decode().strip()).query)
        return AuthorizationCodeResult(**{name: fields[name][0] for name in ("code", "state", "iss")})


async def call(memory, browser):
    """Makes one call with a new connection."""
    metadata = OAuthClientMetadata(client_name="judge", redirect_uris=[CALLBACK])
    auth = OAuthClientProvider(URL, metadata, memory, browser.open, browser.answer)
    async with httpx2.AsyncClient(auth=auth, timeout=LIMIT_SECONDS) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            echo = as_json(await client.call_tool("echo", ARGUMENTS))
            expect(echo["structuredContent"], ARGUMENTS, "echo")


async def main():
    async with httpx2.AsyncClient(timeout=LIMIT_SECONDS) as http:
        memory, browser = Memory(), Browser()
        await call(memory, browser)
        expect(memory.tokens.scope, "mcp", "the scope")

        # The next connection uses the same tokens. A revoked access token is renewed without the user.
        await call(memory, browser)
        before = memory.tokens.access_token
        await http.post(urljoin(URL, "/revoke"), data={"token": before, "client_id": memory.client.client_id})
        await call(memory, browser)
        expect(memory.tokens.access_token != before, True, "a new token")

        # After the user disconnected the app, the client must ask the user again.
        grants = (await http.get(urljoin(URL, "/api/oauth/grants"), headers=COOKIE)).json()["grants"]
        for grant in grants:
            ended = await http.delete(urljoin(URL, f"/api/oauth/grants/{grant['id']}"), headers=COOKIE)
            expect(ended.status_code, 204, "the end")
        logins = browser.logins
        await call(memory, browser)
        expect(browser.logins, logins + 1, "logins after the end")
    print("ok")


asyncio.run(main())
