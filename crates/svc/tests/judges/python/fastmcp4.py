"""The `fastmcp` package 4.x, which speaks MCP version 2026-07-28. Its client has no function for
subscriptions, so `listen` of the package `mcp` is called with the client's session."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from judging import HEADERS, LIMIT_SECONDS, URL, as_json, judge
from mcp import MCPError
from mcp.client.subscriptions import listen


async def main():
    transport = StreamableHttpTransport(URL, headers=HEADERS)
    async with Client(transport, timeout=LIMIT_SECONDS) as client:

        async def list_tools():
            return [as_json(tool) for tool in await client.list_tools()]

        async def call(name, arguments):
            return as_json(await client.call_tool_mcp(name, arguments))

        async def code_of_call(name, arguments):
            try:
                return await call(name, arguments)
            except MCPError as error:
                return error.code

        async def change(trigger):
            async with listen(client.session, tools_list_changed=True) as changes:
                await trigger()
                await anext(aiter(changes))

        await judge(client.protocol_version, list_tools, call, code_of_call, change)


asyncio.run(main())
