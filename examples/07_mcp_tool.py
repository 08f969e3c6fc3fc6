"""A tool of an MCP server, which is a program that the gateway starts: this file, with `serve` behind it.

    pip install 'roomful[mcp]'
    python examples/07_mcp_tool.py

The server says itself which tools it has. `allowedTools` are those that the agent gets, under the server's
name and theirs: `city_weather`.
"""

import asyncio
import sys

from roomful.testing import open_house

GUIDE = {
    "id": "guide",
    "name": "Guide",
    "model": "scripted:guide",
    "speaks": "text",
    "mcp": {
        "servers": [
            {
                "name": "city",
                "transport": "stdio",
                "command": [sys.executable, __file__, "serve"],
                "allowedTools": ["weather"],
                "visibility": {"weather": "full"},
            }
        ]
    },
}
SCRIPT = """
turns:
  - steps:
      - calls: [{tool: city_weather, args: {city: Rome}}]
      - text: Take a hat.
"""


def serve() -> None:
    """The MCP server: any other one would do as well."""
    from mcp.server import MCPServer

    server = MCPServer("city", log_level="WARNING")

    @server.tool()
    def weather(city: str) -> dict[str, str | int]:
        """The weather in a city."""
        return {"city": city, "degrees": 31}

    server.run()


async def main() -> None:
    async with open_house(
        agents=[GUIDE], scripts={"guide": SCRIPT}, spaces={"trip": ["ada", "guide"]}, patience=60
    ) as house:
        said = await house.say("ada", "trip", "What do I wear in Rome?")
        for call in said.calls:
            print(f"{call.tool_name} {call.args} -> {call.result}")
        print(*said.texts)


if __name__ == "__main__":
    serve() if sys.argv[1:] else asyncio.run(main())
