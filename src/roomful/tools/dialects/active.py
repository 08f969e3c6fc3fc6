"""The active space: a call is seen where the run is, as its visibility says; no call names a space."""

from collections.abc import Mapping

from roomful.domain.shape import Json
from roomful.domain.tools import Client, Echo, RouteRule, Static, ToolSpec, Visibility
from roomful.tools.dialects import v1
from roomful.tools.dialects.execution import (
    CLIENT_INSTEAD,
    Execution,
    Inline,
    Reader,
    client,
    read_agent,
    read_compute,
    read_echo,
    read_http,
    read_image,
    read_static,
    read_webhook,
    static,
)
from roomful.tools.dialects.tool import FIELDS, INSTEAD, Rules, assemble, read_custom_ui
from roomful.tools.reading import Fields, one_of

WORDS: Mapping[str, Visibility] = {
    "visible": Visibility.FULL,
    "hidden": Visibility.HIDDEN,
    "result-only": Visibility.RESULT,
}
TYPES = ("gateway", "external", "space", "internal")
_FOREIGN = {"minimal": '"hidden" or "visible"', "full": '"visible"'}
_SIGNS: Mapping[str, Reader] = {
    "url": read_http,
    "agentConfig": read_agent,
    "agentId": read_agent,
    "provider": read_image,
    "operation": read_compute,
    "expression": read_compute,
}
_MODES: Mapping[str, Reader] = {"pass-through": read_echo, "static": read_static}


def read(tool: Fields, inline: Inline) -> ToolSpec | None:
    tool.only((*FIELDS, "visibility"), INSTEAD)
    kind = _kind(tool)
    execution = _READERS[kind](tool, inline) if kind in _READERS else _read_v1(tool, kind, inline)
    visibility = _visibility(tool, kind, execution)
    return assemble(tool, execution, visibility, RouteRule(), ())


def route(visibility: Visibility, answered: bool) -> RouteRule:
    return RouteRule()


def parameters(rule: RouteRule) -> dict[str, Json]:
    return {}


def _kind(tool: Fields) -> str | None:
    if not tool.has("executionType"):
        return tool.refuse("executionType", f"is missing: write {one_of(TYPES)}")
    return v1.wanted_type(tool, (*TYPES, *v1.TYPES))


def _visibility(tool: Fields, kind: str | None, execution: Execution | None) -> Visibility:
    written = tool.raw("visibility")
    if isinstance(written, str) and written in _FOREIGN:
        tool.refuse(
            "visibility",
            f'"{written}" is a word of the composite dialect, "executionType": "{tool.raw("executionType")}" '
            f"is read in the active one: write {_FOREIGN[written]}",
        )
        return Visibility.HIDDEN
    chosen = tool.choice("visibility", WORDS)
    executor = execution.executor if execution else None
    if isinstance(executor, Client):
        if chosen not in (None, Visibility.FULL):
            tool.refuse(
                "visibility",
                f'"{written}" contradicts "executionType", by which a person answers and so must see the '
                "call: leave it out",
            )
        return Visibility.FULL
    if kind == "internal" or (kind == "basic" and isinstance(executor, Static)):
        _check_internal(tool, chosen)
        return Visibility.HIDDEN
    return chosen or Visibility.FULL


def _check_internal(tool: Fields, chosen: Visibility | None) -> None:
    advice = (
        'contradicts "executionType", by which the tool is never shown: leave it out or write "gateway" there'
    )
    if chosen not in (None, Visibility.HIDDEN):
        tool.refuse("visibility", advice)
    if tool.has("display"):
        tool.refuse("display", advice)


def _read_v1(tool: Fields, kind: str | None, inline: Inline) -> Execution | None:
    return v1.read_type(tool, kind, inline) if kind else None


def _read_gateway(tool: Fields, inline: Inline) -> Execution | None:
    execution = v1.section(tool)
    return _read_by_signs(execution, inline) if execution else None


def _read_by_signs(execution: Fields, inline: Inline) -> Execution | None:
    """What kind it is shows in its keys; keys of two kinds are refused."""
    found = {_SIGNS[key]: key for key in _SIGNS if execution.has(key)}
    if len(found) > 1:
        first, second, *_ = found.values()
        return execution.refuse(first, f'and "{second}" are of two kinds of execution: write one of them')
    if execution.has("mode") and not found:
        mode = execution.choice("mode", _MODES)
        return mode(execution, inline) if mode else None
    if not found:
        return execution.refuse(
            "", 'does not say what to do: write "url", "agentConfig", "provider", "expression" or "mode"'
        )
    return next(iter(found))(execution, inline)


def _read_external(tool: Fields, inline: Inline) -> Execution | None:
    execution = v1.section(tool)
    return read_webhook(execution, inline) if execution else None


def _read_space(tool: Fields, inline: Inline) -> Execution | None:
    execution = v1.section(tool)
    if execution is None:
        return None
    elsewhere = dict.fromkeys(_SIGNS, 'belongs to "executionType": "gateway"')
    execution.only(("mode", "wait", "answers", "display"), {**elsewhere, **CLIENT_INSTEAD})
    execution.choice("mode", {"no-execution": True})
    return Execution(client(execution), custom_ui=read_custom_ui(execution))


def _read_internal(tool: Fields, inline: Inline) -> Execution | None:
    execution = v1.section(tool)
    if execution is None:
        return None
    if any(execution.has(key) for key in _SIGNS):
        return _read_by_signs(execution, inline)
    execution.only(("mode", "output", "template"))
    mode = execution.choice("mode", {"static": "static", "pass-through": "pass-through"})
    if mode == "pass-through":
        return Execution(Echo())
    return Execution(static(execution))


_READERS: Mapping[str | None, Reader] = {
    "gateway": _read_gateway,
    "external": _read_external,
    "space": _read_space,
    "internal": _read_internal,
}
RULES = Rules(WORDS, (), read, route, parameters)
