"""The execution types of the first tool system: `basic` with its modes, and one name for each server kind."""

from collections.abc import Mapping

from roomful.domain.tools import Client
from roomful.tools.dialects.execution import (
    CLIENT_INSTEAD,
    Execution,
    Inline,
    Reader,
    read_agent,
    read_client,
    read_compute,
    read_echo,
    read_http,
    read_image,
    read_python,
    read_static,
)
from roomful.tools.reading import Fields

SERVER_KINDS: Mapping[str, Reader] = {
    "request": read_http,
    "http": read_http,
    "ai-agent": read_agent,
    "image-generator": read_image,
    "compute": read_compute,
    "python": read_python,
}
MODES: Mapping[str, Reader] = {
    "no-execution": read_client,
    "static": read_static,
    "pass-through": read_echo,
}
TYPES = ("basic", *SERVER_KINDS)
REMOVED = {
    "waiting": 'is no longer a type: say something with "wait" instead, the run pauses until the reply',
    "prebuilt": "cannot be configured: the built-in tools are always there, leave this tool out",
}
MEANT = {
    **dict.fromkeys(("function", "code", "script"), 'write "python" for a function of your own'),
    **dict.fromkeys(
        ("client", "form", "ui", "human", "card"),
        'write "basic" and "execution": {"mode": "no-execution"} for what people answer',
    ),
    **dict.fromkeys(("api", "rest", "fetch"), 'write "request"'),
    **dict.fromkeys(("agent", "subagent"), 'write "ai-agent"'),
    "image": 'write "image-generator"',
    "static": 'write "basic" and "execution": {"mode": "static", "output": …}',
    "mcp": 'leave the tool out and write the server into "mcp": {"servers": […]} of the agent',
}
_MEANT_MODES = {
    **dict.fromkeys(
        ("form", "client", "wait", "human", "none"), 'write "no-execution" for what people answer'
    ),
    "echo": 'write "pass-through"',
    "fixed": 'write "static"',
}
_TYPE_OF = {
    "url": "request",
    "agentConfig": "ai-agent",
    "agentId": "ai-agent",
    "provider": "image-generator",
    "expression": "compute",
    "function": "python",
}
_ELSEWHERE = {
    **CLIENT_INSTEAD,
    **{key: f'belongs to "executionType": "{kind}"' for key, kind in _TYPE_OF.items()},
}


def read_tool(tool: Fields, inline: Inline) -> Execution | None:
    """By the tool's `executionType`; one that is left out is `basic`."""
    written = tool.raw("executionType")
    kind = "basic" if written is None else wanted_type(tool, TYPES)
    return read_type(tool, kind, inline) if kind else None


def wanted_type(tool: Fields, types: tuple[str, ...]) -> str | None:
    written = tool.raw("executionType")
    if isinstance(written, str) and written in REMOVED:
        return tool.refuse("executionType", f'"{written}" {REMOVED[written]}')
    return tool.choice("executionType", {name: name for name in types}, MEANT)


def read_type(tool: Fields, kind: str, inline: Inline) -> Execution | None:
    if kind == "basic":
        return _read_basic(tool, inline)
    execution = section(tool)
    return SERVER_KINDS[kind](execution, inline) if execution else None


def section(tool: Fields) -> Fields | None:
    """The `execution` of a tool that cannot do without; an image may be drawn with no more said."""
    if tool.raw("execution") is None:
        return tool.below("execution", {})
    return tool.inner("execution")


def _read_basic(tool: Fields, inline: Inline) -> Execution | None:
    if tool.raw("execution") is None:
        return Execution(Client())
    execution = tool.inner("execution")
    if execution is None:
        return None
    sign = next((key for key in _TYPE_OF if execution.has(key)), None)
    if sign and not execution.has("mode") and not tool.has("executionType"):
        return tool.refuse(
            "executionType", f'is missing: write "{_TYPE_OF[sign]}", since "execution" has "{sign}"'
        )
    mode = execution.choice("mode", MODES, _MEANT_MODES)
    if mode is not None:
        return mode(execution, inline)
    if not execution.has("mode"):
        execution.refuse("mode", 'is missing: write "no-execution", "static" or "pass-through"')
        execution.only(("mode", "wait", "answers", "output", "template"), _ELSEWHERE)
    return None
