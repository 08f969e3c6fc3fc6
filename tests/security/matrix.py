"""Who may do what, route by route. Whoever is not named in a row finds nothing there (404)."""

from dataclasses import dataclass
from typing import Any

from tests.security.scenes import CALLERS

TOKENS = "eve spy clock rita mem bot ada admin"
MEMBERS = "rita mem bot ada"
READERS = f"{MEMBERS} admin"
ENTITIES = "eve spy clock rita mem bot ada"
READING = ("list_spaces", "read_messages", "search_messages", "wait_for_runs", "list_cards", "a resource")
PEOPLE = "eve clock rita mem ada admin"


@dataclass(frozen=True)
class Row:
    """`{names}` in address and body are things of the scene."""

    method: str
    route: str
    at: str
    """The address, as the table's route with the scene's ids in it."""
    allowed: str
    refused: str = ""
    """Who is told that they may not (403)."""
    body: Any = None
    ok: int = 200
    anyone: int = 0
    """What callers without a token get who are let in; 0: they are not (401)."""
    opens: bool = False
    """What is not there is made, so that unknown and forbidden differ: whoever may make a space knows."""
    tool: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    others: int = 404
    odd: tuple[tuple[str, int], ...] = ()
    """Who gets something else than the others."""
    needs: str = ""
    """What has to be there besides what is named."""

    @property
    def id(self) -> str:
        kind = " as a stream" if self.headers else ""
        asked = self.at.partition("?")[2]
        return " ".join(filter(None, [self.method, self.route, asked, self.tool])) + kind

    def expected(self, caller: str) -> int:
        if caller in ("nobody", "forger"):
            return self.anyone or 401
        if caller in dict(self.odd):
            return dict(self.odd)[caller]
        if caller in self.allowed.split():
            return self.ok
        return 403 if caller in self.refused.split() else self.others

    def is_let_in(self, caller: str) -> bool:
        return self.expected(caller) == self.ok

    @property
    def spends(self) -> bool:
        """Who is let in changes what the row is about."""
        names_things = "{" in self.at + repr(self.body).replace("{'", "'")
        return self.method != "GET" and self.ok < 400 and names_things and self.tool not in READING


def row(method: str, route: str, allowed: str, refused: str = "", body: Any = None, **more: Any) -> Row:
    things = {"/api/spaces/": "space", "/api/runs/": "run", "/api/agents/": "agent", "/stream/": "space"}
    things |= {"/api/entities/": "agent", "/api/blobs/": "blob", "/api/chat/": "space", "/ag-ui/": "space"}
    at = more.pop("at", route)
    for prefix, thing in things.items():
        if at.startswith(prefix):
            at = at.replace("{id}", f"{{{thing}}}", 1)
    return Row(method, route, at, allowed, refused, body, **more)


def tool(name: str, allowed: str, refused: str = "", **arguments: Any) -> Row:
    """What is refused inside MCP has the code of the status that REST would have."""
    params = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return row("POST", "/mcp", allowed, refused, body, tool=name)


def resource(uri: str, allowed: str) -> Row:
    body = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}
    return row("POST", "/mcp", allowed, "", body, tool="a resource")


def open_page(path: str, ok: int = 200) -> Row:
    return row("GET", path, TOKENS, anyone=ok, ok=ok)


AS_STREAM = (("accept", "text/event-stream"),)
SAID = [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]
ENVELOPE = {
    "id": "env_{number}_{caller}",
    "conversation_id": "{space}",
    "sender": "{sender}",
    "recipient": "chat:{space}",
    "type": "message",
    "content": "hi",
    "metadata": {},
    "created_at": "2026-01-01T00:00:00Z",
}
CONFIG = {"name": "New", "model": "scripted:none", "tools": []}
AG_UI = {
    "threadId": "{space}",
    "runId": "r",
    "messages": [{"id": "m_{caller}", "role": "user", "content": "hi"}],
}

ROWS = (
    # Spaces
    row("GET", "/api/spaces", TOKENS),
    row("POST", "/api/spaces", PEOPLE, "spy bot", {"name": "New"}, ok=201),
    row("GET", "/api/spaces/{id}", READERS),
    row("PATCH", "/api/spaces/{id}", "ada admin", "rita mem bot", {"name": "New"}),
    row("DELETE", "/api/spaces/{id}", "ada admin", "rita mem bot", ok=204),
    row("GET", "/api/spaces/{id}/members", READERS),
    row("POST", "/api/spaces/{id}/members", "ada admin", "rita mem bot", {"entityId": "clock"}, ok=201),
    row(
        "DELETE",
        "/api/spaces/{id}/members/{entityId}",
        "mem ada admin",
        "rita bot",
        ok=204,
        at="/api/spaces/{space}/members/mem",
    ),
    row("POST", "/api/spaces/{id}/invites", "ada admin", "rita mem bot", {}, ok=201),
    row(
        "POST",
        "/api/invites/{secret}",
        "eve spy clock",
        "admin",
        ok=201,
        at="/api/invites/{invite}",
        others=409,
    ),
    row("GET", "/api/spaces/{id}/grants", READERS),
    row(
        "DELETE",
        "/api/spaces/{id}/grants/{grantId}",
        "mem bot ada",
        "rita admin",
        ok=204,
        at="/api/spaces/{space}/grants/{grant}",
    ),
    # Messages
    row("POST", "/api/spaces/{id}/messages", "mem bot ada", "rita admin", {"text": "hi"}, ok=201),
    row("POST", "/api/spaces/{id}/messages", "mem bot ada", "rita admin", {"text": "hi"}, headers=AS_STREAM),
    row("GET", "/api/spaces/{id}/messages", READERS),
    row(
        "GET",
        "/api/spaces/{id}/messages/{messageId}",
        READERS,
        at="/api/spaces/{space}/messages/{message}",
    ),
    row(
        "PATCH",
        "/api/spaces/{id}/messages/{messageId}",
        "ada",
        "rita mem bot admin",
        {"text": "changed"},
        at="/api/spaces/{space}/messages/{message}",
    ),
    row(
        "DELETE",
        "/api/spaces/{id}/messages/{messageId}",
        "ada admin",
        "rita mem bot",
        ok=204,
        at="/api/spaces/{space}/messages/{message}",
    ),
    row("POST", "/api/spaces/{id}/read", MEMBERS, "admin", {"messageId": "{message}"}, ok=204),
    row("GET", "/api/search", TOKENS, at="/api/search?q={canary}"),
    row("POST", "/api/blobs", ENTITIES, "admin", b"bytes", ok=201),
    row("GET", "/api/blobs/{id}", READERS),
    # Streams
    row("GET", "/api/spaces/{id}/stream", READERS),
    row("GET", "/api/runs/{id}/stream", "ada admin"),
    row("GET", "/api/stream", ENTITIES, "admin"),
    row("GET", "/stream/{id}", READERS),
    row("POST", "/send", "mem bot ada", "rita admin", ENVELOPE),
    # Other protocols
    row(
        "POST",
        "/api/chat",
        "mem bot ada",
        "rita admin",
        {"id": "{space}", "messages": SAID},
        at="/api/chat?agentId={agent}",
        opens=True,
    ),
    row("GET", "/api/chat", READERS, at="/api/chat?threadId={space}"),
    row("GET", "/api/chat/{id}/stream", READERS, needs="run"),
    row("DELETE", "/api/chat/{id}/stream", "mem bot ada", "rita admin", ok=204, needs="run"),
    row(
        "POST",
        "/ag-ui/{agentId}",
        "mem ada",
        "rita admin",
        AG_UI,
        at="/ag-ui/{agent}",
        opens=True,
        odd=(("bot", 422),),
    ),
    row("GET", "/ag-ui/{id}/replay", READERS),
    tool("list_spaces", TOKENS),
    tool("read_messages", READERS, spaceId="{space}"),
    tool("search_messages", TOKENS, query="{canary}"),
    tool("post_message", "mem bot ada", "rita admin", spaceId="{space}", text="hi", waitSeconds=0),
    tool("wait_for_runs", READERS, spaceId="{space}", runIds=["{failed}"], timeoutSeconds=1),
    tool("stop_run", "mem bot ada admin", "rita", runId="{run}"),
    tool("list_cards", READERS, spaceId="{space}"),
    tool("answer_card", "mem ada", "rita bot admin", runId="{run}", callId="{card}", result={"yes": True}),
    resource("roomful://spaces/{space}", READERS),
    # Runs
    row("GET", "/api/runs", TOKENS),
    row("GET", "/api/runs/{id}", READERS),
    row("GET", "/api/runs/{id}/inspection", "ada admin"),
    row("POST", "/api/runs/{id}/cancel", "mem bot ada admin", "rita"),
    row("POST", "/api/runs/{id}/retry", "mem bot ada admin", "rita", ok=201, at="/api/runs/{failed}/retry"),
    row(
        "POST",
        "/api/runs/{id}/tool-results",
        "mem ada",
        "rita bot admin",
        {"toolCallId": "{card}", "result": {"yes": True}},
    ),
    # Agents
    row("GET", "/api/agents", TOKENS),
    row("POST", "/api/agents", PEOPLE, "spy bot", CONFIG, ok=201),
    row("GET", "/api/agents/{id}", TOKENS),
    row("PUT", "/api/agents/{id}", "ada admin", body=CONFIG),
    row("DELETE", "/api/agents/{id}", "ada admin", ok=204),
    row("POST", "/api/agents/{id}/trigger", "clock ada admin", body={"serviceName": "s"}, ok=202),
    row("GET", "/api/agents/{id}/mcp", "ada admin", needs="server"),
    row(
        "POST",
        "/api/agents/{id}/mcp/{server}/approve",
        "ada admin",
        body={"digest": "0" * 64},
        ok=409,
        at="/api/agents/{agent}/mcp/{server}/approve",
    ),
    row("GET", "/api/agents/{id}/plans", "ada admin"),
    row(
        "DELETE",
        "/api/agents/{id}/plans/{planId}",
        "ada admin",
        ok=204,
        at="/api/agents/{agent}/plans/{plan}",
    ),
    row("GET", "/api/agents/{id}/memories", "ada admin"),
    row(
        "PUT",
        "/api/agents/{id}/memories/{key}",
        "ada admin",
        body={"value": 1},
        at="/api/agents/{agent}/memories/k",
    ),
    row(
        "DELETE",
        "/api/agents/{id}/memories/{key}",
        "ada admin",
        ok=204,
        at="/api/agents/{agent}/memories/{memory}?spaceId={space}",
    ),
    row("GET", "/api/agents/{id}/goals", "ada admin"),
    row(
        "DELETE",
        "/api/agents/{id}/goals/{goalId}",
        "ada admin",
        ok=204,
        at="/api/agents/{agent}/goals/{goal}",
    ),
    row("GET", "/api/audit", "admin", ENTITIES),
    row("GET", "/api/audit", "ada admin", "rita mem bot", at="/api/audit?spaceId={space}"),
    # People
    row("POST", "/api/entities", "admin", ENTITIES, {"name": "New"}, ok=201),
    row("DELETE", "/api/entities/{id}", "admin", ENTITIES, ok=204, at="/api/entities/{guest}"),
    row("GET", "/api/entities/{id}/tokens", "bot admin"),
    row("POST", "/api/entities/{id}/tokens", "bot admin", ok=201),
    row("DELETE", "/api/entities/{id}/tokens", "bot admin", ok=204),
    row(
        "DELETE",
        "/api/entities/{id}/tokens/{tokenId}",
        "bot admin",
        ok=204,
        at="/api/entities/{agent}/tokens/{token}",
    ),
    row("GET", "/api/session", ENTITIES, "admin"),
    row("POST", "/api/session", TOKENS, anyone=401, body={"token": "not-a-token"}, ok=401),
    row("DELETE", "/api/session", TOKENS, ok=204),
    # Open to anyone
    *(open_page(path) for path in ("/", "/page.js", "/page.css", "/icon.svg", "/healthz", "/readyz")),
    open_page("/openapi.json"),
    open_page("/api/door"),
    open_page("/.well-known/oauth-protected-resource"),
    open_page("/.well-known/oauth-protected-resource/mcp"),
    row(
        "POST",
        "/api/callbacks/{callId}/{key}",
        TOKENS,
        anyone=404,
        ok=404,
        body={"result": 1},
        at="/api/callbacks/{card}/guessed",
    ),
    row("GET", "/metrics", "clock admin", "eve spy rita mem bot ada"),
)
assert set(CALLERS) == {"nobody", "forger", *TOKENS.split()}
