"""JSON-RPC by hand, for what the official client would not send."""

from typing import Any

from tests.web.visiting import Answer, Visit


def request(method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", name=name, arguments=arguments)


async def ask(house: Visit, body: Any, token: str | None = "token-of-ada", **headers: str) -> Answer:
    """Of the older era, unless the headers say otherwise."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await house.ask("POST", "/mcp", body, token=token, headers=given)


async def furnish(house: Visit) -> None:
    await house.person("ada")
    await house.person("bob")
    await house.space("room", ada="owner", bob="reader")
