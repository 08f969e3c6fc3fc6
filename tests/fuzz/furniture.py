"""What stands in the house whose API is asked, and what it can be asked in other protocols."""

from typing import Any

SHOP = {
    "id": "shop",
    "name": "Shop",
    "model": "scripted:shop",
    "tools": [
        {
            "name": "ask",
            "description": "Asks.",
            "executionType": "basic",
            "execution": {"mode": "no-execution"},
            "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
        }
    ],
}
SCRIPT = {
    "turns": [
        {"when": {"contains": "ask"}, "steps": [{"calls": [{"tool": "ask", "args": {"title": "Well?"}}]}]},
        {"steps": [{"calls": [{"tool": "sendSpaceMessage", "args": {"spaceId": "room", "text": "Here."}}]}]},
    ]
}
EXAMPLES: dict[str, Any] = {
    "/api/chat": {
        "id": "chat-1",
        "agentId": "shop",
        "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
    },
    "/ag-ui/{agentId}": {
        "threadId": "chat-2",
        "runId": "r1",
        "messages": [{"id": "m1", "role": "user", "content": "hi"}],
    },
}
RPC = (
    (
        "initialize",
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    ),
    ("ping", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "list_spaces", "arguments": {}}),
    ("tools/call", {"name": "read_messages", "arguments": {"spaceId": "room", "limit": 5}}),
    ("tools/call", {"name": "search_messages", "arguments": {"query": "hi"}}),
    ("tools/call", {"name": "list_cards", "arguments": {}}),
    ("resources/list", {"cursor": "x"}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "roomful://spaces/room"}),
    ("notifications/initialized", {}),
    ("server/discover", {}),
    ("nothing/here", {}),
)
