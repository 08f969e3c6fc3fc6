"""Documents of authors and operators: taken, or refused with a sentence, whatever is wrong with them."""

import json
from random import Random
from typing import Any, NamedTuple, cast

import yaml

from roomful.domain.agents import Agent
from roomful.domain.entities import Entity
from roomful.domain.errors import Invalid
from roomful.domain.messages import Message, TextPart, ToolCallPart
from roomful.domain.runs import Call, Place, Run, Trigger
from roomful.domain.shape import clean_json, encode_json
from roomful.domain.spaces import Member, Space
from roomful.recall.story.plot import plot_of
from roomful.recall.story.records import (
    Asked,
    Story,
    ToldRun,
    ToldSpace,
    ToldStep,
    Words,
    read_story,
    write_story,
)
from roomful.tools import ConfigRefused, check_arguments, configure, model_tools, parse_config
from roomful.tools.checking import errors_of
from roomful.tools.schemas import wrong_object_schema
from tests.fuzz import grammar
from tests.fuzz.engine import refused, target
from tests.tools.documents import document, documents

EXECUTIONS = {
    name.removeprefix("active-execution-"): document(name)
    for name in documents()
    if name.startswith("active-execution-")
}
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("query", "expression", "prompt")},
    "required": ["query"],
}
TOOLS = [
    *(document(name) for name in documents() if "executionType" in document(name)),
    *(
        {"name": f"{name}Tool", "executionType": kind, "execution": execution, "inputSchema": SCHEMA}
        for name, execution in EXECUTIONS.items()
        for kind in ("gateway", "external", "space", "internal")
    ),
]
LIMITS = {"maxSteps": 5, "answerSeconds": 60, "runSeconds": 1.5}
FIELDS = (
    "id", "name", "model", "instructions", "dialect", "tools", "mcp", "speaks", "onBusy", "showReasoning",
    "limits", "execution", "executionType", "inputSchema", "visibility", "url", "headers", "body", "timeout",
    "approval", "properties", "type", "required", "pattern", "$ref", "anyOf", "items", "displayTool",
    "targetSpaceId", "config",
)  # fmt: skip
MARKS = (
    *grammar.TOKENS,
    "{{input.x}}", "${env.KEY}", "http://127.0.0.1/", "composite", "gateway", "\u0000", "#/",
)  # fmt: skip


def agent_config(chance: Random) -> dict[str, Any]:
    config: dict[str, Any] = {
        "id": "shop",
        "name": "Shop",
        "model": chance.choice(
            ["scripted:shop", {"name": "openai:x", "baseUrl": "http://h/v1", "apiKey": "${env.K}"}]
        ),
        "tools": chance.sample(TOOLS, chance.randint(0, 3)),
        "limits": LIMITS,
    }
    if chance.random() < 0.2:
        config |= document("active-mcp")
    if chance.random() < 0.85:
        config = grammar.damaged_value(chance, config, FIELDS)
    return config if isinstance(config, dict) else {"it": config}


def check_config(given: dict[str, Any]) -> str:
    before = repr(given)
    try:
        spec = configure(given)
    except ConfigRefused as error:
        return refused(min(problem.message for problem in error.problems))
    finally:
        assert repr(given) == before, "the author's document was changed"
    tools = model_tools(spec)
    assert encode_json(tools)
    for tool in spec.tools[:3]:
        why = check_arguments(tool, {"query": 1, "x": None})
        assert why is None or why.strip()
    return "taken"


def config_text(chance: Random) -> str:
    config = {"id": "shop", "name": "Shop", "model": "scripted:x", "tools": [chance.choice(TOOLS)]}
    written = json.dumps(config) if chance.random() < 0.5 else yaml.safe_dump(config)
    tokens = (
        *MARKS,
        "- ",
        "? ",
        "&a ",
        "*a",
        "!!python/object:os.system ",
        "|\n",
        ">\n",
        "<<: ",
        "%YAML",
        "---\n",
        "#",
        "\t",
    )
    return grammar.damaged(chance, written, tokens)


def check_config_text(given: str) -> str:
    try:
        config = parse_config(given, source="agent.yaml")
    except ConfigRefused as error:
        return refused(error.detail)
    try:
        configure(config)
    except ConfigRefused as error:
        return refused(error.detail, "read")
    return "taken"


# Schemas, above all their patterns.

PATTERNS = (
    "^(a+)+$", "^(a|a)*$", "(.*a){20}", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y", "^(\\w+\\s?)*$",
    "a{1,1000}{1,1000}", "(?=a)", "(a)\\1", "(?<!b)a", "[", "(?P<n>a)(?P=n)", "\\p{L}+", "^[A-Z]{2}$", "",
    "(?i)a", "\\d{3}", "(a*)*b", ".",
)  # fmt: skip
HOSTILE = (
    "a" * 30 + "!", "a" * 20_000, "aaaaaaaaaaaaaaaaaaaaaaaaX", "x" * 5000, "ab " * 2000 + "!", "", "😀" * 500,
)  # fmt: skip
WORDS = (
    "type", "pattern", "properties", "patternProperties", "anyOf", "oneOf", "allOf", "not", "items", "enum",
    "const", "$ref", "$defs", "minLength", "maxLength", "format", "additionalProperties", "required", "if",
    "then", "multipleOf",
)  # fmt: skip


class Judged(NamedTuple):
    schema: Any
    value: Any


def judged(chance: Random) -> Judged:
    inner: Any = {"type": "string", "pattern": chance.choice(PATTERNS)}
    for _ in range(chance.randint(0, 3)):
        inner = chance.choice(
            (
                {"anyOf": [inner, {"type": "null"}]},
                {"allOf": [inner, inner]},
                {"type": "array", "items": inner},
                {"type": "object", "patternProperties": {chance.choice(PATTERNS): inner}},
                {"oneOf": [inner, {"const": 1}, {"$ref": "#"}]},
                {"not": inner},
            )
        )
    schema: Any = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
    if chance.random() < 0.4:
        schema = clean_json(grammar.damaged_value(chance, schema, WORDS))
    value = chance.choice(HOSTILE)
    return Judged(
        schema, {"a": chance.choice((value, [value] * 3, {value[:50]: value}, grammar.value(chance)))}
    )


def check_schema(given: Judged) -> str:
    wrong = wrong_object_schema(given.schema)
    if wrong is not None:
        return refused(wrong)
    errors = errors_of(given.schema, clean_json(given.value))
    assert len(errors) <= 5
    assert all(error and len(error) <= 300 for error in errors)
    return "unfit" if errors else "fits"


# Stories.

AT = "2026-03-02T08:00:00.000Z"
STORY = Story(
    space_id="room",
    entities=[
        Entity(id="ada", name="Ada", kind="human", created_at=AT),
        Entity(id="shop", name="Shop", kind="agent", created_at=AT),
    ],
    agents=[
        Agent(
            id="shop",
            name="Shop",
            owner_id="ada",
            config={"model": "scripted:x"},
            created_at=AT,
            updated_at=AT,
        )
    ],
    spaces=[
        ToldSpace(
            space=Space(id="room", name="Room", created_at=AT),
            members=[Member("ada", "Ada", "human", "owner"), Member("shop", "Shop", "agent", "member")],
            joined={"shop": AT},
        )
    ],
    runs=[
        ToldRun(
            run=Run(
                id="run_1",
                agent_id="shop",
                status="completed",
                trigger=Trigger(type="message", space_id="room", message_id="msg_1", entity_id="ada"),
                root_run_id="run_1",
                created_at=AT,
                ended_at=AT,
            ),
            steps=[ToldStep(number=1, said=[Words(text="hm"), Asked(call_id="call_1")])],
            calls=[
                Call(
                    id="call_1",
                    run_id="run_1",
                    step=1,
                    index=0,
                    tool_name="draw",
                    args={"a": 1},
                    status="complete",
                    places=[Place(space_id="room", message_id="msg_2", part_id="prt_2")],
                )
            ],
        )
    ],
    messages=[
        Message(
            id=f"msg_{seq}",
            space_id="room",
            entity_id=entity,
            seq=seq,
            status="final",
            role=cast(Any, role),
            parts=[part],
            created_at=AT,
            updated_at=AT,
        )
        for seq, entity, role, part in (
            (1, "ada", "user", TextPart(id="prt_1", text="hi", status="complete")),
            (
                2,
                "shop",
                "assistant",
                ToolCallPart(id="prt_2", tool_call_id="call_1", tool_name="draw", status="complete"),
            ),
        )
    ],
)
LINES = [json.loads(line) for line in write_story(STORY).splitlines()]
STORY_WORDS = (
    "run", "calls", "status", "places", "spaceId", "messageId", "createdAt", "parts", "steps", "said",
    "woke",
)  # fmt: skip


def story(chance: Random) -> bytes:
    lines: list[Any] = list(LINES)
    if chance.random() < 0.9:
        at = chance.randrange(len(lines))
        lines[at] = grammar.damaged_value(chance, lines[at], STORY_WORDS)
    if chance.random() < 0.1:
        chance.shuffle(lines)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return grammar.damaged_bytes(chance, data) if chance.random() < 0.2 else data


def check_story(given: bytes) -> str:
    try:
        read = read_story(given, "story.jsonl")
    except Invalid as error:
        return refused(error.detail)
    plot_of(read)
    assert read_story(write_story(read), "again") == read
    return "read"


TARGETS = (
    target("config", agent_config, check_config, ("taken", "refused"), short=400, long=30_000),
    target(
        "config-text", config_text, check_config_text, ("taken", "read", "refused"), short=150, long=10_000
    ),
    target("schema", judged, check_schema, ("fits", "unfit", "refused"), short=400, long=30_000),
    target("story", story, check_story, ("read", "refused"), short=500, long=40_000),
)
