"""What the dialects have in common: the fields every tool may have, and how a spec is put together."""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from roomful.domain.shape import Json
from roomful.domain.tools import (
    Approval,
    Approvers,
    Client,
    Compute,
    ExecutorSpec,
    Http,
    Image,
    RouteRule,
    Static,
    SubAgent,
    ToolCallShape,
    ToolSpec,
    Visibility,
    Webhook,
)
from roomful.tools.answering import read_approval, read_approvers
from roomful.tools.dialects.execution import Execution, Inline
from roomful.tools.reading import Fields, as_object, did_you_mean
from roomful.tools.schemas import declared, has_path, wrong_object_schema, wrong_schema
from roomful.tools.templates import Argument, arguments_in, broken_in, keys_in, pieces, secrets_in

FIELDS = (
    "name", "description", "inputSchema", "executionType", "execution", "display", "approval", "approvers",
    "answerSeconds", "resultSchema", "idempotent",
)  # fmt: skip
INSTEAD = {
    "parameters": 'write "inputSchema"',
    "type": 'write "executionType"',
    "customUI": 'write it inside "display"',
    **dict.fromkeys(
        ("url", "method", "headers", "body", "query", "timeout", "mode", "output", "wait", "answers"),
        'write it inside "execution"',
    ),
}
_LONE_BRACE = re.compile(r"\{([\w-]+)\}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONGEST_DEADLINE = 366 * 24 * 3600.0


class Rules(NamedTuple):
    """A dialect: what its tools may say, and what its words mean."""

    words: Mapping[str, Visibility]
    reserved: tuple[str, ...]
    """Argument names that are ours to add."""
    read: Callable[[Fields, Inline], ToolSpec | None]
    route: Callable[[Visibility, bool], RouteRule]
    """From the visibility, and whether a person has to answer."""
    parameters: Callable[[RouteRule], dict[str, Json]]
    """The schemas of the arguments that a route adds, in the order in which a model should give them."""


def wrong_tool_name(name: str) -> str | None:
    if TOOL_NAME.fullmatch(name):
        return None
    return f"{name[:80]!r} is not a tool's name: write 1 to 64 of A-Z a-z 0-9 _ -"


def is_answered(tool: Fields, execution: Execution | None) -> bool:
    """Whether a person has to answer before the call is done."""
    asks = execution is not None and isinstance(execution.executor, Client)
    return asks or bool(tool.raw("approval"))


def assemble(
    tool: Fields,
    execution: Execution | None,
    visibility: Visibility,
    route: RouteRule,
    reserved: tuple[str, ...],
) -> ToolSpec | None:
    """The spec, or None when something was refused."""
    name = tool.text("name", required=True, check=wrong_tool_name, example="search")
    description = tool.text("description", longest=16_384) or ""
    custom_ui = read_custom_ui(tool)
    schema = _read_schema(tool, execution, reserved)
    approval, approvers, answer_seconds = _read_answering(tool, execution)
    result_schema = _read_result_schema(tool)
    idempotent = tool.flag("idempotent") or False
    if execution is None or name is None or schema is None:
        return None
    _check_templates(tool, execution.executor, schema)
    if custom_ui and execution.custom_ui:
        tool.refuse("display.customUI", 'and "execution.display.customUI" say the same: write one of them')
    return ToolSpec(
        name=name,
        description=description,
        input_schema=schema,
        executor=execution.executor,
        visibility=visibility,
        route=route,
        shape=ToolCallShape(component=custom_ui or execution.custom_ui),
        seen_inside=visibility if _says_visibility(tool) else Visibility.FULL,
        timeout=execution.timeout,
        answer_seconds=answer_seconds,
        approval=approval,
        approvers=approvers,
        result_schema=result_schema,
        idempotent=idempotent,
    )


def _says_visibility(tool: Fields) -> bool:
    """A delegation that is wholly shown shows all that its sub-agent does, but what an author hid."""
    return tool.has("visibility") or tool.raw("executionType") == "internal"


def read_custom_ui(fields: Fields) -> str | None:
    display = fields.inner("display")
    if display is None:
        return None
    display.only(
        ("customUI",), {"format": "leave it out, a tool call is shown by its component and never as text"}
    )
    return display.text("customUI", longest=128)


def _read_schema(
    tool: Fields, execution: Execution | None, reserved: tuple[str, ...]
) -> dict[str, Json] | None:
    written = tool.raw("inputSchema")
    takes_prompt = execution is not None and isinstance(execution.executor, (Image, SubAgent))
    if written is None:
        return copy.deepcopy(_PROMPT if takes_prompt else _NOTHING)
    wrong = wrong_object_schema(written)
    if wrong:
        return tool.refuse("inputSchema", wrong)
    schema = as_object(written) or {}
    names = declared(schema)
    for name in reserved:
        if name in names:
            tool.refuse(
                f"inputSchema.properties.{name}",
                "is a name the gateway adds itself to say where a call is shown: write another name",
            )
    if execution is not None and isinstance(execution.executor, Image) and "prompt" not in names:
        tool.refuse("inputSchema", 'has no "prompt": write one, an image is drawn from it')
    return schema


_NOTHING: dict[str, Json] = {"type": "object", "properties": {}}
_PROMPT: dict[str, Json] = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What is asked for, in words."}},
    "required": ["prompt"],
}


def _read_answering(
    tool: Fields, execution: Execution | None
) -> tuple[Approval | None, Approvers, float | None]:
    approval = read_approval(tool, "approval")
    approvers = read_approvers(tool, "approvers")
    seconds = tool.number("answerSeconds", most=LONGEST_DEADLINE, unit="seconds")
    asks = execution is not None and isinstance(execution.executor, Client)
    if execution is None or asks:
        return approval, approvers, seconds
    if not tool.raw("approval"):
        for key in ("approvers", "answerSeconds"):
            if tool.has(key):
                tool.refuse(key, 'is for a tool that a person answers: add "approval": true, or leave it out')
    elif approval and tool.has("approvers"):
        if approval.approvers != Approvers():
            tool.refuse("approvers", 'and "approval.approvers" both say who may agree: write one of them')
        approval = Approval(approvers=approvers, when=approval.when)
    return approval, Approvers(), seconds


def _read_result_schema(tool: Fields) -> dict[str, Json] | None:
    schema = tool.inner("resultSchema")
    if schema is None:
        return None
    wrong = wrong_schema(schema.values)
    return tool.refuse("resultSchema", wrong) if wrong else dict(schema.values)


def _check_templates(tool: Fields, executor: ExecutorSpec, schema: dict[str, Json]) -> None:
    for field, value in _templates(executor):
        place = f"execution.{field}"
        broken = broken_in(value)
        if broken:
            tool.refuse(
                place, f"has {broken!r} in it, which is no placeholder: write {{{{name}}}} or ${{env.NAME}}"
            )
        if any(not isinstance(piece, str) for key in keys_in(value) for piece in pieces(key)):
            tool.refuse(place, "has a placeholder in a key: write the key as plain text")
        for argument in arguments_in(value):
            if argument.path == () and "input" in declared(schema):
                tool.refuse(
                    place, f"has {argument.written}, which could mean two things: write {{{{input.input}}}}"
                )
            elif not has_path(schema, argument.path):
                tool.refuse(place, _unknown_argument(argument, schema))
        if field == "url" and (lone := _lone_brace(value, schema)):
            tool.refuse(place, f"has {{{lone}}} in it, which is sent as it stands: write {{{{{lone}}}}}")
        if secrets_in(value) and not isinstance(executor, (Http, Webhook)):
            tool.refuse(place, "would show a secret: write it without ${env.…}")


def _unknown_argument(argument: Argument, schema: dict[str, Json]) -> str:
    told = f"uses {argument.written}, which inputSchema does not have: add it there"
    names = sorted(declared(schema))
    hint = did_you_mean(argument.path[0], names) if argument.path else ""
    return told + (hint or (f". It has {', '.join(names)}" if names else ""))


def _lone_brace(url: str, schema: dict[str, Json]) -> str | None:
    """An argument in braces as other systems write them."""
    plain = "".join(piece for piece in pieces(url) if isinstance(piece, str))
    return next((name for name in _LONE_BRACE.findall(plain) if name in declared(schema)), None)


def _templates(executor: ExecutorSpec) -> Iterator[tuple[str, Json]]:
    match executor:
        case Http():
            yield "url", executor.url
            yield "headers", executor.headers
            yield "query", executor.query
            yield "body", executor.body
        case Webhook():
            yield "url", executor.url
            yield "headers", executor.headers
        case Compute():
            yield "expression", executor.expression
        case Static(template=True):
            yield "output", executor.output
        case _:
            pass
