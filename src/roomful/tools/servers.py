"""MCP servers of an agent: what may be written about them, and what becomes of a tool that one offers."""

import copy
import re
from collections.abc import Callable, Collection
from typing import TypeVar

import msgspec

from roomful.domain.agents import Dialect, McpServer
from roomful.domain.shape import Json
from roomful.domain.tools import Approval, Mcp, ToolSpec, Visibility
from roomful.tools.answering import read_approval
from roomful.tools.dialects import RULES, Rules, wrong_tool_name
from roomful.tools.dialects.execution import read_headers
from roomful.tools.problems import Problems
from roomful.tools.reading import Fields, as_object, kind_of
from roomful.tools.schemas import declared, wrong_object_schema
from roomful.tools.templates import arguments_in, broken_in
from roomful.tools.urls import EXAMPLE, wrong_url

T = TypeVar("T")

LONGEST_DESCRIPTION = 2048
ALL = "*"

_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_TRANSPORTS = {"http": "http", "stdio": "stdio"}


def read_servers(
    agent: Fields, rules: Rules, taken: Collection[str], *, trusted: bool
) -> tuple[McpServer, ...]:
    """`taken` are the names that no server's tool may have."""
    mcp = agent.inner("mcp")
    if mcp is None:
        return ()
    mcp.only(("servers",))
    servers: list[McpServer] = []
    for index, value in enumerate(mcp.items("servers", of='objects, as in [{"name": "files", "url": …}]')):
        values = as_object(value)
        fields = mcp.below(f"servers[{index}]", values or {})
        if values is None:
            fields.refuse("", f'is {kind_of(value)}: write {{"name": …, "url": …}}')
            continue
        server = _read_server(fields, rules, trusted=trusted)
        if server is not None:
            _check_names(fields, server, servers, taken)
            servers.append(server)
    return tuple(servers)


def _read_server(fields: Fields, rules: Rules, *, trusted: bool) -> McpServer | None:
    fields.only(
        ("name", "url", "transport", "command", "args", "headers", "allowedTools", "visibility", "approval"),
        {"tools": 'write "allowedTools"', "type": 'write "transport"'},
    )
    name = fields.text("name", required=True, check=_wrong_server_name, example="files")
    transport = fields.choice("transport", _TRANSPORTS) or ("stdio" if fields.has("command") else "http")
    url, command = _reach(fields, transport, trusted=trusted)
    headers = read_headers(fields)
    if arguments_in(headers) or broken_in(headers):
        fields.refuse("headers", "take no arguments: write plain text and ${env.NAME}")
    allowed = fields.texts("allowedTools")
    visibility = _by_tool(fields, "visibility", lambda inner, key: inner.choice(key, rules.words))
    approval = _by_tool(fields, "approval", read_approval, single=("approvers", "when"))
    for key, rule in (("visibility", visibility), ("approval", approval)):
        for tool in rule:
            if allowed is not None and tool != ALL and tool not in allowed:
                fields.refuse(f"{key}.{tool}", 'is not in "allowedTools": add it there or leave it out here')
    if name is None:
        return None
    return McpServer(
        name=name,
        url=url,
        command=command,
        transport="stdio" if transport == "stdio" else "http",
        allowed_tools=allowed,
        headers=headers,
        visibility={tool: str(word) for tool, word in visibility.items() if word},
        approval={tool: msgspec.to_builtins(rule) for tool, rule in approval.items()},
    )


def _reach(fields: Fields, transport: str, *, trusted: bool) -> tuple[str | None, tuple[str, ...]]:
    if transport == "http":
        for key in ("command", "args"):
            if fields.has(key):
                fields.refuse(key, 'contradicts "transport": "http": leave it out')
        return fields.text("url", required=True, check=wrong_url, example=EXAMPLE), ()
    if not trusted:
        key = "command" if fields.has("command") else "transport"
        fields.refuse(
            key, 'starts a program, which only the operator\'s own files may: write "transport": "http"'
        )
        return None, ()
    for key in ("url", "headers"):
        if fields.has(key):
            fields.refuse(key, 'contradicts "transport": "stdio": leave it out')
    if isinstance(fields.raw("command"), str):
        command = (fields.text("command", required=True) or "", *(fields.texts("args") or ()))
    else:
        command = fields.texts("command") or ()
        if fields.has("args"):
            fields.refuse("args", 'belongs into the list of "command": write it there')
    if not any(command):
        fields.refuse(
            "command", 'is missing: write the program and its arguments, as in ["program", "--flag"]'
        )
    return None, command


def _by_tool(
    fields: Fields, key: str, read: Callable[[Fields, str], T | None], single: tuple[str, ...] = ()
) -> dict[str, T | None]:
    """One rule for the whole server, or one for each tool it names; `single` are the keys of a rule that is
    itself an object."""
    value = fields.raw(key)
    if value is None:
        return {}
    by_tool = as_object(value)
    if by_tool is None or (by_tool and set(by_tool) <= set(single)):
        return {ALL: read(fields, key)}
    inner = fields.below(key, by_tool)
    return {tool: read(inner, tool) for tool in by_tool}


def _check_names(fields: Fields, server: McpServer, earlier: list[McpServer], taken: Collection[str]) -> None:
    """No tool of this server may ever stand in for another tool."""
    prefix = offered_name(server.name, "")
    for other in (one.name for one in earlier):
        if other == server.name:
            fields.refuse("name", f'"{other}" names two servers: write another name')
        elif offered_name(other, "").startswith(prefix) or prefix.startswith(offered_name(other, "")):
            fields.refuse(
                "name", f'is too like "{other}", their tools could have one name: write another name'
            )
    if server.allowed_tools is None:
        clash = next((name for name in taken if name.startswith(prefix)), None)
    else:
        names = {offered_name(server.name, tool) for tool in server.allowed_tools}
        clash = next((name for name in taken if name in names), None)
    if clash:
        fields.refuse(
            "name", f'lets a tool of this server be called "{clash}", which is taken: write another name'
        )


def _wrong_server_name(name: str) -> str | None:
    if _SERVER_NAME.fullmatch(name):
        return None
    return f"{name[:60]!r} is not a server's name: write 1 to 40 of A-Z a-z 0-9 _ -"


def offered_name(server: str, tool: str) -> str:
    """How a server's tool is called among the agent's tools."""
    return f"{server}_{_NOT_IN_NAME.sub('_', tool)}"


def offered_tool(server: McpServer, dialect: Dialect, name: str, description: str, schema: Json) -> ToolSpec:
    """A tool as a server offers it. Hidden unless the configuration says otherwise. Raises ConfigRefused
    when its name or schema is none that we would take from an author."""
    rules = RULES[dialect]
    visibility = Visibility(server.visibility.get(name, server.visibility.get(ALL, Visibility.HIDDEN)))
    written = server.approval.get(name, server.approval.get(ALL))
    approval = msgspec.convert(written, Approval) if written else None
    route = rules.route(visibility, approval is not None)
    problems = Problems()
    fields = Fields({"name": offered_name(server.name, name)}, problems, tool=offered_name(server.name, name))
    if server.allowed_tools is not None and name not in server.allowed_tools:
        fields.refuse("name", f'is not among the allowed tools of "{server.name}"')
    fields.text("name", required=True, check=wrong_tool_name)
    wrong = wrong_object_schema(schema)
    if wrong:
        fields.refuse("inputSchema", wrong)
    elif route.injected and not declared(schema).isdisjoint(rules.reserved):
        fields.refuse(
            "inputSchema", "has an argument that the gateway adds itself: the tool can only be hidden"
        )
    problems.raise_any()
    return ToolSpec(
        name=fields.tool,
        description=description[:LONGEST_DESCRIPTION],
        input_schema=copy.deepcopy(schema),
        executor=Mcp(server=server.name, tool=name),
        visibility=visibility,
        seen_inside=visibility if {name, ALL} & server.visibility.keys() else Visibility.FULL,
        route=route,
        approval=approval,
    )
