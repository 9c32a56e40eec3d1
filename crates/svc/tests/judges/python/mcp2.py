"""The `mcp` package 2.x, which speaks 2026-07-28, over HTTP or through the bridge
`svc mcp stdio`."""

import asyncio

import httpx2
from judging import BRIDGE, BRIDGE_ENV, HEADERS, LIMIT_SECONDS, URL, as_json, judge
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main():
    async with httpx2.AsyncClient(headers=HEADERS, timeout=LIMIT_SECONDS) as http:
        if BRIDGE:
            bridge = StdioServerParameters(command=BRIDGE, args=["mcp", "stdio"], env=BRIDGE_ENV)
            transport = stdio_client(bridge)
        else:
            transport = streamable_http_client(URL, http_client=http)
        async with Client(transport) as client:

            async def list_tools():
                listed = await client.list_tools()
                tools = [as_json(tool) for tool in listed.tools]
                while listed.next_cursor is not None:
                    listed = await client.list_tools(cursor=listed.next_cursor)
                    tools.extend(as_json(tool) for tool in listed.tools)
                return tools

            async def call(name, arguments):
                return as_json(await client.call_tool(name, arguments))

            async def code_of_call(name, arguments):
                try:
                    return await call(name, arguments)
                except MCPError as error:
                    return error.code

            async def change(trigger):
                async with client.listen(tools_list_changed=True) as changes:
                    await trigger()
                    await anext(aiter(changes))

            await judge(client.protocol_version, list_tools, call, code_of_call, change)


asyncio.run(main())
