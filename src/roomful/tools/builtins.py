"""The tools that every agent has. They are data like any other; a dialect only gives them other names.

An executor knows them by `operation`. Texts have the shape of a text part and show as what they say; the
others are never seen in a space.
"""

from collections.abc import Mapping
from typing import get_args

from roomful.domain.agents import Dialect
from roomful.domain.runs import RunStatus
from roomful.domain.shape import Json
from roomful.domain.tools import Builtin, RouteRule, TextShape, ToolSpec, Visibility

_SPACE: Json = {"type": "string", "description": "The id of a space you are a member of. Give it first."}
_TEXT: Json = {
    "type": "string",
    "minLength": 1,
    "description": "What to say, as the members will read it. Markdown.",
}
_OFFSET: Json = {
    "type": "integer",
    "minimum": 0,
    "description": "How many of the newest messages to skip, to read earlier ones. 0 if left out.",
}
_STATUS: Json = {
    "type": "string",
    "enum": list(get_args(RunStatus)),
    "description": "Only runs in this state. Active and recent ones if left out.",
}
_IDS: Json = {"type": "array", "items": {"type": "string"}, "minItems": 1}


def _limit(default: int) -> Json:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": 200,
        "description": f"How many at most; {default} if left out.",
    }


def _mention(then: str) -> Json:
    return {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": f"An entity id, or a list of them, of members to address. {then}",
    }


_WAIT: Json = {
    "anyOf": [
        {"type": "boolean"},
        {
            "type": "object",
            "properties": {
                "for": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "type": {"type": "string", "enum": ["any", "agent", "human", "entity"]},
                            "entityId": {
                                "type": "string",
                                "description": 'With the type "entity": whose reply.',
                            },
                        },
                        "required": ["type"],
                        "additionalProperties": False,
                    },
                    "description": "Whose message counts as the reply. The mentioned ones if left out.",
                },
                "timeout": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "description": "Seconds after which to go on without a reply.",
                },
            },
            "additionalProperties": False,
        },
    ],
    "description": "Pause until somebody replies in that space; the reply is the result. "
    "true waits for the mentioned ones.",
}


def _schema(
    required: Mapping[str, Json] | None = None, optional: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {**(required or {}), **(optional or {})},
        "additionalProperties": False,
    }
    return {**schema, "required": list(required)} if required else schema


def _hidden(
    name: str, operation: str, description: str, schema: dict[str, Json], route: RouteRule | None = None
) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        input_schema=schema,
        executor=Builtin(operation=operation),
        visibility=Visibility.HIDDEN,
        route=route or RouteRule(),
        seen_inside=Visibility.HIDDEN,
    )


def _text(
    name: str, description: str, schema: dict[str, Json], route: RouteRule, shape: TextShape
) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        input_schema=schema,
        executor=Builtin(operation="say"),
        visibility=Visibility.FULL,
        route=route,
        shape=shape,
        seen_inside=Visibility.HIDDEN,
    )


def _reader(name: str) -> ToolSpec:
    return _hidden(
        name,
        "read_blob",
        "Read a piece of a result that was too long to be told whole, or of a text that somebody attached.",
        _schema(
            {"blobId": {"type": "string", "description": "The id that the result or the message gave."}},
            {
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "The character to begin with. 0 if left out.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10_000,
                    "description": "How many characters at most; 10000 if left out.",
                },
            },
        ),
    )


_ADDRESSED = (
    _text(
        "sendSpaceMessage",
        "Say something in a space. This is the only way to be read by its members. Give spaceId first. "
        "Several calls in one run make one message.",
        _schema(
            {"spaceId": _SPACE, "text": _TEXT},
            {"mention": _mention("A mentioned agent starts to work on it."), "wait": _WAIT},
        ),
        RouteRule(args=("spaceId",)),
        TextShape(from_arg="text", mentions_arg="mention", wait_arg="wait"),
    ),
    _hidden(
        "readSpaceMessages",
        "read_messages",
        "Read the latest messages of a space, oldest first, with the tool calls shown there. "
        "Nobody sees that you read.",
        _schema({"spaceId": _SPACE}, {"limit": _limit(20), "offset": _OFFSET}),
    ),
    _hidden(
        "getMyRuns",
        "my_runs",
        "List your own active and recent runs, with what started them and what they wait for.",
        _schema(optional={"status": _STATUS}),
    ),
    _hidden(
        "delegateToAgent",
        "hand_off",
        "Hand this task over to another agent, who gets what started you. "
        "Your own run ends at once and without a word.",
        _schema(
            {
                "targetAgentEntityId": {
                    "type": "string",
                    "description": "The entity id of the agent to take over.",
                }
            }
        ),
    ),
    _hidden(
        "skipResponse",
        "skip",
        "End this run without saying anything, when there is nothing to add.",
        _schema(),
    ),
    _reader("readResult"),
)

_GOAL: Json = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "Of the goal to change. Left out, a new goal is made."},
        "description": {"type": "string", "minLength": 1, "description": "What is to be reached."},
        "status": {"type": "string", "description": 'Where it stands, as in "open" or "done".'},
    },
    "required": ["description"],
    "additionalProperties": False,
}
_MEMORY: Json = {
    "type": "object",
    "properties": {
        "key": {
            "type": "string",
            "minLength": 1,
            "description": "What it is about. The same key is overwritten.",
        },
        "value": {"description": "What to remember."},
    },
    "required": ["key", "value"],
    "additionalProperties": False,
}
_PLAN: Json = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "Of the plan to change. Left out, a new plan is made."},
        "name": {"type": "string", "minLength": 1},
        "instruction": {"type": "string", "minLength": 1, "description": "What you will be told to do then."},
        "runAfter": {
            "type": ["string", "number"],
            "description": 'Once, after a while, as in "2 hours", "1 day 3 hours" or "PT90M"; or in seconds.',
        },
        "scheduledAt": {"type": "string", "description": "Once, at a time: ISO 8601."},
        "cron": {"type": "string", "description": 'Again and again: a cron line, as in "0 9 * * 1".'},
        "timezone": {
            "type": "string",
            "description": "For the cron line, or a time without an offset, "
            'as in "Europe/Vienna". UTC if left out.',
        },
    },
    "required": ["name", "instruction"],
    "additionalProperties": False,
}


def _some(item: Json) -> Json:
    return {"type": "array", "items": item, "minItems": 1}


_IN_ACTIVE_SPACE = (
    _hidden(
        "enter_space",
        "enter_space",
        "Go to a space: from now on it is your active space, where your messages and visible tool calls "
        "appear. Gives its latest messages.",
        _schema({"spaceId": _SPACE}, {"limit": _limit(10)}),
        RouteRule(enters="spaceId"),
    ),
    _text(
        "send_message",
        "Say something in the active space. A mentioned agent starts a new run for it.",
        _schema({"text": _TEXT}, {"mentions": _mention("@id in the text counts too."), "wait": _WAIT}),
        RouteRule(),
        TextShape(from_arg="text", mentions_arg="mentions", wait_arg="wait", starts="always"),
    ),
    _text(
        "send_reply",
        "Reply in the active space. A mentioned agent whose run waits for you goes on with it; "
        "no new run starts.",
        _schema({"text": _TEXT}, {"mentions": _mention("@id in the text counts too.")}),
        RouteRule(),
        TextShape(from_arg="text", mentions_arg="mentions", starts="nobody"),
    ),
    _hidden(
        "read_messages",
        "read_messages",
        "Read the latest messages of the active space, or of another one, oldest first.",
        _schema(optional={"spaceId": _SPACE, "limit": _limit(20), "offset": _OFFSET}),
    ),
    _hidden(
        "stop_run",
        "stop_run",
        "Cancel one of your own active or waiting runs, for good.",
        _schema({"runId": {"type": "string", "description": "The id of the run."}}),
    ),
    _hidden(
        "set_goals",
        "set_goals",
        "Make new goals of yours or change existing ones.",
        _schema({"goals": _some(_GOAL)}),
    ),
    _hidden("delete_goals", "delete_goals", "Delete goals of yours.", _schema({"ids": _IDS})),
    _hidden(
        "set_memories",
        "set_memories",
        "Remember something across your runs, or overwrite what you remember under a key.",
        _schema({"memories": _some(_MEMORY)}),
    ),
    _hidden(
        "delete_memories",
        "delete_memories",
        "Forget what is remembered under these keys.",
        _schema({"keys": _IDS}),
    ),
    _hidden(
        "set_plans",
        "set_plans",
        "Plan runs of yours for later, once or repeated, or change plans. "
        "Give one of runAfter, scheduledAt and cron; left out, a changed plan keeps its time.",
        _schema({"plans": _some(_PLAN)}),
    ),
    _hidden("delete_plans", "delete_plans", "Delete plans of yours.", _schema({"ids": _IDS})),
    _hidden(
        "get_plans",
        "get_plans",
        "Read your plans, also the completed ones.",
        _schema(
            optional={
                "status": {
                    "type": "string",
                    "enum": ["active", "completed"],
                    "description": "Only plans in this state.",
                }
            }
        ),
    ),
    _hidden(
        "get_my_runs",
        "my_runs",
        "List your own active and recent runs, with what started them and what they wait for.",
        _schema(optional={"status": _STATUS, "limit": _limit(20)}),
    ),
    _reader("read_result"),
)

_BUILT_IN: Mapping[Dialect, tuple[ToolSpec, ...]] = {
    "composite": _ADDRESSED,
    "display": _ADDRESSED,
    "active": _IN_ACTIVE_SPACE,
}


def builtin_tools(dialect: Dialect) -> tuple[ToolSpec, ...]:
    return _BUILT_IN[dialect]
