"""Composite messages: server tools are hidden unless they say otherwise, a client tool is always seen, and
a call may name the spaces that see it."""

from collections.abc import Mapping

from roomful.domain.shape import Json
from roomful.domain.tools import MOST_SPACES, Client, RouteRule, ToolSpec, Visibility
from roomful.tools.dialects import v1
from roomful.tools.dialects.execution import Execution, Inline
from roomful.tools.dialects.tool import FIELDS, INSTEAD, Rules, assemble, is_answered
from roomful.tools.reading import Fields

WORDS: Mapping[str, Visibility] = {
    "hidden": Visibility.HIDDEN,
    "minimal": Visibility.STATUS,
    "full": Visibility.FULL,
}
_FOREIGN = {
    "visible": 'is a word of the active dialect: write "full", or "dialect": "active" for the agent',
    "result-only": 'is a word of the active dialect: write "full", or "dialect": "active" for the agent',
}
_SPACES = ("targetSpaceId", "targetSpaceIds")
_ENTITY = "targetEntityId"


def read(tool: Fields, inline: Inline) -> ToolSpec | None:
    tool.only((*FIELDS, "visibility"), INSTEAD)
    execution = v1.read_tool(tool, inline)
    visibility = _visibility(tool, execution)
    return assemble(
        tool, execution, visibility, route(visibility, is_answered(tool, execution)), RULES.reserved
    )


def _visibility(tool: Fields, execution: Execution | None) -> Visibility:
    written = tool.raw("visibility")
    if isinstance(written, str) and written in _FOREIGN:
        tool.refuse("visibility", f'"{written}" {_FOREIGN[written]}')
        return Visibility.HIDDEN
    chosen = tool.choice("visibility", WORDS)
    if execution is None or not isinstance(execution.executor, Client):
        return chosen or Visibility.HIDDEN
    if chosen not in (None, Visibility.FULL):
        tool.refuse(
            "visibility",
            f'"{written}" contradicts "execution", by which a person answers and so must see the call: '
            "leave it out",
        )
    return Visibility.FULL


def route(visibility: Visibility, answered: bool) -> RouteRule:
    if visibility is Visibility.HIDDEN:
        return RouteRule()
    return RouteRule(args=_SPACES, entity_arg=_ENTITY, injected=True)


def parameters(rule: RouteRule) -> dict[str, Json]:
    return {
        "targetSpaceId": {
            "type": "string",
            "description": "Optional: space to show this tool call in. Defaults to trigger space. "
            "If you give it, provide it first, before every other argument.",
        },
        "targetSpaceIds": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MOST_SPACES,
            "description": "Optional: show this tool call in multiple spaces. "
            "If you give it, provide it first, before every other argument.",
        },
        "targetEntityId": {
            "type": "string",
            "description": "Optional: the one member who may see this tool call; nobody else in the space "
            "will. If you give it, provide it first, before every other argument.",
        },
    }


RULES = Rules(WORDS, (*_SPACES, _ENTITY), read, route, parameters)
