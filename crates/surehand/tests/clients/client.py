"""Lists and calls over stdio with the Python SDK, whichever era it speaks, and prints what came of it as JSON.

usage: client.py TOOL ARGUMENTS_JSON COMMAND [ARGUMENT...]
"""

import asyncio
import json
import os
import sys

from mcp.client.stdio import StdioServerParameters, stdio_client

TOOL, ARGUMENTS, COMMAND = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def talk(client):
    progress = []

    async def on_progress(done, total, message):
        progress.append({"done": done, "total": total, "message": message})

    tools = await client.list_tools()
    result = await client.call_tool(TOOL, ARGUMENTS, progress_callback=on_progress)
    try:
        unknown = plain(await client.call_tool("no_such_tool", {}))
    except Exception as error:
        unknown = {"refused": str(error)}
    return {
        "tools": [tool.name for tool in tools.tools],
        "result": plain(result),
        "unknown": unknown,
        "progress": progress,
    }


async def main():
    server = stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ)))
    try:
        from mcp import Client
    except ImportError:
        from mcp import ClientSession

        async with server as (reader, writer), ClientSession(reader, writer) as client:
            hello = await client.initialize()
            said = {"protocol": str(hello.protocolVersion), **await talk(client)}
    else:
        async with Client(server) as client:
            said = {"protocol": str(client.protocol_version), **await talk(client)}
    print(json.dumps(said))


asyncio.run(asyncio.wait_for(main(), 60))
