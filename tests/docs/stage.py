"""The small world that the pages of concepts show: spaces, a shop, a keeper of notes, and what they did."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import httpx

from roomful.testing import open_house

_FORM: dict[str, Any] = {
    "name": "showApprovalForm",
    "description": "Ask somebody for their consent to an expense.",
    "execution": {"mode": "no-execution"},
    "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
}
_SEARCH: dict[str, Any] = {
    "name": "searchInventory",
    "description": "Look what is there.",
    "execution": {"mode": "static", "output": {"laptops": 3}},
    "visibility": "minimal",
}
_PEEK: dict[str, Any] = {**_SEARCH, "name": "checkMargin", "visibility": "hidden"}
_RESEARCH: dict[str, Any] = {
    "name": "research",
    "description": "Find figures.",
    "executionType": "ai-agent",
    "execution": {"agentConfig": {"name": "Researcher", "tools": [{**_SEARCH, "visibility": "full"}]}},
    "visibility": "full",
}
SHOP = {
    "id": "shop",
    "name": "Shop",
    "model": "scripted:shop",
    "instructions": "Help people to buy what they need.",
    "tools": [_FORM, _SEARCH, _PEEK, _RESEARCH],
}
KEEPER = {"id": "keeper", "name": "Keeper", "model": "scripted:keeper", "dialect": "active"}
_SAY = "sendSpaceMessage"
SCRIPTS: dict[str, Any] = {
    "shop": {
        "turns": [
            {
                "when": {"contains": "laptop"},
                "steps": [
                    {
                        "calls": [
                            {"tool": _SAY, "args": {"spaceId": "team", "text": "Let me look."}},
                            {"tool": "searchInventory", "args": {}},
                            {"tool": "checkMargin", "args": {}},
                            {
                                "tool": "showApprovalForm",
                                "args": {"targetSpaceId": "finance", "amount": 1299},
                            },
                        ]
                    },
                    {"calls": [{"tool": _SAY, "args": {"spaceId": "team", "text": "It is ordered."}}]},
                ],
            },
            {"when": {"contains": "trend"}, "calls": [{"tool": "research", "args": {"prompt": "Sales?"}}]},
            {
                "when": {"contains": "Sales"},
                "steps": [{"calls": [{"tool": "searchInventory", "args": {}}]}, {"text": "They are rising."}],
            },
        ]
    },
    "keeper": {
        "turns": [
            {
                "when": {"contains": "note"},
                "calls": [
                    {"tool": "set_memories", "args": {"memories": [{"key": "budget", "value": 5000}]}},
                    {"tool": "set_goals", "args": {"goals": [{"description": "Stay below the budget."}]}},
                    {
                        "tool": "set_plans",
                        "args": {
                            "plans": [
                                {
                                    "name": "Report",
                                    "instruction": "Write the weekly report.",
                                    "cron": "0 9 * * 1",
                                    "timezone": "Europe/Vienna",
                                }
                            ]
                        },
                    },
                ],
            }
        ]
    },
}


class Stage:
    """Whoever asks is named with each request."""

    def __init__(self, http: httpx.AsyncClient, tokens: dict[str, str], ids: dict[str, str]) -> None:
        self._http = http
        self._tokens = tokens
        self._ids = ids

    async def ask(self, who: str, method: str, path: str, body: str | None = None) -> Any:
        """What is answered. In path and body, `{run}`, `{message}` and `{call}` are those of the laptop,
        `{trend}` is the message with a sub-agent in it."""
        for name, id in self._ids.items():
            path, body = path.replace(f"{{{name}}}", id), body and body.replace(f"{{{name}}}", id)
        headers = {"authorization": f"Bearer {self._tokens[who]}", "content-type": "application/json"}
        return (await self._http.request(method, path, content=body, headers=headers)).json()


@contextlib.asynccontextmanager
async def staged() -> AsyncGenerator[Stage]:
    async with open_house(scripts=SCRIPTS) as house:
        gateway = house.gateway
        tokens = {id: await gateway.person(id, name=id.title()) for id in ("ada", "grace")}
        transport = httpx.ASGITransport(gateway.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            mine = {"authorization": f"Bearer {tokens['ada']}"}
            for agent in (SHOP, KEEPER):
                (await http.post("/api/agents", json=agent, headers=mine)).raise_for_status()
            (
                await http.post("/api/spaces", json={"id": "team", "name": "Team"}, headers=mine)
            ).raise_for_status()
            await gateway.space("team", "grace", "shop")
            await gateway.space("finance", "grace", "shop", name="Finance")
            await gateway.space("notes", "ada", "keeper", name="Notes")
            bought = await house.say("ada", "team", "I need a laptop.")
            [trend] = (await house.say("ada", "team", "What is the trend?")).messages[1:]
            await house.say("ada", "notes", "Take a note.")
            [run] = bought.runs
            [call] = bought.seen_in("finance", by="grace").waiting
            ids = {
                "run": run.id,
                "message": bought.messages[-1].id,
                "call": call.tool_call_id,
                "trend": trend.id,
            }
            yield Stage(http, tokens, ids)
