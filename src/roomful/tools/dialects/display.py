"""Display tools: a tool that says so may be given a space to be seen in, and is silent without one."""

from collections.abc import Mapping

from roomful.domain.shape import Json
from roomful.domain.tools import Client, Fallback, RouteRule, ToolSpec, Visibility
from roomful.tools.dialects import v1
from roomful.tools.dialects.execution import Inline
from roomful.tools.dialects.tool import FIELDS, INSTEAD, Rules, assemble, is_answered
from roomful.tools.reading import Fields

WORDS: Mapping[str, Visibility] = {"hidden": Visibility.HIDDEN, "full": Visibility.FULL}
_SPACE = "targetSpaceId"


def read(tool: Fields, inline: Inline) -> ToolSpec | None:
    tool.only(
        (*FIELDS, "displayTool"),
        {
            **INSTEAD,
            "visibility": 'is of another dialect than "displayTool": leave it out, or write '
            '"displayTool": true',
        },
    )
    execution = v1.read_tool(tool, inline)
    is_client = execution is not None and isinstance(execution.executor, Client)
    shown = tool.flag("displayTool")
    if is_client and shown is False:
        tool.refuse(
            "displayTool", 'is false and contradicts "execution", by which a person answers: write true'
        )
    visibility = Visibility.FULL if shown or is_client else Visibility.HIDDEN
    rule = route(Visibility.FULL if shown else Visibility.HIDDEN, is_answered(tool, execution))
    return assemble(tool, execution, visibility, rule, RULES.reserved)


def route(visibility: Visibility, answered: bool) -> RouteRule:
    if visibility is Visibility.HIDDEN:
        return RouteRule(fallback=_fallback(answered))
    return RouteRule(args=(_SPACE,), injected=True, fallback=_fallback(answered))


def _fallback(answered: bool) -> Fallback:
    """What a person must answer is never unseen."""
    return Fallback.ACTIVE if answered else Fallback.NOWHERE


def parameters(rule: RouteRule) -> dict[str, Json]:
    silent = rule.fallback is Fallback.NOWHERE
    without = "Leave it out and nobody sees the call." if silent else "Leave it out to show it where you are."
    return {
        _SPACE: {
            "type": "string",
            "description": f"Space to display this tool call in. MUST be provided first. {without}",
        }
    }


RULES = Rules(WORDS, (_SPACE,), read, route, parameters)
