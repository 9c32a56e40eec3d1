"""The `mcp` package 1.x, which speaks 2025-11-25. It opens the stream of notifications only to a
server that assigns session ids. This server assigns none, so the client gets no list changes."""

import asyncio

import httpx
from judging import HEADERS, LIMIT_SECONDS, URL, as_json, judge
from mcp import ClientSession, McpError, types
from mcp.client.streamable_http import streamable_http_client


async def main():
    async with (
        httpx.AsyncClient(headers=HEADERS, timeout=LIMIT_SECONDS) as http,
        streamable_http_client(URL, http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        greeting = await session.initialize()

        async def list_tools():
            listed = await session.list_tools()
            tools = [as_json(tool) for tool in listed.tools]
            while listed.nextCursor is not None:
                page = types.PaginatedRequestParams(cursor=listed.nextCursor)
                listed = await session.list_tools(params=page)
                tools.extend(as_json(tool) for tool in listed.tools)
            return tools

        async def call(name, arguments):
            return as_json(await session.call_tool(name, arguments))

        async def code_of_call(name, arguments):
            try:
                return await call(name, arguments)
            except McpError as error:
                return error.error.code

        await judge(greeting.protocolVersion, list_tools, call, code_of_call, None)


asyncio.run(main())
